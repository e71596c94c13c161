//! What a host was like while it measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One end of the test. Everything that could explain a figure and costs nothing to know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// rrul's version.
    pub program: String,
    /// Host name; empty when the privacy switch is on.
    pub host: String,
    /// Operating system and kernel release.
    pub kernel: String,
    /// Machine architecture.
    pub architecture: String,
    /// Processor cores that this process may use.
    pub cores: u32,
    /// Processor model.
    pub processor: String,
    /// `USER_HZ`: ticks per second in the processor-time table.
    pub ticks_per_second: u64,
    /// The kernel's clock source (sysfs), such as `tsc`.
    pub clock_source: String,
    /// Length of the kernel's `TCP_INFO`, octets.
    pub tcp_info_length: u32,
    /// What this process may do, by name (`realtime_scheduling`, `raw_icmp`, ...), and why not where it may not.
    pub abilities: BTreeMap<String, String>,
    /// Kernel settings that shape TCP, by name (`net.ipv4.tcp_congestion_control`, ...).
    pub settings: BTreeMap<String, String>,
}

//! What a host was like while it measured.

mod host_state;
mod interface;
mod queue_discipline;
mod without_names;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use host_state::{HostState, Route};
pub use interface::{ByteQueueLimit, Interface, InterfaceCounters, Rings, Wireless};
pub use queue_discipline::{QueueDiscipline, TrafficClass, TrafficCounters};

/// Name among the abilities of a server: classes with which it marks no packet, separated by commas.
pub const REFUSED_MARKS: &str = "refused_marks";

/// The key among the counters of the client under which it counts test packets that failed authentication. Not there where packets
/// are not authenticated.
pub const FORGED_PACKETS: &str = "rrul.PacketsForged";

/// The key among the counters of the server under which it counts connection attempts that its own listeners had no room for.
pub const LISTEN_DROPS: &str = "rrul.ListenDrops";

/// The kernel's counter of the same of every listener of the host. Listeners count stray segments of connections too, and the host does
/// not: the least of both is what had no room, and every client is sent both.
pub const HOST_LISTEN_DROPS: &str = "TcpExt.ListenDrops";

/// One end of the test. Everything that could explain a figure and costs nothing to know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    pub program: String,
    /// Host name; empty when the privacy switch is on.
    pub host: String,
    /// Operating system and kernel release.
    pub kernel: String,
    pub architecture: String,
    /// What the host runs in: the hypervisor, the kind of container, both; empty where nothing points to any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub virtualisation: String,
    /// Processor cores that this process may use.
    pub cores: u32,
    pub processor: String,
    /// Frequency governors of the cores, by name, with the number of cores under each; empty without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub governors: BTreeMap<String, u32>,
    /// `USER_HZ`: ticks per second in the processor-time table.
    pub ticks_per_second: u64,
    /// The kernel's clock source (sysfs), such as `tsc`.
    pub clock_source: String,
    /// Length of the kernel's `TCP_INFO`, bytes.
    pub tcp_info_length: u32,
    /// What this process may do, by name (`realtime_scheduling`, `raw_icmp`, ...), and why not where it may not.
    pub abilities: BTreeMap<String, String>,
    /// Kernel settings that shape TCP and the network stack, by name (`net.ipv4.tcp_congestion_control`, ...).
    pub settings: BTreeMap<String, String>,
    /// What may change while it runs, as it was before the test; the recording's `end` has it as it was after.
    #[serde(skip_serializing_if = "HostState::is_empty")]
    pub state: HostState,
}

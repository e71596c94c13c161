//! What this host is like: read once, before the test.

use std::collections::BTreeMap;
use std::fs;

use rrul_model::environment::Environment;

use crate::{flow_types, processor_time, scheduling, tcp_info};

/// Kernel settings that shape what is measured.
const SETTINGS: &[&str] = &[
    "net.core.default_qdisc",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_wmem",
];

/// Whether names of hosts may stand in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Privacy {
    /// They may.
    #[default]
    Open,
    /// They are left out.
    Strict,
}

/// Reads this host's environment.
pub fn read(privacy: Privacy) -> Environment {
    let abilities = BTreeMap::from([
        ("icmp_echo".to_owned(), flow_types::icmp_echo::ability()),
        ("realtime_scheduling".to_owned(), scheduling::realtime_ability()),
    ]);
    Environment {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        host: if privacy == Privacy::Open { line("/proc/sys/kernel/hostname") } else { String::new() },
        kernel: format!("{} {}", line("/proc/sys/kernel/ostype"), line("/proc/sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.to_owned(),
        cores: std::thread::available_parallelism().map_or(0, |cores| cores.get() as u32),
        processor: processor(),
        ticks_per_second: processor_time::ticks_per_second(),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        tcp_info_length: tcp_info::kernel_length(),
        abilities,
        settings: SETTINGS
            .iter()
            .map(|name| ((*name).to_owned(), line(&format!("/proc/sys/{}", name.replace('.', "/")))))
            .filter(|(_, value)| !value.is_empty())
            .collect(),
    }
}

fn line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name") || line.starts_with("cpu model"));
    model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned()).unwrap_or_default()
}

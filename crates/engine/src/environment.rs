//! What this host is like: its description, read once before a test, and its state, read before and after.

mod byte_queue_limits;
mod ethtool;
mod host_state;
mod interface_meter;
pub(crate) mod interfaces;
mod kernel_counters;
mod machine;
pub(crate) mod queue_disciplines;
mod queue_options;
mod routes;
mod wireless;

use std::collections::BTreeMap;
use std::fs;

use rrul_model::environment::Environment;

use crate::privacy::Privacy;
use crate::socket::icmp;
use crate::{processor_time, scheduling, tcp_info};
pub use host_state::{Extent, read_state};
pub use interface_meter::{Carried, InterfaceMeter};
pub use routes::AddressPair;

/// Kernel settings that shape what is measured.
const SETTINGS: &[&str] = &[
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_comp_sack_nr",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_fallback",
    "net.ipv4.tcp_ecn_option",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_rtt_wlen",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_shrink_window",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syn_linear_timeouts",
    "net.ipv4.tcp_syn_retries",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv6.conf.all.disable_ipv6",
    "net.ipv6.conf.all.forwarding",
];

/// Reads this host's description, without its state.
pub fn read(privacy: Privacy) -> Environment {
    let abilities = BTreeMap::from([
        ("icmp_echo".to_owned(), icmp::echo_ability()),
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
        virtualisation: machine::virtualisation(),
        governors: machine::governors(),
        ..Environment::default()
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

//! The clocks of this host.

use std::fs;
use std::time::Duration;

use rrul_engine::clock;
use rrul_monitor::watch_clock::Reading;

/// Reads all clocks.
pub(super) fn reading() -> Reading {
    Reading {
        wall_ms: clock::wall_now() / 1_000_000,
        utc_offset_s: clock::utc_offset(),
        uptime: uptime(),
        boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned(),
    }
}

/// Since this host was started, suspended time included (proc_uptime(5)).
fn uptime() -> Duration {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = text.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or_default()
}

/// Seconds since 1970 by the wall clock.
pub(super) fn wall_seconds() -> i64 {
    clock::wall_now() / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_this_host_go_on() {
        let (first, second) = (reading(), reading());
        assert!(!first.boot.is_empty() && first.boot == second.boot);
        assert!(first.uptime > Duration::ZERO && second.uptime >= first.uptime);
        assert!((-50_400..=50_400).contains(&first.utc_offset_s), "{first:?}");
    }
}

//! The clock of a monitor, made of the wall clock and the time since this host was started.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::watch_time::WatchTime;

/// A wall clock that shows an earlier time was never set: 2025, UTC, milliseconds since 1970.
const SET: i64 = 1_735_689_600_000;

/// What a host's clocks show at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The wall clock, milliseconds since 1970, UTC.
    pub wall_ms: i64,
    /// Local time less UTC, seconds.
    pub utc_offset_s: i32,
    /// Since this host was started, suspended time included.
    pub uptime: Duration,
    /// Which start of the host that is: a name that changes with each.
    pub boot: String,
}

impl Reading {
    /// Returns the second of the local day, 0 to 86399.
    pub fn second_of_day(&self) -> u32 {
        let local = self.wall_ms.div_euclid(1000) + i64::from(self.utc_offset_s);
        u32::try_from(local.rem_euclid(86_400)).unwrap_or_default()
    }
}

/// Turns readings into [`WatchTime`].
///
/// While the host runs, the time since its start counts and steps of the wall clock do not. Across a restart of the host the
/// wall clock counts. Where it was never set or has gone back, the time since the start counts, as at least that has
/// passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchClock {
    now: WatchTime,
    last: Reading,
}

impl WatchClock {
    /// Starts at zero.
    pub fn new(reading: Reading) -> Self {
        Self { now: WatchTime::default(), last: reading }
    }

    /// Takes a reading and returns the time.
    pub fn read(&mut self, reading: Reading) -> WatchTime {
        let passed = if reading.boot == self.last.boot {
            reading.uptime.saturating_sub(self.last.uptime)
        } else {
            let is_set = reading.wall_ms >= SET && self.last.wall_ms >= SET;
            let by_wall = if is_set { reading.wall_ms.saturating_sub(self.last.wall_ms) } else { 0 };
            Duration::from_millis(u64::try_from(by_wall).unwrap_or_default()).max(reading.uptime)
        };
        // In whole milliseconds; what is less stays in the reading for the next time.
        let passed = Duration::from_millis(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        self.now = self.now + passed;
        let uptime =
            if reading.boot == self.last.boot { self.last.uptime.saturating_add(passed) } else { reading.uptime };
        self.last = Reading { uptime, ..reading };
        self.now
    }

    /// Returns the time of the latest reading.
    pub fn now(&self) -> WatchTime {
        self.now
    }

    /// Returns the latest reading.
    pub fn last(&self) -> &Reading {
        &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(wall_s: i64, uptime_s: u64, boot: &str) -> Reading {
        Reading {
            wall_ms: SET + wall_s * 1000,
            utc_offset_s: 0,
            uptime: Duration::from_secs(uptime_s),
            boot: boot.to_owned(),
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_nothing() {
        let mut clock = WatchClock::new(reading(1000, 10, "a"));
        assert_eq!(clock.read(reading(1005, 15, "a")), WatchTime(5_000));
        assert_eq!(clock.read(reading(9_000_000, 16, "a")), WatchTime(6_000));
        assert_eq!(clock.read(reading(-50, 17, "a")), WatchTime(7_000));
    }

    #[test]
    fn a_restart_of_the_host_counts_by_the_wall_clock_and_at_least_the_new_uptime() {
        let mut clock = WatchClock::new(reading(1000, 10, "a"));
        assert_eq!(clock.read(reading(1600, 30, "b")), WatchTime(600_000));
        let unset = |uptime, boot| Reading { wall_ms: 0, ..reading(0, uptime, boot) };
        assert_eq!(clock.read(unset(20, "c")), WatchTime(620_000), "without a battery the clock begins in 1970");
        assert_eq!(clock.read(unset(21, "c")), WatchTime(621_000));
        assert_eq!(clock.read(reading(2000, 9, "d")), WatchTime(630_000), "how long it was off is unknown");
    }

    #[test]
    fn parts_of_a_millisecond_are_not_lost() {
        let at = |us: u64| Reading { uptime: Duration::from_micros(us), ..reading(0, 0, "a") };
        let mut clock = WatchClock::new(at(0));
        for us in (0..=3_000).step_by(300) {
            clock.read(at(us));
        }
        assert_eq!(clock.now(), WatchTime(3));
    }

    #[test]
    fn the_second_of_the_day_is_of_local_time() {
        let utc = Reading { wall_ms: (86_400 + 3_600) * 1000, ..reading(0, 0, "a") };
        assert_eq!(utc.second_of_day(), 3_600);
        assert_eq!(Reading { utc_offset_s: -7_200, ..utc }.second_of_day(), 82_800);
    }
}

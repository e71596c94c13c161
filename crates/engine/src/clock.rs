//! The only place that reads a clock.
//!
//! Instants of the program are `CLOCK_MONOTONIC_RAW`, which no time service steps or slews. The kernel stamps packets
//! with `CLOCK_REALTIME`; [`WallClock`] carries those stamps over.

#![allow(unsafe_code, reason = "clock_gettime, localtime_r")]

pub mod host_clock;
pub mod test_clock;

use std::time::Duration;

/// An instant on this host's `CLOCK_MONOTONIC_RAW`, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RawTime(pub i64);

impl RawTime {
    pub fn now() -> Self {
        Self(read(libc::CLOCK_MONOTONIC_RAW))
    }

    /// Nanoseconds since `earlier`; negative when that lies ahead.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This instant moved by so many nanoseconds.
    #[must_use]
    pub fn plus(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }
}

/// The wall clock, nanoseconds since 1970.
pub fn wall_now() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// Seconds since 1970 of a clock that goes on while this program does not run.
pub fn seconds_now() -> u64 {
    u64::try_from(wall_now() / 1_000_000_000).unwrap_or(0)
}

/// Returns local time less UTC now, seconds, by the time zone of this process (tzset(3)).
pub fn utc_offset() -> i32 {
    utc_offset_at(wall_now() / 1_000_000_000)
}

/// Returns local time less UTC at a time in seconds since 1970, seconds: summer time is that of its date.
pub fn utc_offset_at(seconds: i64) -> i32 {
    // A `time_t`, whose name is deprecated for musl.
    let time = seconds as _;
    // SAFETY: all bits zero are a valid `tm`: integers, and a null pointer that is not followed.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both point to values of their types; `localtime_r` writes `local` alone.
    let done = unsafe { libc::localtime_r(&raw const time, &raw mut local) };
    if done.is_null() { 0 } else { local.tm_gmtoff as i32 }
}

/// `CLOCK_MONOTONIC` less `CLOCK_MONOTONIC_RAW`, nanoseconds, now: other programs report their times on the former, which time
/// services slew.
pub fn monotonic_distance() -> i64 {
    distance(libc::CLOCK_MONOTONIC).0
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to, and both clocks exist on every Linux since 2.6.28.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sleeps until `due`; returns at once when it has passed.
pub fn sleep_until(due: RawTime) {
    loop {
        let left = due.since(RawTime::now());
        let Ok(left) = u64::try_from(left) else { return };
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Carries wall-clock stamps of the kernel over to raw time.
///
/// The distance between the two clocks is read anew every 5 ms, so a stepped or slewed wall clock misplaces a stamp
/// by no more than the slew within that time (500 ppm: 2.5 ns) or, once, by the step.
#[derive(Debug, Clone)]
pub struct WallClock {
    distance: i64,
    read_at: RawTime,
}

impl WallClock {
    const REFRESH: i64 = 5_000_000;

    pub fn new() -> Self {
        let (distance, read_at) = Self::measure();
        Self { distance, read_at }
    }

    /// Reads the distance anew when it is old.
    pub fn refresh(&mut self, now: RawTime) {
        if now.since(self.read_at) > Self::REFRESH {
            (self.distance, self.read_at) = Self::measure();
        }
    }

    /// The raw instant of a wall-clock stamp.
    pub fn raw(&self, wall: i64) -> RawTime {
        RawTime(wall.saturating_sub(self.distance))
    }

    fn measure() -> (i64, RawTime) {
        distance(libc::CLOCK_REALTIME)
    }
}

/// A clock less the raw clock, and when. Of a few tries the one with the narrowest bracket: a thread that is interrupted
/// between the readings would be off by the interruption.
fn distance(clock: libc::clockid_t) -> (i64, RawTime) {
    let mut best = (i64::MAX, 0, RawTime(0));
    for _ in 0..5 {
        let before = RawTime::now();
        let other = read(clock);
        let after = RawTime::now();
        let width = after.since(before);
        if width < best.0 {
            best = (width, other - (before.0 + width / 2), after);
        }
    }
    (best.1, best.2)
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_stamp_taken_now_lies_between_raw_times_around_it() {
        let clock = WallClock::new();
        let before = RawTime::now();
        let wall = wall_now();
        let after = RawTime::now();
        let carried = clock.raw(wall);
        // A microsecond of slack: the distance was read a little earlier.
        assert!(before.since(carried) < 1000 && carried.since(after) < 1000);
    }
}

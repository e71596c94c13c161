//! A host's clock as its stamps see it, which a test can make run wrong.
//!
//! Real clocks drift by some ten parts in a million, and step when a virtual machine is moved. What the analysis makes of
//! that can only be proven over a link when a server's clock does so on demand. Outside of tests every clock runs true.

use std::time::Duration;

use crate::clock::RawTime;

/// How wrong a clock is to run. For tests; no command-line option leads here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockDistortion {
    /// How much it gains, in a thousand million.
    pub skew_ppb: i64,
    /// When it steps, in order.
    pub steps: &'static [ClockStep],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockStep {
    /// How long after the clock was started, in true time.
    pub after: Duration,
    /// How far forward, nanoseconds; back when negative.
    pub forward: i64,
}

/// A host's clock: `CLOCK_MONOTONIC_RAW`, distorted from when it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostClock {
    started: RawTime,
    distortion: ClockDistortion,
}

impl HostClock {
    /// A clock that runs true.
    pub const TRUE: Self = Self { started: RawTime(0), distortion: ClockDistortion { skew_ppb: 0, steps: &[] } };

    /// A clock that begins to run wrong now.
    pub fn start(distortion: ClockDistortion, now: RawTime) -> Self {
        Self { started: now, distortion }
    }

    /// What it shows at an instant.
    pub fn reads(&self, at: RawTime) -> RawTime {
        if self.distortion == ClockDistortion::default() {
            return at;
        }
        let since = at.since(self.started);
        let steps = self.distortion.steps.iter().take_while(|step| after(step) <= since);
        let stepped: i64 = steps.map(|step| step.forward).sum();
        at.plus(self.gained(since)).plus(stepped)
    }

    /// The first instant at which it shows this or more.
    pub fn shows(&self, reading: RawTime) -> RawTime {
        let mut stepped = 0;
        for step in self.distortion.steps {
            let before = self.without_steps(reading.plus(-stepped));
            if before.since(self.started) < after(step) {
                return before;
            }
            stepped += step.forward;
            let stepping = self.started.plus(after(step));
            if self.reads(stepping) >= reading {
                return stepping;
            }
        }
        self.without_steps(reading.plus(-stepped))
    }

    /// When it would show this if it only drifted.
    fn without_steps(&self, reading: RawTime) -> RawTime {
        let since = i128::from(reading.since(self.started));
        let whole = 1_000_000_000 + i128::from(self.distortion.skew_ppb);
        let rounded = (since * 1_000_000_000 + whole / 2).div_euclid(whole);
        self.started.plus(i64::try_from(rounded).unwrap_or(i64::MAX))
    }

    fn gained(&self, since: i64) -> i64 {
        (i128::from(since) * i128::from(self.distortion.skew_ppb) / 1_000_000_000) as i64
    }
}

fn after(step: &ClockStep) -> i64 {
    i64::try_from(step.after.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_true_clock_shows_what_it_is() {
        for at in [i64::MIN, -1, 0, 1, i64::MAX] {
            assert_eq!(HostClock::TRUE.reads(RawTime(at)), RawTime(at));
        }
        assert_eq!(HostClock::TRUE.shows(RawTime(77)), RawTime(77));
    }

    #[test]
    fn a_wrong_clock_gains_and_steps_and_is_read_back() {
        const STEPS: &[ClockStep] = &[
            ClockStep { after: Duration::from_secs(10), forward: 100_000_000 },
            ClockStep { after: Duration::from_secs(20), forward: -250_000_000 },
        ];
        let started = 5 * SECOND;
        let clock = HostClock::start(ClockDistortion { skew_ppb: 200_000, steps: STEPS }, RawTime(started));
        let shows = |since: i64| clock.reads(RawTime(started + since)).since(RawTime(started));
        assert_eq!(shows(9 * SECOND), 9 * SECOND + 1_800_000);
        assert_eq!(shows(10 * SECOND), 10 * SECOND + 2_000_000 + 100_000_000);
        assert_eq!(shows(30 * SECOND), 30 * SECOND + 6_000_000 - 150_000_000);
        for since in [0, 1, 9_999_999_999, 10 * SECOND, 15 * SECOND, 19 * SECOND, 21 * SECOND, 3_000 * SECOND] {
            let at = RawTime(started + since);
            let back = clock.shows(clock.reads(at));
            assert!(back.since(at).abs() <= 1, "{since}: {}", back.since(at));
        }
        // A time that it never showed: when it stepped past it.
        let skipped = RawTime(started + 10 * SECOND + 50_000_000);
        assert_eq!(clock.shows(skipped), RawTime(started + 10 * SECOND));
    }
}

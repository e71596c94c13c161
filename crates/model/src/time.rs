//! Time as the test sees it: nanoseconds on one host's monotonic clock since the test began.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Delay;

/// An instant on one host's clock, in nanoseconds since that host's T0, the agreed beginning of the first phase.
///
/// Negative before T0 (connecting, clock matching). Two hosts' values share an origin only as well as the clock
/// exchange placed it, and drift apart with the skew of their clocks: a difference between hosts is no delay until
/// that is removed. The clock is `CLOCK_MONOTONIC_RAW`, which no time service slews.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct TestTime(pub i64);

impl TestTime {
    /// T0: the beginning of the first phase.
    pub const ZERO: Self = Self(0);

    /// Nanoseconds since T0.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Seconds since T0, for axes and people.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The delay from `earlier` to this instant.
    pub fn since(self, earlier: Self) -> Delay {
        Delay(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for TestTime {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl std::ops::Sub<Duration> for TestTime {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for TestTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.3} s", self.seconds()))
    }
}

/// A half-open stretch of test time: `from` belongs to it, `to` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// First instant inside.
    pub from: TestTime,
    /// First instant after.
    pub to: TestTime,
}

impl Window {
    /// Whether `at` lies inside.
    pub fn contains(&self, at: TestTime) -> bool {
        self.from <= at && at < self.to
    }

    /// How long it is; zero when `to` is not after `from`.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.to.0.saturating_sub(self.from.0)).unwrap_or(0))
    }

    /// The stretch that both have; empty, with `to` not after `from`, when they share no instant.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// Whether the two share any instant.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_contains_its_beginning_and_not_its_end() {
        let window = Window { from: TestTime(0), to: TestTime(10) };
        assert!(window.contains(TestTime(0)) && !window.contains(TestTime(10)));
        assert_eq!(window.length(), Duration::from_nanos(10));
        assert!(!window.overlaps(&Window { from: TestTime(10), to: TestTime(20) }));
        let later = Window { from: TestTime(5), to: TestTime(20) };
        assert_eq!(window.intersection(&later), Window { from: TestTime(5), to: TestTime(10) });
        assert_eq!(Window { from: TestTime(5), to: TestTime(1) }.length(), Duration::ZERO);
    }
}

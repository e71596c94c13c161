//! The lab's time: nanoseconds of one host's monotonic clock.

use std::time::Duration;

/// An instant, in nanoseconds.
///
/// In a running lab it is `CLOCK_MONOTONIC_RAW`, so it compares with the stamps of other programs on the same host that
/// read that clock. In virtual time, zero is wherever the test puts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct LabTime(pub u64);

impl LabTime {
    /// The instant this much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(duration)))
    }

    /// Nanoseconds since `earlier`; zero when that was not earlier.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A length of time in whole nanoseconds; more than 584 years count as 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

//! The clock of a test, counted from T0.

use rrul_model::time::TestTime;

use crate::clock::RawTime;
use crate::clock::host_clock::HostClock;

/// The test's clock: what the host's clock shows, counted from T0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestClock {
    /// What the host's clock shows at T0.
    pub origin: RawTime,
    pub host: HostClock,
}

impl TestClock {
    /// Counted from this instant, on a clock that runs true.
    pub fn since(origin: RawTime) -> Self {
        Self { origin, host: HostClock::TRUE }
    }

    pub fn now(&self) -> TestTime {
        self.at(RawTime::now())
    }

    /// A raw instant in test time.
    pub fn at(&self, raw: RawTime) -> TestTime {
        TestTime(self.host.reads(raw).since(self.origin))
    }

    /// A test time as a raw instant.
    pub fn raw(&self, at: TestTime) -> RawTime {
        self.host.shows(self.origin.plus(at.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_time_and_raw_time_are_each_others_inverse() {
        let clock = TestClock::since(RawTime(1_000));
        assert_eq!(clock.at(RawTime(1_500)), TestTime(500));
        assert_eq!(clock.raw(TestTime(-500)), RawTime(500));
    }
}

//! What one full test may take.

use std::time::Duration;

use rrul_model::units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

/// From the order to stop a test until no more of its packets pass the interface: what queues hold, and the way to the server.
pub const STOPPING: Duration = Duration::from_secs(2);

/// What a test took, both directions together. The next one is forecast from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunData {
    pub octets: ByteCount,
    /// How long it took.
    pub length: Duration,
}

impl RunData {
    /// Returns what a test of this length takes at the same rate.
    pub fn forecast(&self, length: Duration) -> ByteCount {
        let seconds = self.length.as_secs_f64();
        if seconds <= 0.0 {
            return self.octets;
        }
        ByteCount((self.octets.0 as f64 * length.as_secs_f64() / seconds).ceil() as u64)
    }
}

/// Permission for one full test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What the test may take in both directions together; `None` without a budget.
    pub most: Option<ByteCount>,
    /// What it takes by forecast; `None` before the first.
    pub forecast: Option<ByteCount>,
}

impl Grant {
    /// Whether a test that has taken this much, at this rate now, must be stopped to stay within the grant.
    pub fn is_spent(&self, counted: ByteCount, rate: BitRate) -> bool {
        self.most.is_some_and(|most| counted.0.saturating_add(in_time(rate, STOPPING).0) >= most.0)
    }
}

/// What passes at a rate in a time.
pub(crate) fn in_time(rate: BitRate, time: Duration) -> ByteCount {
    ByteCount((rate.0 as f64 / 8.0 * time.as_secs_f64()).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_stopped_before_it_takes_more_than_its_grant() {
        let grant = Grant { most: Some(ByteCount(100_000_000)), forecast: None };
        let rate = BitRate(80_000_000);
        assert!(!grant.is_spent(ByteCount(79_999_999), rate));
        assert!(grant.is_spent(ByteCount(80_000_000), rate), "20 MB arrive while it is being stopped");
        assert!(!Grant { most: None, forecast: None }.is_spent(ByteCount(u64::MAX), rate));
    }

    #[test]
    fn a_forecast_is_the_last_rate_for_the_length_of_the_test() {
        let data = RunData { octets: ByteCount(50), length: Duration::from_secs(10) };
        assert_eq!(data.forecast(Duration::from_secs(30)), ByteCount(150));
    }
}

//! What was used of a budget, and when.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::units::ByteCount;
use serde::{Deserialize, Serialize};

use crate::watch_time::WatchTime;

/// Data is booked by stretches of this length: a month has 744 of them.
const STRETCH: Duration = Duration::from_hours(1);

/// Data by the hour of the monitor's own clock in which it was used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger(BTreeMap<u64, u64>);

impl Ledger {
    /// Books data as used now.
    pub fn book(&mut self, now: WatchTime, octets: ByteCount) {
        let booked = self.0.entry(stretch(now)).or_default();
        *booked = booked.saturating_add(octets.0);
    }

    /// Returns what was used within the latest `period`. An hour that lies in it partly counts as a whole.
    pub fn used(&self, now: WatchTime, period: Duration) -> ByteCount {
        let first = stretch(now - period);
        ByteCount(self.0.range(first..).fold(0, |sum, (_, octets)| sum.saturating_add(*octets)))
    }

    /// Forgets what is older than `period`.
    pub fn forget(&mut self, now: WatchTime, period: Duration) {
        self.0 = self.0.split_off(&stretch(now - period));
    }
}

fn stretch(at: WatchTime) -> u64 {
    at.0 / STRETCH.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_counts_for_a_whole_period_after_the_last_of_its_hour() {
        let day = Duration::from_hours(24);
        let mut ledger = Ledger::default();
        let late = WatchTime(0) + Duration::from_mins(59);
        ledger.book(late, ByteCount(5));
        ledger.book(late + STRETCH, ByteCount(7));
        assert_eq!(ledger.used(late + STRETCH, day), ByteCount(12));
        assert_eq!(ledger.used(late + day, day), ByteCount(12));
        let later = WatchTime(0) + day + STRETCH;
        assert_eq!(ledger.used(later, day), ByteCount(7));
        ledger.forget(later, day);
        assert_eq!(ledger.used(later, Duration::from_hours(1000)), ByteCount(7));
    }
}

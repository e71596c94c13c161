//! When pages are loaded: on a grid from the beginning of the flow's window, the same in every phase.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};

/// The slots of one flow that are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    first: TestTime,
    interval: Duration,
    next: u32,
    count: u32,
}

impl Slots {
    /// One slot in each whole interval of the window, at least one, each `head_start` after the interval's beginning. Of
    /// flows that run at the same time the `turn`th begins its intervals so many parts of one later.
    pub(super) fn new(window: Window, interval: Duration, head_start: Duration, turn: (u32, u32)) -> Self {
        let (turn, turns) = turn;
        let offset = interval.mul_f64(f64::from(turn) / f64::from(turns.max(1)));
        let whole = window.length().saturating_sub(offset).as_nanos() / interval.as_nanos().max(1);
        let first = window.from + offset + head_start;
        let count = if first < window.to { u32::try_from(whole).unwrap_or(u32::MAX).max(1) } else { 0 };
        Self { first, interval, next: 0, count }
    }

    pub(super) fn none() -> Self {
        Self { first: TestTime::ZERO, interval: Duration::ZERO, next: 0, count: 0 }
    }

    /// Passes over the slots before `earliest`, and returns how many these were.
    pub(super) fn pass_before(&mut self, earliest: TestTime) -> u32 {
        let first = self.next;
        while self.next < self.count && self.at(self.next) < earliest {
            self.next += 1;
        }
        self.next - first
    }

    /// The next slot.
    pub(super) fn upcoming(&self) -> Option<TestTime> {
        (self.next < self.count).then(|| self.at(self.next))
    }

    /// This slot, which [`upcoming`](Self::upcoming) gave, is used.
    pub(super) fn take(&mut self, slot: TestTime) {
        if self.at(self.next) == slot {
            self.next += 1;
        }
    }

    fn at(&self, number: u32) -> TestTime {
        self.first + self.interval.saturating_mul(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn seconds(seconds: i64) -> TestTime {
        TestTime(seconds * SECOND)
    }

    fn all(from: i64, to: i64, turn: (u32, u32)) -> Vec<i64> {
        let window = Window { from: seconds(from), to: seconds(to) };
        let mut slots = Slots::new(window, Duration::from_secs(10), Duration::from_secs(2), turn);
        let next = || slots.upcoming().inspect(|slot| slots.take(*slot));
        std::iter::from_fn(next).map(|slot| slot.0 / SECOND).collect()
    }

    #[test]
    fn every_whole_interval_has_a_slot_and_phases_are_alike() {
        assert_eq!(all(0, 30, (0, 1)), [2, 12, 22]);
        assert_eq!(all(65, 99, (0, 1)), [67, 77, 87]);
        assert_eq!(all(0, 6, (0, 1)), [2], "a window shorter than an interval has one");
        assert_eq!(all(0, 2, (0, 1)), [] as [i64; 0], "a browser takes longer to start than this lasts");
    }

    #[test]
    fn flows_that_run_together_take_turns() {
        assert_eq!(all(0, 30, (0, 2)), [2, 12, 22]);
        assert_eq!(all(0, 30, (1, 2)), [7, 17]);
    }

    #[test]
    fn a_slot_that_has_passed_is_left_out() {
        let window = Window { from: seconds(0), to: seconds(40) };
        let mut slots = Slots::new(window, Duration::from_secs(10), Duration::from_secs(2), (0, 1));
        assert_eq!((slots.pass_before(seconds(0)), slots.upcoming()), (0, Some(seconds(2))));
        slots.take(seconds(2));
        assert_eq!((slots.pass_before(seconds(13)), slots.upcoming()), (1, Some(seconds(22))));
        assert_eq!((slots.pass_before(seconds(33)), slots.upcoming()), (2, None));
    }
}

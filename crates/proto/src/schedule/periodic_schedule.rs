//! When a stream of equal intervals sends, as a voice coder does (RFC 3432: periodic stream).

use std::time::Duration;

use rrul_model::time::{TestTime, Window};

/// The instants of one flow: one in every interval, all at the same phase, and only while it is its turn.
#[derive(Debug, Clone)]
pub struct PeriodicSchedule {
    interval: i64,
    next: i64,
    to: i64,
    /// In order; `None` is all the time.
    turns: Option<Vec<Window>>,
}

impl PeriodicSchedule {
    /// One packet every `interval` within `window`, the first at `phase` of it; intervals below 1 µs are taken for 1 µs.
    ///
    /// With `turns`, which are in order, only what falls into one of them.
    pub fn new(window: Window, interval: Duration, phase: Duration, turns: Option<Vec<Window>>) -> Self {
        let nanoseconds = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        let interval = nanoseconds(interval).max(1000);
        let next = window.from.0.saturating_add(nanoseconds(phase));
        Self { interval, next, to: window.to.0, turns }
    }

    /// How many instants are left.
    pub fn left(&self) -> u32 {
        u32::try_from(self.clone().count()).unwrap_or(u32::MAX)
    }
}

impl Iterator for PeriodicSchedule {
    type Item = TestTime;

    fn next(&mut self) -> Option<TestTime> {
        loop {
            let at = TestTime(self.next);
            if at.0 >= self.to {
                return None;
            }
            if let Some(turns) = &self.turns {
                // Behind the last turn nothing comes; between two, go to the first instant of the next one.
                let turn = turns.iter().find(|turn| at < turn.to)?;
                if at < turn.from {
                    let before = turn.from.0.saturating_sub(at.0);
                    let intervals = before / self.interval + i64::from(before % self.interval != 0);
                    self.next = self.next.saturating_add(intervals.saturating_mul(self.interval));
                    continue;
                }
            }
            // What cannot be counted lies beyond every window.
            self.next = self.next.checked_add(self.interval).unwrap_or(self.to);
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const MS: i64 = 1_000_000;

    fn window(from: i64, to: i64) -> Window {
        Window { from: TestTime(from), to: TestTime(to) }
    }

    fn schedule(phase: Duration, turns: Option<Vec<Window>>) -> PeriodicSchedule {
        PeriodicSchedule::new(window(0, 10 * SECOND), Duration::from_millis(10), phase, turns)
    }

    #[test]
    fn every_interval_contains_one_packet_at_the_phase_of_the_flow() {
        let phase = Duration::from_nanos(3_333_333);
        let times: Vec<i64> = schedule(phase, None).map(|at| at.0).collect();
        assert_eq!(times, (0..1000).map(|n| n * 10 * MS + 3_333_333).collect::<Vec<_>>());
        assert_eq!(schedule(phase, None).left(), 1000);
    }

    #[test]
    fn within_turns_the_phase_stays_what_it_was() {
        let turns = vec![window(SECOND, SECOND + 25 * MS), window(2 * SECOND + MS, 2 * SECOND + 21 * MS)];
        let times: Vec<i64> = schedule(Duration::from_millis(5), Some(turns.clone())).map(|at| at.0 / MS).collect();
        assert_eq!(times, [1005, 1015, 2005, 2015]);
        let mut half = schedule(Duration::from_millis(5), Some(turns));
        half.next();
        assert_eq!(half.left(), 3, "as many as are still to come");
        assert_eq!(schedule(Duration::ZERO, Some(Vec::new())).left(), 0, "no turn, no packet");
    }

    #[test]
    fn windows_at_the_ends_of_time_come_to_an_end() {
        let ends = [i64::MIN, 0, i64::MAX];
        for (from, to) in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
            let whole = PeriodicSchedule::new(window(from, to), Duration::MAX, Duration::MAX, None);
            assert!(whole.take(10).count() <= 4, "from {from} to {to}");
            let turns = Some(vec![window(i64::MIN, 0), window(5, i64::MAX)]);
            let within = PeriodicSchedule::new(window(from, to), Duration::MAX, Duration::ZERO, turns);
            assert!(within.take(10).count() <= 4, "from {from} to {to}");
        }
    }
}

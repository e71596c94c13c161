//! When a sender begins something now and then: once in every interval, anywhere within it.
//!
//! As with the additive random sampling of RFC 2330 section 11.1, no two senders stay in step and nothing that repeats is
//! met at the same place again; unlike with a Poisson process, no stretch as long as an interval stays empty, so that a
//! short window has its sample too.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};

use crate::send_schedule::Random;

/// The instants of one flow; the same seed gives the same places within the intervals.
#[derive(Debug, Clone)]
pub struct StratifiedSchedule {
    window: Window,
    /// Nanoseconds.
    interval: i64,
    /// Where the next interval begins, nanoseconds since the window's beginning.
    begin: i64,
    random: Random,
}

impl StratifiedSchedule {
    /// One instant in every `interval` of `window`, and one at least; intervals below 1 µs are taken for 1 µs.
    pub fn new(window: Window, interval: Duration, seed: u64) -> Self {
        let length = window.to.0.saturating_sub(window.from.0).max(0);
        let interval = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).min(length).max(1000);
        Self { window, interval, begin: 0, random: Random(seed) }
    }
}

impl Iterator for StratifiedSchedule {
    type Item = TestTime;

    fn next(&mut self) -> Option<TestTime> {
        // From [0, 1).
        let even = (self.random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let place = self.begin.saturating_add((even * self.interval as f64) as i64);
        self.begin = self.begin.saturating_add(self.interval);
        let at = TestTime(self.window.from.0.saturating_add(place));
        self.window.contains(at).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn schedule(from: i64, length: i64, seed: u64) -> StratifiedSchedule {
        let window = Window { from: TestTime(from), to: TestTime(from + length) };
        StratifiedSchedule::new(window, Duration::from_secs(1), seed)
    }

    #[test]
    fn every_interval_has_one_instant_anywhere_in_it() {
        let times: Vec<i64> = schedule(0, 1000 * SECOND, 3).map(|at| at.0).collect();
        assert_eq!(times.len(), 1000);
        assert!(times.iter().enumerate().all(|(place, at)| at / SECOND == place as i64));
        // Uniform: a tenth of the instants in each tenth, ±3 standard deviations of 9.5.
        for tenth in 0..10 {
            let within = times.iter().filter(|at| (*at % SECOND) / (SECOND / 10) == tenth).count();
            assert!((71..=129).contains(&within), "{within} in tenth {tenth}");
        }
    }

    #[test]
    fn a_window_shorter_than_an_interval_has_one_too() {
        for seed in 0..100 {
            assert_eq!(schedule(5 * SECOND, SECOND / 3, seed).count(), 1);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_places_wherever_the_window_begins() {
        let moved = schedule(77 * SECOND, 20 * SECOND, 5).map(|at| at.0 - 77 * SECOND);
        assert!(moved.eq(schedule(0, 20 * SECOND, 5).map(|at| at.0)));
        assert!(!schedule(0, 20 * SECOND, 5).eq(schedule(0, 20 * SECOND, 6)));
    }

    #[test]
    fn windows_at_the_ends_of_time_come_to_an_end() {
        for (from, to) in [(i64::MAX - 10, i64::MAX), (0, 0), (i64::MIN, i64::MIN + 10), (i64::MAX, i64::MIN)] {
            let window = Window { from: TestTime(from), to: TestTime(to) };
            assert!(StratifiedSchedule::new(window, Duration::MAX, 3).take(5).count() <= 1);
        }
    }
}

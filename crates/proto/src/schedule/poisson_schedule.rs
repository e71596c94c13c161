//! When a sender begins something now and then: at the instants of a Poisson process (RFC 2330 section 11.1.1).
//!
//! The gaps are drawn from an exponential distribution, so that what has been says nothing of when the next comes, and no
//! two senders stay in step.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};

use rrul_model::random::Random;

/// The instants of one flow; the same seed gives the same gaps.
#[derive(Debug, Clone)]
pub struct PoissonSchedule {
    window: Window,
    mean: f64,
    /// Nanoseconds since the window's beginning.
    passed: f64,
    random: Random,
}

impl PoissonSchedule {
    /// One instant in every `mean` on average, within `window`; means below 1 µs are taken for 1 µs.
    pub fn new(window: Window, mean: Duration, seed: u64) -> Self {
        Self { window, mean: (mean.as_secs_f64() * 1e9).max(1000.0), passed: 0.0, random: Random(seed) }
    }
}

impl Iterator for PoissonSchedule {
    type Item = TestTime;

    fn next(&mut self) -> Option<TestTime> {
        // From (0, 1]: the logarithm of 0 is no gap.
        let even = ((self.random.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.passed -= self.mean * even.ln();
        let at = TestTime(self.window.from.0.saturating_add(self.passed as i64));
        self.window.contains(at).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn schedule(from: i64, seed: u64) -> PoissonSchedule {
        let window = Window { from: TestTime(from), to: TestTime(from + 10_000 * SECOND) };
        PoissonSchedule::new(window, Duration::from_secs(1), seed)
    }

    #[test]
    fn gaps_are_exponential_with_the_mean_asked_for() {
        let times: Vec<i64> = schedule(0, 3).map(|at| at.0).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / SECOND as f64).collect();
        // 10 000 expected, standard deviation 100.
        assert!((9600..10_400).contains(&times.len()), "{} instants", times.len());
        // An exponential gap is longer than its mean with probability 1/e, and than twice that with 1/e².
        for (length, share) in [(1.0, 0.3679), (2.0, 0.1353), (0.1, 0.9048)] {
            let longer = gaps.iter().filter(|gap| **gap > length).count() as f64 / gaps.len() as f64;
            assert!((longer - share).abs() < 0.02, "{longer} of the gaps are longer than {length} means");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_gaps_wherever_the_window_begins() {
        let moved = schedule(77 * SECOND, 5).map(|at| at.0 - 77 * SECOND);
        assert!(moved.eq(schedule(0, 5).map(|at| at.0)));
        assert!(!schedule(0, 5).eq(schedule(0, 6)));
    }

    #[test]
    fn windows_at_the_ends_of_time_come_to_an_end() {
        for (from, to) in [(i64::MAX - 10, i64::MAX), (0, 0), (i64::MIN, i64::MIN + 10), (i64::MAX, i64::MIN)] {
            let window = Window { from: TestTime(from), to: TestTime(to) };
            assert!(PoissonSchedule::new(window, Duration::MAX, 3).take(5).count() <= 1);
        }
    }
}

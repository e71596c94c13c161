//! A counter that only grows, read now and then, and its value in between.

use rrul_model::time::{TestTime, Window};

/// Readings of one cumulative counter in the order of time.
///
/// Between two readings the counter is taken to grow at an even pace; before the first and after the last it is
/// taken to stand still.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter {
    readings: Vec<(TestTime, u64)>,
}

impl Counter {
    /// A counter from its readings in any order.
    ///
    /// A reading below an earlier one is lifted to it: a counter that falls is a damaged file, not a negative rate.
    pub(crate) fn new(mut readings: Vec<(TestTime, u64)>) -> Self {
        readings.sort_by_key(|(at, _)| *at);
        let mut highest = 0;
        for (_, value) in &mut readings {
            highest = highest.max(*value);
            *value = highest;
        }
        Self { readings }
    }

    /// What has come by when so much came at each of these times: nothing before the first.
    pub(crate) fn of_arrivals(arrivals: impl IntoIterator<Item = (TestTime, u64)>) -> Self {
        let mut arrivals: Vec<(TestTime, u64)> = arrivals.into_iter().collect();
        arrivals.sort_unstable();
        let before = arrivals.first().map(|(at, _)| (TestTime(at.0.saturating_sub(1)), 0));
        let mut sum = 0_u64;
        let totals = arrivals.into_iter().map(|(at, more)| {
            sum = sum.saturating_add(more);
            (at, sum)
        });
        Self { readings: before.into_iter().chain(totals).collect() }
    }

    /// The same of things of which only a share came: the sum is rounded, not each share.
    pub(crate) fn of_shares(arrivals: impl IntoIterator<Item = (TestTime, f64)>) -> Self {
        let mut arrivals: Vec<(TestTime, f64)> = arrivals.into_iter().collect();
        arrivals.sort_by_key(|(at, _)| *at);
        let before = arrivals.first().map(|(at, _)| (TestTime(at.0.saturating_sub(1)), 0));
        let mut sum = 0.0_f64;
        let totals = arrivals.into_iter().map(|(at, more)| {
            sum += more.max(0.0);
            (at, sum.round() as u64)
        });
        Self { readings: before.into_iter().chain(totals).collect() }
    }

    /// The same counter, known to have been 0 at `at` where no reading is as early.
    pub(crate) fn starting_from_zero_at(mut self, at: TestTime) -> Self {
        if self.first().is_some_and(|(first, _)| at < first) {
            self.readings.insert(0, (at, 0));
        }
        self
    }

    /// The count of something that comes `factor` at a time.
    pub(crate) fn times(&self, factor: u64) -> Self {
        Self { readings: self.readings.iter().map(|(at, value)| (*at, value.saturating_mul(factor))).collect() }
    }

    pub(crate) fn first(&self) -> Option<(TestTime, u64)> {
        self.readings.first().copied()
    }

    pub(crate) fn last(&self) -> Option<(TestTime, u64)> {
        self.readings.last().copied()
    }

    /// Time of the first reading with the final value: the counter did not grow later.
    pub(crate) fn last_growth(&self) -> Option<TestTime> {
        Some(self.last_growing()?.to)
    }

    /// The stretch between two readings in which the counter grew last; `None` when it never did.
    pub(crate) fn last_growing(&self) -> Option<Window> {
        let (_, value) = self.last().filter(|(_, value)| *value > 0)?;
        let index = self.readings.partition_point(|(_, earlier)| *earlier < value);
        let (to, _) = *self.readings.get(index)?;
        Some(Window { from: index.checked_sub(1).map_or(to, |before| self.readings[before].0), to })
    }

    /// The value at `at`; 0 without readings.
    pub(crate) fn at(&self, at: TestTime) -> f64 {
        self.before(self.readings.partition_point(|(time, _)| *time <= at), at)
    }

    /// The values at many times, each no earlier than the one before: quicker than one at a time.
    pub(crate) fn at_each(&self, times: impl IntoIterator<Item = TestTime>) -> impl Iterator<Item = f64> {
        let mut after = 0;
        times.into_iter().map(move |at| {
            after += self.readings[after..].iter().take_while(|(time, _)| *time <= at).count();
            self.before(after, at)
        })
    }

    /// The value at `at`, of which this is the first reading that is later.
    fn before(&self, after: usize, at: TestTime) -> f64 {
        match (after.checked_sub(1).map(|before| self.readings[before]), self.readings.get(after).copied()) {
            (None, None) => 0.0,
            (None, Some((_, value))) | (Some((_, value)), None) => value as f64,
            (Some((from, low)), Some((to, high))) => {
                let share = nanoseconds(from, at) / nanoseconds(from, to);
                low as f64 + (high - low) as f64 * share
            }
        }
    }
}

/// From one instant to another without overflow, however far apart.
pub(crate) fn nanoseconds(from: TestTime, to: TestTime) -> f64 {
    let near = to.0.checked_sub(from.0).map(|nanoseconds| nanoseconds as f64);
    near.unwrap_or_else(|| (i128::from(to.0) - i128::from(from.0)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(readings: &[(i64, u64)]) -> Counter {
        Counter::new(readings.iter().map(|(at, value)| (TestTime(*at), *value)).collect())
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "these small integers and halves are exact in floats")]
    fn a_counter_grows_evenly_between_readings_and_stands_still_outside() {
        let counter = counter(&[(100, 30), (200, 50), (0, 10)]);
        for (at, value) in [(-5, 10.0), (0, 10.0), (50, 20.0), (100, 30.0), (175, 45.0), (200, 50.0), (900, 50.0)] {
            assert_eq!(counter.at(TestTime(at)), value, "at {at}");
        }
        assert_eq!(super::Counter::default().at(TestTime(0)), 0.0);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "small integers are exact in floats")]
    fn a_counter_that_falls_is_held() {
        let counter = counter(&[(0, 10), (1, 4), (2, 12)]);
        assert_eq!(counter.at(TestTime(1)), 10.0);
    }

    #[test]
    fn many_values_are_those_of_each() {
        let counter = counter(&[(100, 30), (200, 50), (0, 10), (200, 70)]);
        let times = || [-5, 0, 0, 50, 100, 199, 200, 200, 900].map(TestTime);
        let each: Vec<f64> = times().map(|at| counter.at(at)).to_vec();
        assert_eq!(counter.at_each(times()).collect::<Vec<_>>(), each);
        assert_eq!(super::Counter::default().at_each(times()).collect::<Vec<_>>(), vec![0.0; times().len()]);
    }

    #[test]
    fn the_last_growth_is_where_the_final_value_was_first_read() {
        assert_eq!(counter(&[(0, 0), (10, 7), (20, 7), (30, 7)]).last_growth(), Some(TestTime(10)));
        assert_eq!(counter(&[]).last_growth(), None);
    }

    #[test]
    fn times_at_both_ends_of_the_range_do_not_overflow() {
        let counter = counter(&[(i64::MIN, 0), (i64::MAX, u64::MAX)]);
        let middle = counter.at(TestTime(0)) / u64::MAX as f64;
        assert!((middle - 0.5).abs() < 1e-9, "{middle}");
    }
}

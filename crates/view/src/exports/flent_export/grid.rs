//! Values on Flent's common grid: means over the step before each place, nothing where nothing was measured.

use std::time::Duration;

/// A step needs to be covered by intervals for so much of its length to have a mean.
const COVERED: f64 = 0.5;
/// Half a step is half a step, whatever its last bit, seconds.
const ROUNDING: f64 = 1e-9;
/// Most places on a grid.
const MOST: usize = 1_000_000;

/// Places at an even distance from 0.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    step: f64,
    /// Seconds from the beginning.
    pub(super) places: Vec<f64>,
}

impl Grid {
    /// From 0 to `length`, which is the last place when it falls on one.
    pub(super) fn over(length: Duration, step: Duration) -> Self {
        let step = step.as_secs_f64().max(1e-3);
        let steps = ((length.as_secs_f64() / step).round() as usize).min(MOST);
        // Milliseconds exactly, not the sum of rounded steps.
        Self { step, places: (0..=steps).map(|number| (number as f64 * step * 1000.0).round() / 1000.0).collect() }
    }

    /// The place at whose end this time is.
    fn place(&self, seconds: f64) -> Option<usize> {
        let place = (seconds / self.step).ceil();
        (place >= 0.0 && place < self.places.len() as f64).then_some(place as usize)
    }

    /// The mean of the samples in each step.
    pub(super) fn mean_of_samples(&self, samples: impl Iterator<Item = (f64, f64)>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0_u32); self.places.len()];
        for (at, value) in samples {
            if let Some(sum) = self.place(at).and_then(|place| sums.get_mut(place)) {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect()
    }

    /// The mean by time of values that hold from one time to another.
    pub(super) fn mean_of_intervals(&self, intervals: &[(f64, f64, f64)]) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.places.len()];
        for (from, to, value) in intervals {
            let (Some(first), Some(last)) =
                (self.place(from.max(0.0)), self.place(to.max(0.0)).or_else(|| self.last()))
            else {
                continue;
            };
            for place in first..=last {
                let end = place as f64 * self.step;
                let within = to.min(end) - from.max(end - self.step);
                if let Some(sum) = sums.get_mut(place).filter(|_| within > 0.0) {
                    *sum = (sum.0 + value * within, sum.1 + within);
                }
            }
        }
        sums.into_iter().map(|(sum, time)| (time >= COVERED * self.step - ROUNDING).then(|| sum / time)).collect()
    }

    fn last(&self) -> Option<usize> {
        self.places.len().checked_sub(1)
    }
}

/// The sum; `None` if nothing is added.
pub(super) fn sum(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum())
}

/// The mean; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    sum(values).map(|sum| sum / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid::over(Duration::from_secs(1), Duration::from_millis(200))
    }

    #[test]
    fn places_are_even() {
        assert_eq!(grid().places, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(Grid::over(Duration::ZERO, Duration::from_millis(200)).places, [0.0]);
    }

    #[test]
    fn a_step_has_the_mean_of_what_lies_in_it_and_none_of_nothing() {
        let samples = [(0.05, 10.0), (0.15, 30.0), (0.7, 5.0), (7.0, 1.0), (-1.0, 1.0)];
        let means = grid().mean_of_samples(samples.into_iter());
        assert_eq!(means, [None, Some(20.0), None, None, Some(5.0), None]);
    }

    #[test]
    fn a_rate_counts_by_the_time_for_which_it_held() {
        let means = grid().mean_of_intervals(&[(0.0, 0.1, 10.0), (0.1, 0.3, 20.0), (0.7, 0.75, 9.0), (0.9, 7.0, 4.0)]);
        // 0.2 to 0.4 is covered by half, 0.6 to 0.8 by a quarter.
        let rounded: Vec<_> = means.iter().map(|mean| mean.map(|mean| (mean * 1e6).round() / 1e6)).collect();
        assert_eq!(rounded, [None, Some(15.0), Some(20.0), None, None, Some(4.0)]);
    }
}

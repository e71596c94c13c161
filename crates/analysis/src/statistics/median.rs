//! Medians, alone and in passing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The median by inverted distribution function (type 1, nearest rank), as for delays; 0 of nothing.
///
/// Of an even number of values it is the lower of the two in the middle, so it is always an observed value.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The value at rank ceil(n * `share`), counted from 1 and from the smallest; 0 of nothing.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Each value replaced by the median of itself and `reach` values on either side, fewer at the ends.
///
/// A step stays where it is and as steep as it is; an outlier shorter than half of the stretch is gone.
pub(crate) fn median_filtered(values: &[f64], reach: usize) -> Vec<f64> {
    let around = |index: usize| {
        let reach = reach.min(index).min(values.len() - 1 - index);
        median(&values[index - reach..=index + reach])
    };
    (0..values.len()).map(around).collect()
}

/// The median of values that come one by one.
#[derive(Debug, Default)]
pub(crate) struct RunningMedian {
    /// The lower half, its largest on top: the median. It has as many values as the upper half, or one more.
    low: BinaryHeap<Ordered>,
    /// The upper half, its smallest on top.
    high: BinaryHeap<Reverse<Ordered>>,
    low_sum: f64,
    high_sum: f64,
}

impl RunningMedian {
    pub(crate) fn push(&mut self, value: f64) {
        if self.low.peek().is_none_or(|top| value <= top.0) {
            self.low.push(Ordered(value));
            self.low_sum += value;
        } else {
            self.high.push(Reverse(Ordered(value)));
            self.high_sum += value;
        }
        if self.low.len() > self.high.len() + 1
            && let Some(Ordered(moved)) = self.low.pop()
        {
            self.low_sum -= moved;
            self.high_sum += moved;
            self.high.push(Reverse(Ordered(moved)));
        } else if self.high.len() > self.low.len()
            && let Some(Reverse(Ordered(moved))) = self.high.pop()
        {
            self.high_sum -= moved;
            self.low_sum += moved;
            self.low.push(Ordered(moved));
        }
    }

    /// The median so far; 0 of nothing.
    pub(crate) fn median(&self) -> f64 {
        self.low.peek().map_or(0.0, |top| top.0)
    }

    /// The sum of all values' absolute deviations from it.
    pub(crate) fn deviations(&self) -> f64 {
        let median = self.median();
        self.high_sum - median * self.high.len() as f64 + median * self.low.len() as f64 - self.low_sum
    }
}

/// A float that sorts.
#[derive(Debug, Clone, Copy)]
struct Ordered(f64);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "observed values come back as they are")]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_an_observed_value() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.0);
        assert_eq!(median(&[]), 0.0);
        assert_eq!(quantile(&[5.0, 1.0, 2.0, 3.0, 4.0], 0.95), 5.0);
        assert_eq!(quantile(&[5.0, 1.0, 2.0, 3.0, 4.0], 0.2), 1.0);
    }

    #[test]
    fn the_filter_keeps_steps_and_removes_outliers() {
        let step = [1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0];
        assert_eq!(median_filtered(&step, 2), step);
        assert_eq!(median_filtered(&[1.0, 1.0, 9.0, 9.0, 1.0, 1.0, 1.0], 2), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(median_filtered(&[], 2), [0.0; 0]);
    }
}

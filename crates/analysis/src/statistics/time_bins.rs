//! A grid of short intervals, aligned to the beginning of the test.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};

/// Most intervals that a grid has. A longer test gets intervals that are whole multiples of the one asked for.
const MOST_BINS: i128 = 100_000;

/// Intervals that follow each other without a gap, each from one edge to the next.
///
/// All edges but the last are multiples of the interval since T0, so that grids of different flows and runs fit on each
/// other. The last interval ends where the window does: it may be shorter, or up to half an interval longer, because a
/// sliver of a few microseconds would give a rate without meaning.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeBins {
    edges: Vec<i64>,
}

impl TimeBins {
    /// The grid that covers `window` with intervals of this length; empty when the window is.
    pub(crate) fn covering(window: Window, interval: Duration) -> Self {
        let (from, to) = (i128::from(window.from.0), i128::from(window.to.0));
        if to <= from {
            return Self::default();
        }
        let asked = i128::try_from(interval.as_nanos()).unwrap_or(i128::MAX).clamp(1, i128::from(i64::MAX));
        let width = asked * ((to - from) / asked / MOST_BINS + 1);
        let mut edges = Vec::new();
        let mut edge = from.div_euclid(width) * width;
        while edge < to {
            edges.push(edge);
            edge += width;
        }
        // The sliver joins its neighbor.
        if edges.len() > 1 && edges.last().is_some_and(|last| (to - last) * 2 < width) {
            edges.pop();
        }
        edges.push(to);
        // Aligning may step below the range of the clock only in a damaged file; those edges are cut to it.
        Self { edges: edges.into_iter().map(|edge| edge.max(i128::from(i64::MIN)) as i64).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// All edges: one more than intervals, or none.
    pub(crate) fn edges(&self) -> impl Iterator<Item = TestTime> + Clone + '_ {
        self.edges.iter().copied().map(TestTime)
    }

    /// The middle of an interval and how long it is; `None` past the last.
    pub(crate) fn bin(&self, index: usize) -> Option<(TestTime, Duration)> {
        let (from, to) = (*self.edges.get(index)?, *self.edges.get(index + 1)?);
        let length = from.abs_diff(to);
        Some((TestTime(from) + Duration::from_nanos(length / 2), Duration::from_nanos(length)))
    }

    /// The intervals that share time with `window`, as a range of indices.
    pub(crate) fn within(&self, window: Window) -> std::ops::Range<usize> {
        if window.to <= window.from {
            return 0..0;
        }
        let first = self.edges.partition_point(|edge| *edge <= window.from.0).saturating_sub(1);
        let end = self.edges.partition_point(|edge| *edge < window.to.0).min(self.len());
        first..end.max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: i64, to: i64) -> Window {
        Window { from: TestTime(from), to: TestTime(to) }
    }

    fn edges(from: i64, to: i64, interval: u64) -> Vec<i64> {
        TimeBins::covering(window(from, to), Duration::from_nanos(interval)).edges().map(|edge| edge.0).collect()
    }

    #[test]
    fn edges_are_multiples_of_the_interval_since_t0() {
        assert_eq!(edges(-3, 20, 10), [-10, 0, 10, 20]);
        assert_eq!(edges(7, 28, 10), [0, 10, 20, 28]);
    }

    #[test]
    fn a_sliver_at_the_end_joins_its_neighbor() {
        assert_eq!(edges(0, 24, 10), [0, 10, 24]);
        assert_eq!(edges(0, 4, 10), [0, 4]);
        assert!(edges(5, 5, 10).is_empty());
    }

    #[test]
    fn a_window_finds_the_bins_it_shares_time_with() {
        let bins = TimeBins::covering(window(0, 50), Duration::from_nanos(10));
        assert_eq!(bins.within(window(10, 30)), 1..3);
        assert_eq!(bins.within(window(15, 31)), 1..4);
        assert_eq!(bins.within(window(-9, 99)), 0..5);
        assert_eq!(bins.within(window(60, 99)).len(), 0);
        assert_eq!(bins.bin(1), Some((TestTime(15), Duration::from_nanos(10))));
    }

    #[test]
    fn a_grid_never_grows_without_bound() {
        let bins = TimeBins::covering(window(i64::MIN, i64::MAX), Duration::ZERO);
        assert!(bins.len() <= MOST_BINS as usize + 1, "{}", bins.len());
        assert!(bins.edges().collect::<Vec<_>>().is_sorted());
    }
}

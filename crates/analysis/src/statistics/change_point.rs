//! Where a series changes its level.

use crate::statistics::median::{RunningMedian, median, quantile};

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LevelShift {
    /// Index of the first value on the new level.
    pub(crate) at: usize,
    /// Median before.
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// Cost of one more change, in median absolute deviations of the rest for each unit of ln n: binary segmentation with
/// the penalty of Schwarz's criterion, in the form for absolute deviations.
const PENALTY: f64 = 3.0;

/// How many of the values before may lie beyond the middle between the two levels: they climb.
const CLIMBING: f64 = 0.25;
/// How many of those after may.
const STRAYING: f64 = 0.05;

/// How much the halves of a stretch may differ, as a part of the step beside it, for it to count as a level.
const SLOPING: f64 = 1.0 / 3.0;

/// The one change of level of `values`, between stretches of at least `least_before` and `least_after`; `None` without
/// one.
///
/// It is the split that leaves the smallest sum of absolute deviations from the medians of its two stretches, when that
/// is worth its penalty and the two keep apart: nearly all values of either lie on their own side of the middle between
/// the levels. A sawtooth, which comes back to where it was, is no change of level however long its teeth are.
pub(crate) fn level_shift(values: &[f64], least_before: usize, least_after: usize) -> Option<LevelShift> {
    let at = split(values, least_before, least_after)?;
    let (before, after) = values.split_at(at);
    apart(before, after).then(|| LevelShift { at, before: median(before), after: median(after) })
}

/// All changes of level of `values`, each between stretches of at least `least`, in their order.
///
/// By binary segmentation; of the cuts it makes, those count whose two stretches keep apart and are levels, neither of
/// them rising or falling much within itself.
pub(crate) fn level_shifts(values: &[f64], least: usize) -> Vec<LevelShift> {
    let mut edges = vec![0, values.len()];
    cut(values, 0, least, MOST_DEPTH, &mut edges);
    edges.sort_unstable();
    let shift = |edges: &[usize]| {
        let (before, after) = (&values[edges[0]..edges[1]], &values[edges[1]..edges[2]]);
        let shift = LevelShift { at: edges[1], before: median(before), after: median(after) };
        let step = (shift.before - shift.after).abs();
        let level = |stretch: &[f64]| {
            let (first, second) = stretch.split_at(stretch.len() / 2);
            (median(first) - median(second)).abs() <= SLOPING * step
        };
        (apart(before, after) && level(before) && level(after)).then_some(shift)
    };
    edges.windows(3).filter_map(shift).collect()
}

/// How often a stretch is cut again.
const MOST_DEPTH: u32 = 5;

fn cut(values: &[f64], from: usize, least: usize, depth: u32, edges: &mut Vec<usize>) {
    if depth == 0 {
        return;
    }
    if let Some(at) = split(values, least, least) {
        edges.push(from + at);
        cut(&values[..at], from, least, depth - 1, edges);
        cut(&values[at..], from + at, least, depth - 1, edges);
    }
}

/// Where two medians fit best, when they fit better than one by more than the penalty.
fn split(values: &[f64], least_before: usize, least_after: usize) -> Option<usize> {
    let count = values.len();
    let (from, to) = (least_before.max(1), count.checked_sub(least_after.max(1))?);
    let ahead = deviations(values.iter());
    let behind = deviations(values.iter().rev());
    let cost = |at: &usize| ahead[*at] + behind[count - *at];
    let at = (from..=to).min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
    let residuals = |stretch: &[f64]| {
        let median = median(stretch);
        stretch.iter().map(|value| (value - median).abs()).collect::<Vec<f64>>()
    };
    let (before, after) = values.split_at(at);
    let residuals = [residuals(before), residuals(after)].concat();
    let penalty = PENALTY * median(&residuals) * (count as f64).ln();
    (ahead[count] - cost(&at) > penalty).then_some(at)
}

/// Whether nearly all values lie on their own side of the middle between the two levels.
fn apart(before: &[f64], after: &[f64]) -> bool {
    let levels = (median(before), median(after));
    let middle = f64::midpoint(levels.0, levels.1);
    if levels.0 > levels.1 {
        quantile(before, CLIMBING) > middle && quantile(after, 1.0 - STRAYING) < middle
    } else {
        quantile(before, 1.0 - CLIMBING) < middle && quantile(after, STRAYING) > middle
    }
}

/// For each n, the sum of absolute deviations of the first n values from their median.
fn deviations<'v>(values: impl Iterator<Item = &'v f64>) -> Vec<f64> {
    let mut running = RunningMedian::default();
    let sum = |value: &f64| {
        running.push(*value);
        running.deviations()
    };
    std::iter::once(0.0).chain(values.map(sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wavering(level: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |index| level * (1.0 + 0.03 * ((index * 7 % 11) as f64 / 5.0 - 1.0)))
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let values: Vec<f64> = wavering(40.0, 20).chain(wavering(20.0, 60)).collect();
        let shift = level_shift(&values, 8, 40).unwrap();
        assert_eq!(shift.at, 20);
        assert!((shift.before - 40.0).abs() < 1.0 && (shift.after - 20.0).abs() < 1.0, "{shift:?}");
        let up: Vec<f64> = values.iter().map(|value| 60.0 - value).collect();
        assert_eq!(level_shift(&up, 8, 40).map(|shift| shift.at), Some(20));
    }

    #[test]
    fn a_step_that_is_too_near_to_an_end_or_missing_is_none() {
        let values: Vec<f64> = wavering(40.0, 6).chain(wavering(20.0, 60)).collect();
        assert_eq!(level_shift(&values, 8, 40).filter(|shift| shift.at < 8), None);
        assert_eq!(level_shift(&wavering(40.0, 200).collect::<Vec<_>>(), 8, 40), None);
        assert_eq!(level_shift(&[1.0, 2.0], 8, 40), None);
        assert_eq!(level_shift(&[], 0, 0), None);
    }

    #[test]
    fn a_sawtooth_is_no_change_of_level() {
        let values: Vec<f64> = (0..240).map(|index| 70.0 + f64::from(index % 60) / 2.0).collect();
        assert_eq!(level_shift(&values, 8, 40), None);
        assert_eq!(level_shifts(&values, 20), []);
    }

    #[test]
    fn steps_down_and_back_up_are_both_found() {
        let values: Vec<f64> = wavering(40.0, 40).chain(wavering(20.0, 80)).chain(wavering(40.0, 120)).collect();
        assert_eq!(level_shift(&values, 8, 40), None, "one change alone does not describe it");
        let found: Vec<usize> = level_shifts(&values, 20).iter().map(|shift| shift.at).collect();
        assert_eq!(found, [40, 120]);
        assert_eq!(level_shifts(&[], 20), []);
    }

    proptest! {
        #[test]
        fn sums_of_deviations_are_those_worked_out_one_by_one(values in prop::collection::vec(-1e6_f64..1e6, 0..60)) {
            let sums = deviations(values.iter());
            for (count, sum) in sums.iter().enumerate() {
                let median = median(&values[..count]);
                let expected: f64 = values[..count].iter().map(|value| (value - median).abs()).sum();
                prop_assert!((sum - expected).abs() < 1e-3, "{count}: {sum} is not {expected}");
            }
        }
    }
}

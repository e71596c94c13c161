//! Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984).

use schemars::JsonSchema;
use serde::Serialize;

use super::percentile::percentile;

/// How evenly these shares are spread: (Σx)² / (n Σx²), 1 when all are alike, 1/n when one has everything.
///
/// `None` for fewer than two shares, and when all shares are zero.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (shares.len() >= 2 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Jain's index over many intervals.
///
/// Jain's fairness index is (Σx)² / (n Σx²): 1 if all have the same, 1/n if one has everything.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Evenness")]
pub struct JainStatistics {
    /// Number of sharers, n.
    ///
    /// Unit: count.
    pub sharers: u64,
    /// Intervals with anything to share.
    ///
    /// Unit: count.
    pub intervals: u64,
    /// Mean of the index over those intervals.
    ///
    /// Unit: share. Source: Jain, DEC-TR-301.
    pub mean: f64,
    /// 5th percentile over those intervals, by inverted distribution function.
    ///
    /// Unit: share.
    pub p5: f64,
    /// The index over the whole time. Streams that take turns are even here, but uneven in `mean`.
    ///
    /// Unit: share.
    pub overall: f64,
}

impl JainStatistics {
    /// The index in each interval, and over all; `rates[i]` are those of one sharer, interval by interval.
    ///
    /// `None` for fewer than two sharers, and when all shares are zero throughout.
    pub fn from_rates(rates: &[Vec<f64>]) -> Option<Self> {
        let intervals = rates.iter().map(Vec::len).min()?;
        let mut each: Vec<f64> =
            (0..intervals).filter_map(|at| jain_index(&rates.iter().map(|one| one[at]).collect::<Vec<_>>())).collect();
        let sums: Vec<f64> = rates.iter().map(|one| one[..intervals].iter().sum()).collect();
        let overall = jain_index(&sums)?;
        each.sort_unstable_by(f64::total_cmp);
        Some(Self {
            sharers: rates.len() as u64,
            intervals: each.len() as u64,
            mean: each.iter().sum::<f64>() / each.len() as f64,
            p5: percentile(&each, 0, 50)?,
            overall,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("a value");
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn published_and_hand_worked_shares_give_their_index() {
        near(jain_index(&[3.0, 1.0]), 0.8);
        near(jain_index(&[2.0, 1.0]), 0.9);
        near(jain_index(&[5.0, 5.0, 5.0]), 1.0);
        near(jain_index(&[7.0, 0.0, 0.0, 0.0]), 0.25);
        // Jain's own example: k of n served alike gives k/n.
        near(jain_index(&[1.0, 1.0, 1.0, 0.0, 0.0]), 0.6);
        assert_eq!(jain_index(&[4.0]), None);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    #[test]
    fn taking_turns_is_uneven_at_each_moment_and_even_over_all() {
        let turns = [vec![1.0, 0.0, 1.0, 0.0], vec![0.0, 1.0, 0.0, 1.0]];
        let statistics = JainStatistics::from_rates(&turns).unwrap();
        near(Some(statistics.mean), 0.5);
        near(Some(statistics.p5), 0.5);
        near(Some(statistics.overall), 1.0);
        assert_eq!((statistics.sharers, statistics.intervals), (2, 4));
    }

    #[test]
    fn an_interval_without_anything_to_share_does_not_count() {
        let statistics = JainStatistics::from_rates(&[vec![3.0, 0.0], vec![1.0, 0.0]]).unwrap();
        assert_eq!(statistics.intervals, 1);
        near(Some(statistics.mean), 0.8);
    }

    proptest! {
        #[test]
        fn the_index_lies_between_one_nth_and_one_and_knows_no_scale(
            shares in prop::collection::vec(0.0_f64..1e9, 2..20), scale in 1e-3_f64..1e3
        ) {
            prop_assume!(shares.iter().any(|share| *share > 1.0));
            let index = jain_index(&shares).unwrap();
            prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-9 && index <= 1.0 + 1e-9);
            let scaled: Vec<f64> = shares.iter().map(|share| share * scale).collect();
            prop_assert!((jain_index(&scaled).unwrap() - index).abs() < 1e-9);
        }
    }
}

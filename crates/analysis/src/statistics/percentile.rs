//! Percentiles of exact integers, with losses counted as infinitely late.

use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

/// The inverted empirical distribution function: the smallest value that at least `per_mille` of all values reach.
///
/// Type 1 of Hyndman and Fan (1996), also called nearest rank: always a value that was observed, never a mean of two.
/// The value at rank ceil(n * `per_mille` / 1000), counted from 1, where n is the number of `sorted` values and
/// `infinite` ones together. `per_mille` is cut to 1000; 0 gives the smallest. `None` without a value, or when
/// the rank falls among the infinite.
pub fn percentile<T: Copy>(sorted: &[T], infinite: u64, per_mille: u16) -> Option<T> {
    sorted.get(place(sorted.len(), infinite, per_mille)?).copied()
}

/// The same at several places, lowest first, of a sample in any order, which is reordered: quicker than to sort it.
pub(crate) fn percentiles<T: Copy + Ord, const N: usize>(
    sample: &mut [T],
    infinite: u64,
    per_mille: [u16; N],
) -> [Option<T>; N] {
    // Nothing before this is greater than anything behind it.
    let mut parted = 0;
    per_mille.map(|per_mille| {
        let place = place(sample.len(), infinite, per_mille).filter(|place| *place < sample.len())?;
        let from = if place < parted { 0 } else { parted };
        parted = place;
        let (_, found, _) = sample[from..].select_nth_unstable(place - from);
        Some(*found)
    })
}

/// Where a percentile stands among so many sorted values, and behind them so many infinite ones.
fn place(values: usize, infinite: u64, per_mille: u16) -> Option<usize> {
    let all = u128::try_from(values).unwrap_or(u128::MAX).saturating_add(u128::from(infinite));
    let rank = all.saturating_mul(u128::from(per_mille.min(1000))).div_ceil(1000).max(1);
    usize::try_from(rank - 1).ok()
}

/// Percentiles of the delays of a sample of packets.
///
/// A lost packet counts as infinitely late (RFC 7679 section 3.4 leaves its delay undefined). It raises every
/// percentile, so that a queue that drops does not look better than one that delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Statistics of delays")]
pub struct DelayStatistics {
    /// Packets whose fate is known, lost ones included.
    ///
    /// Unit: count. Source: RFC 7679 section 4.
    pub n: u64,
    /// Of those, lost.
    ///
    /// Unit: count. Source: RFC 6673.
    pub lost: u64,
    /// Smallest delay of a packet that was not lost. Null when all were lost.
    ///
    /// Source: RFC 2681.
    #[serde(rename = "min_ns")]
    pub min: Option<Delay>,
    /// Median, by inverted distribution function (type 1, nearest rank): always an observed value. Null when the rank
    /// falls on a lost packet, as for the other percentiles.
    ///
    /// Source: RFC 2330 section 11.3; RFC 7679 section 5.1.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Delay>,
    /// 90th percentile.
    #[serde(rename = "p90_ns")]
    pub p90: Option<Delay>,
    /// 95th percentile.
    #[serde(rename = "p95_ns")]
    pub p95: Option<Delay>,
    /// 99th percentile.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Delay>,
    /// Largest delay of a packet that was not lost.
    ///
    /// Source: RFC 2681.
    #[serde(rename = "max_ns")]
    pub max: Option<Delay>,
}

impl DelayStatistics {
    /// The statistics of these answered packets and this many lost ones; `None` without either.
    pub fn from_delays(mut answered: Vec<Delay>, lost: u64) -> Option<Self> {
        let n = u64::try_from(answered.len()).unwrap_or(u64::MAX).saturating_add(lost);
        let (min, max) = (answered.iter().min().copied(), answered.iter().max().copied());
        let [p50, p90, p95, p99] = percentiles(&mut answered, lost, [500, 900, 950, 990]);
        (n > 0).then_some(Self { n, lost, min, p50, p90, p95, p99, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_agree_with_the_nearest_rank_worked_by_hand() {
        // Ranks ceil(0.05*5)=1, ceil(0.30*5)=2, ceil(0.40*5)=2, ceil(0.50*5)=3, 5.
        let sorted = [15, 20, 35, 40, 50];
        for (per_mille, value) in [(0, 15), (50, 15), (300, 20), (400, 20), (500, 35), (1000, 50)] {
            assert_eq!(percentile(&sorted, 0, per_mille), Some(value), "{per_mille} per mille");
        }
    }

    #[test]
    fn percentiles_agree_with_rs_quantile_of_type_1() {
        // R: quantile(1:10, c(.1, .25, .5, .75, .9, .99), type = 1) is 1 3 5 8 9 10
        let sorted: Vec<u32> = (1..=10).collect();
        for (per_mille, value) in [(100, 1), (250, 3), (500, 5), (750, 8), (900, 9), (990, 10)] {
            assert_eq!(percentile(&sorted, 0, per_mille), Some(value), "{per_mille} per mille");
        }
    }

    #[test]
    fn a_percentile_that_falls_on_a_loss_is_none() {
        let statistics = DelayStatistics::from_delays((1..=98).map(Delay).collect(), 2).unwrap();
        assert_eq!((statistics.n, statistics.lost), (100, 2));
        assert_eq!(statistics.p50, Some(Delay(50)));
        assert_eq!(statistics.p95, Some(Delay(95)));
        assert_eq!(statistics.p99, None, "rank 99 of 100 is one of the two lost packets");
        assert_eq!(statistics.max, Some(Delay(98)));
    }

    #[test]
    fn when_all_is_lost_only_the_counts_are_known() {
        let statistics = DelayStatistics::from_delays(Vec::new(), 7).unwrap();
        assert_eq!((statistics.n, statistics.lost), (7, 7));
        assert_eq!((statistics.min, statistics.p50, statistics.max), (None, None, None));
        assert_eq!(DelayStatistics::from_delays(Vec::new(), 0), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_smallest_value_that_enough_values_reach(
            mut values in prop::collection::vec(any::<i64>(), 1..200), lost in 0_u64..50, per_mille in 1_u16..=1000
        ) {
            values.sort_unstable();
            let all = values.len() as u64 + lost;
            let reaches = |limit: i64| values.iter().filter(|value| **value <= limit).count() as u64 * 1000 >= all * u64::from(per_mille);
            let expected = values.iter().copied().find(|value| reaches(*value));
            prop_assert_eq!(percentile(&values, lost, per_mille), expected);
        }

        #[test]
        fn without_sorting_they_are_the_same(
            mut values in prop::collection::vec(-20_i64..20, 0..60), lost in 0_u64..9, places in any::<[u16; 4]>()
        ) {
            let places = places.map(|place| place % 1001);
            let found = percentiles(&mut values, lost, places);
            values.sort_unstable();
            prop_assert_eq!(found, places.map(|place| percentile(&values, lost, place)));
        }

        #[test]
        fn percentiles_never_fall_as_they_rise(values in prop::collection::vec(any::<i64>(), 1..200), lost in 0_u64..50) {
            let statistics = DelayStatistics::from_delays(values.into_iter().map(Delay).collect(), lost).unwrap();
            // None is a loss, later than anything.
            let late = |delay: Option<Delay>| delay.map_or(i128::MAX, |delay| i128::from(delay.0));
            let rising = [statistics.min, statistics.p50, statistics.p90, statistics.p95, statistics.p99].map(late);
            prop_assert!(rising.is_sorted(), "{:?}", rising);
        }
    }
}

//! Two samples by the ranks of their values: whether one lies higher (Mann and Whitney 1947), and by how much (Hodges and
//! Lehmann 1963).
//!
//! Of a run that is repeated nothing is known of how its figures are spread, so nothing is taken for granted but that
//! repetitions are independent. Values may be infinite: a percentile that falls on a loss is the highest rank.

use super::block_bootstrap::ConfidenceInterval;

/// Up to so many values in both samples all ways to share out the ranks are counted; beyond, the normal approximation.
const EXACT: usize = 60;
/// Outside of an interval, on either side.
const TAIL: f64 = 0.025;
/// Standard normal deviate of it.
const DEVIATE: f64 = 1.959_964;

/// Whether one sample lies higher than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankTest {
    /// Pairs in which the second sample's value is the higher; a tie is half a pair.
    pub(crate) u: f64,
    /// How likely samples that do not differ would be shared out at least as unevenly, two-sided: exact and with the ties
    /// as they are, or beyond 60 values by the normal approximation with its corrections for ties and continuity.
    pub(crate) p: f64,
}

/// By how much one sample lies higher than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    /// Median of the differences of all pairs, second less first.
    pub(crate) estimate: f64,
    /// The range of all those differences.
    pub(crate) range: ConfidenceInterval,
    /// Its interval of at least 95 %; `None` with too few values.
    pub(crate) interval: Option<ConfidenceInterval>,
}

/// The test of Mann and Whitney; `None` when a sample is empty or contains NaN.
pub(crate) fn mann_whitney(first: &[f64], second: &[f64]) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let (n, m) = (first.len(), second.len());
    let mut all: Vec<f64> = first.iter().chain(second).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    // Twice the rank, so that ranks shared by ties are whole numbers.
    let twice = |value: f64| {
        let below = all.partition_point(|other| *other < value);
        below + all.partition_point(|other| *other <= value) + 1
    };
    let sum: usize = second.iter().map(|value| twice(*value)).sum();
    let (found, least) = (sum as f64, (m * (m + 1)) as f64);
    let expected = (m * (n + m + 1)) as f64;
    let distance = (found - expected).abs();
    let p = if n + m <= EXACT {
        let ways = rank_sums(&all.iter().map(|value| twice(*value)).collect::<Vec<_>>(), m);
        let extreme = ways.iter().enumerate().filter(|(sum, _)| (*sum as f64 - expected).abs() >= distance - 1e-9);
        extreme.map(|(_, ways)| ways).sum::<f64>() / ways.iter().sum::<f64>()
    } else {
        // In units of half ranks: twice the deviation, four times the variance.
        let (n, m, total) = (n as f64, m as f64, (n + m) as f64);
        let ties: f64 = all.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|tied| cubed(tied.len())).sum();
        let variance = n * m / 3.0 * (total + 1.0 - ties / (total * (total - 1.0)));
        if variance > 0.0 { two_sided((distance - 1.0).max(0.0) / variance.sqrt()) } else { 1.0 }
    };
    Some(RankTest { u: (found - least) / 2.0, p: p.min(1.0) })
}

fn cubed(count: usize) -> f64 {
    let count = count as f64;
    count.powi(3) - count
}

/// Probability that a standard normal value is at least so far from 0 (Abramowitz and Stegun 26.2.17, to 1e-7).
fn two_sided(deviate: f64) -> f64 {
    (2.0 * super::block_bootstrap::normal_tail(deviate)).min(1.0)
}

/// In how many ways so many of these ranks have each sum.
fn rank_sums(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for count in (1..=chosen.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            for (sum, ways) in more[0].iter_mut().enumerate().skip(*rank) {
                *ways += fewer[count - 1][sum - rank];
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// The shift of Hodges and Lehmann, second less first; `None` when a sample is empty, or two values are lost in both so
/// that their difference is not known.
pub(crate) fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<Shift> {
    let mut differences: Vec<f64> = second.iter().flat_map(|b| first.iter().map(move |a| b - a)).collect();
    if differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let last = differences.len().checked_sub(1)?;
    let (low, high) = (differences[last / 2], differences[last.div_ceil(2)]);
    // The mean of two infinite values of one sign is that value; of opposite ones none exists.
    let estimate = if last.is_multiple_of(2) { low } else { low / 2.0 + high / 2.0 };
    let outside = left_out(first.len(), second.len());
    Some(Shift {
        estimate,
        range: ConfidenceInterval { low: differences[0], high: differences[last] },
        interval: outside
            .map(|outside| ConfidenceInterval { low: differences[outside], high: differences[last - outside] }),
    })
}

/// How many of the differences, sorted, lie outside of the interval at either end; `None` when even all of them are no
/// interval of 95 %.
fn left_out(n: usize, m: usize) -> Option<usize> {
    if n + m > EXACT {
        let (n, m) = (n as f64, m as f64);
        let rank = (n * m / 2.0 - DEVIATE * (n * m * (n + m + 1.0) / 12.0).sqrt()).floor();
        return (rank >= 1.0).then_some(rank as usize - 1);
    }
    let ways = rank_sums(&(1..=n + m).collect::<Vec<_>>(), m);
    let all: f64 = ways.iter().sum();
    // The smallest sum of ranks stands for U = 0.
    let mut below = 0.0;
    let outside = ways.iter().skip(m * (m + 1) / 2).take_while(|ways| {
        below += **ways / all;
        below <= TAIL
    });
    outside.count().checked_sub(1)
}

/// Whether samples of these sizes have an interval of 95 % at all: four and four, or three and five, are the least.
pub(crate) fn enough(first: usize, second: usize) -> bool {
    first > 0 && second > 0 && left_out(first, second).is_some()
}

#[cfg(test)]
#[path = "mann_whitney_tests.rs"]
mod tests;

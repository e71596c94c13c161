//! From where to where the median of independent figures lies: an interval by ranks, whatever their distribution.

use super::block_bootstrap::ConfidenceInterval;

/// How unlikely it may be, on both sides together, that the median lies outside.
const OUTSIDE: f64 = 0.05;
/// Beyond so many figures the binomial distribution is taken for normal.
const MANY: usize = 500;

/// The interval that contains the median with at least 95 % confidence (sign test; Conover 1999, section 3.2).
///
/// Each figure is above the median with probability one half, so the rank of the median among n is binomial. `None` of
/// fewer than six, from which no interval can be that sure. Infinite figures may be among them, not-a-number may not.
pub fn median_interval(figures: &[f64]) -> Option<ConfidenceInterval> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = ranks_cut(sorted.len())?;
    Some(ConfidenceInterval { low: *sorted.get(cut - 1)?, high: *sorted.get(sorted.len() - cut)? })
}

/// The rank, counted from 1 and from either end, at which the interval of so many figures begins.
fn ranks_cut(n: usize) -> Option<usize> {
    if n > MANY {
        let half = 1.959_964 * (n as f64).sqrt() / 2.0;
        return Some(((n as f64 / 2.0 - half).floor() as usize).max(1));
    }
    // The chance of at most k figures below the median.
    let mut chance = 0.5_f64.powi(i32::try_from(n).ok()?);
    let (mut cumulative, mut cut) = (0.0, 0);
    for k in 0..n {
        cumulative += chance;
        if 2.0 * cumulative > OUTSIDE {
            break;
        }
        cut = k + 1;
        chance *= (n - k) as f64 / (k + 1) as f64;
    }
    (cut > 0).then_some(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_with_the_table_of_the_sign_test() {
        // Critical values of the binomial with p = 1/2, two-sided 5 %: n = 6 cuts nothing but the ends (2/64 = 3.1 %),
        // n = 9 the first (2 * 10/512 = 3.9 %), n = 20 the fifth (2 * 0.0207), n = 5 has none (2/32 = 6.25 %).
        for (n, cut) in
            [(5, None), (6, Some(1)), (8, Some(1)), (9, Some(2)), (12, Some(3)), (20, Some(6)), (25, Some(8))]
        {
            assert_eq!(ranks_cut(n), cut, "{n}");
        }
        assert!(ranks_cut(500).unwrap().abs_diff(ranks_cut(501).unwrap()) <= 1, "both ways of counting agree");
    }

    #[test]
    fn the_interval_of_six_is_from_the_lowest_to_the_highest() {
        let six = [4.0, 1.0, f64::INFINITY, 3.0, 2.0, 5.0];
        assert_eq!(median_interval(&six), Some(ConfidenceInterval { low: 1.0, high: f64::INFINITY }));
        assert_eq!(median_interval(&six[..5]), None);
    }
}

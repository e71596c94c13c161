//! Whether a series has a trend (Mann 1945, Kendall 1975).

use crate::statistics::median::median;

/// A trend, or its absence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trend {
    /// How likely a series without trend would look at least as much like one: two-sided p of the normal approximation,
    /// with Kendall's correction for ties and continuity.
    pub(crate) p: f64,
    /// Median of the slopes between all pairs of values, in units of one step (Sen 1968).
    pub(crate) slope: f64,
}

/// Fewest values for which the normal approximation serves (Gilbert 1987, section 16.4).
const FEWEST: usize = 10;
/// Most values that are looked at, evenly chosen: pairs grow with the square.
const MOST: usize = 1000;

/// The test of Mann and Kendall; `None` of fewer than ten values.
///
/// The values should be independent: give it medians of blocks that are longer than the correlation between adjacent
/// values.
pub(crate) fn mann_kendall(values: &[f64]) -> Option<Trend> {
    if values.len() < FEWEST {
        return None;
    }
    let step = values.len().div_ceil(MOST);
    let values: Vec<f64> = values.iter().copied().step_by(step).collect();
    let mut score = 0_i64;
    let mut slopes = Vec::new();
    for (index, earlier) in values.iter().enumerate() {
        for (distance, later) in values[index + 1..].iter().enumerate() {
            score += later.partial_cmp(earlier).map_or(0, |order| order as i64);
            slopes.push((later - earlier) / ((distance + 1) * step) as f64);
        }
    }
    let spread = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let tied: f64 = ties(&values).into_iter().map(|count| spread(count as f64)).sum();
    let variance = (spread(values.len() as f64) - tied) / 18.0;
    // One step of the score is two pairs; half of it is the correction for continuity.
    let distance = (score.abs() - 1).max(0) as f64;
    let p = if variance > 0.0 { complementary_error_function(distance / (2.0 * variance).sqrt()) } else { 1.0 };
    Some(Trend { p, slope: median(&slopes) })
}

/// How many values are the same, for each value.
fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(<[f64]>::len).collect()
}

/// Of an argument that is not negative, within 1.5e-7 (Abramowitz and Stegun 7.1.26).
fn complementary_error_function(x: f64) -> f64 {
    const FACTORS: [f64; 5] = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = FACTORS.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(values: &[f64]) -> Trend {
        mann_kendall(values).unwrap()
    }

    #[test]
    fn it_agrees_with_the_statistic_worked_by_hand() {
        // S = 45 of 45 pairs, variance 10*9*25/18 = 125, z = 44/sqrt(125) = 3.9355, p = 8.3e-5.
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((trend(&rising).p - 8.303e-5).abs() < 1e-6, "{:?}", trend(&rising));
        assert!((trend(&rising).slope - 1.0).abs() < 1e-12);
        // Two ties of two: variance (2250 - 2*18)/18 = 123; S = 43, z = 42/sqrt(123) = 3.7870, p = 1.525e-4.
        let tied = [0.0, 1.0, 1.0, 3.0, 4.0, 5.0, 6.0, 6.0, 8.0, 9.0];
        assert!((trend(&tied).p - 1.525e-4).abs() < 1e-6, "{:?}", trend(&tied));
    }

    #[test]
    fn what_has_no_trend_has_a_large_p() {
        let wavering: Vec<f64> = (0..40).map(|index| f64::from(index * 17 % 40)).collect();
        assert!(trend(&wavering).p > 0.05, "{:?}", trend(&wavering));
        assert!((trend(&[7.0; 20]).p - 1.0).abs() < 1e-12);
        assert_eq!(mann_kendall(&[1.0; 9]), None);
    }

    #[test]
    fn the_tail_of_the_normal_distribution_is_that_of_the_tables() {
        for (z, two_sided) in [(0.0, 1.0), (1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            let p = complementary_error_function(z / std::f64::consts::SQRT_2);
            assert!((p - two_sided).abs() < 1e-6, "{z}: {p}");
        }
    }

    #[test]
    fn a_long_series_is_looked_at_in_part() {
        let rising: Vec<f64> = (0..50_000).map(f64::from).collect();
        let found = trend(&rising);
        assert!(found.p < 1e-6 && (found.slope - 1.0).abs() < 1e-9, "{found:?}");
    }
}

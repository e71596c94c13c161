//! How long a series remembers: its integrated autocorrelation time.
//!
//! n samples of a series that remembers for τ of them are worth n/τ independent ones.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use super::time_bins::TimeBins;

/// Bins in which the memory of a queue is looked for.
const MEMORY_BIN: Duration = Duration::from_millis(100);
/// Longest lag that is looked at, as a part of the series.
const LONGEST_LAG: usize = 3;

/// The integrated autocorrelation time of an evenly spaced series, in samples: 1 + 2 Σ ρ(k), at least 1.
///
/// Summed over pairs of lags while their sum is positive (initial positive sequence, Geyer 1992): beyond that the
/// estimates are noise. A constant or very short series gives 1.
pub(crate) fn memory(series: &[f64]) -> f64 {
    let n = series.len();
    if n < 4 {
        return 1.0;
    }
    let mean = series.iter().sum::<f64>() / n as f64;
    let centred: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    let variance = covariance(0);
    if variance <= 0.0 || !variance.is_finite() {
        return 1.0;
    }
    let mut sum = 0.0;
    for lag in (0..n / LONGEST_LAG).step_by(2) {
        let pair = (covariance(lag) + covariance(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        sum += pair;
    }
    (2.0 * sum - 1.0).max(1.0)
}

/// For how long delays remember, from means over short bins; a bin in which all was lost is left out.
pub(crate) fn memory_of_delays(points: impl Iterator<Item = (TestTime, Option<Delay>)>, window: Window) -> Duration {
    let bins = TimeBins::covering(window, MEMORY_BIN);
    let mut sums = vec![(0.0, 0_u32); bins.len()];
    for (at, delay) in points.filter(|(at, _)| window.contains(*at)) {
        let index = bins.within(Window { from: at, to: at + Duration::from_nanos(1) }).start;
        if let (Some((sum, count)), Some(delay)) = (sums.get_mut(index), delay) {
            *sum += delay.0 as f64;
            *count += 1;
        }
    }
    let means: Vec<f64> =
        sums.into_iter().filter(|(_, count)| *count > 0).map(|(sum, count)| sum / f64::from(count)).collect();
    MEMORY_BIN.mul_f64(memory(&means))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve uniform deviates of a linear congruential generator (Knuth, MMIX) make one that is nearly normal.
    fn noise(state: &mut u64) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform(state)).sum::<f64>() - 6.0
    }

    #[test]
    fn an_autoregressive_series_remembers_as_long_as_theory_says() {
        // AR(1): τ = (1 + c) / (1 - c).
        for (coefficient, truth) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0), (0.97, 65.7)] {
            let (mut state, mut value) = (7, 0.0);
            let series: Vec<f64> = (0..100_000)
                .map(|_| {
                    value = coefficient * value + noise(&mut state);
                    value
                })
                .collect();
            let found = memory(&series);
            assert!((found / truth - 1.0).abs() < 0.15, "coefficient {coefficient}: {found} samples, truth {truth}");
        }
    }

    #[test]
    fn what_does_not_vary_or_alternates_has_no_memory() {
        for series in [vec![], vec![1.0], vec![5.0; 100], (0..100).map(|n| f64::from(n % 2)).collect()] {
            assert!((memory(&series) - 1.0).abs() < 1e-9, "{series:?}");
        }
        assert!((memory(&[f64::NAN; 10]) - 1.0).abs() < 1e-9);
    }
}

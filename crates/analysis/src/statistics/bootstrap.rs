//! Confidence intervals for samples of independent units by the bootstrap (Efron 1979).
//!
//! A page load is one unit: it begins cold, after the one before has ended, and what happens within it is no sample of
//! anything. Units are few, and the plain percentile interval is too narrow for few; its tails are widened as Student's t
//! is wider than the normal distribution (Hesterberg 2014, "expanded percentile"), as for
//! [blocks of time](super::block_bootstrap).

use rrul_model::random::Random;

use super::block_bootstrap::{ConfidenceInterval, SEED, interval_of};

/// Resamples of one interval.
const RESAMPLES: usize = 2000;
/// From fewer units nothing can be concluded.
pub(crate) const FEWEST: usize = 3;

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample (n - 1); `None` of fewer than two.
pub(crate) fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The 95 % interval of a statistic of several samples that were drawn independently of each other.
///
/// The same samples give the same interval. `None` when one of them has fewer than three units, and when the statistic
/// is not a number.
pub(crate) fn interval(samples: &[&[f64]], statistic: impl Fn(&[Vec<f64>]) -> f64) -> Option<ConfidenceInterval> {
    let values = replicates(samples, SEED, statistic)?;
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    interval_of(values, samples.iter().map(|sample| sample.len()).min()?)
}

/// What a statistic is in each resample, which draws from every sample as many units as it has, with replacement.
///
/// `None` when one of the samples has fewer than three units.
pub(crate) fn replicates(samples: &[&[f64]], seed: u64, statistic: impl Fn(&[Vec<f64>]) -> f64) -> Option<Vec<f64>> {
    if samples.iter().map(|sample| sample.len()).min()? < FEWEST {
        return None;
    }
    let mut random = Random(seed);
    let mut drawn: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for (drawn, sample) in drawn.iter_mut().zip(samples) {
            for value in drawn {
                *value = sample[random.below(sample.len())];
            }
        }
        values.push(statistic(&drawn));
    }
    Some(values)
}

/// The 95 % interval of a mean.
pub(crate) fn interval_of_mean(values: &[f64]) -> Option<ConfidenceInterval> {
    interval(&[values], |drawn| mean(&drawn[0]).unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_agree_with_values_worked_by_hand() {
        assert_eq!((mean(&[]), standard_deviation(&[1.0])), (None, None));
        assert_eq!(mean(&[2.0, 4.0, 9.0]), Some(5.0));
        // Squares 9 + 1 + 16 over 2.
        assert_eq!(standard_deviation(&[2.0, 4.0, 9.0]), Some(13.0_f64.sqrt()));
    }

    #[test]
    fn two_units_have_no_interval_and_equal_ones_an_empty_one() {
        assert_eq!(interval_of_mean(&[1.0, 2.0]), None);
        assert_eq!(interval_of_mean(&[3.0; 5]), Some(ConfidenceInterval { low: 3.0, high: 3.0 }));
    }

    #[test]
    fn nineteen_in_twenty_intervals_of_ten_loads_hold_the_mean() {
        let mut random = Random(7);
        // Uniform from 0 to 1, so the mean is 0.5.
        let mut draw = || random.below(1_000_000) as f64 / 1e6;
        let hits = (0..400).filter(|_| {
            let sample: Vec<f64> = (0..10).map(|_| draw()).collect();
            interval_of_mean(&sample).is_some_and(|interval| interval.contains(0.5))
        });
        let hits = hits.count();
        // 95 % of 400 is 380; four standard deviations of chance are 17.
        assert!((363..=397).contains(&hits), "{hits} of 400");
    }

    #[test]
    fn samples_are_drawn_apart() {
        // The quotient of two constants is one whatever is drawn; of two spread samples it is not.
        let quotient = |drawn: &[Vec<f64>]| mean(&drawn[0]).unwrap() / mean(&drawn[1]).unwrap();
        let same = interval(&[&[4.0; 6], &[4.0; 3]], quotient).unwrap();
        assert_eq!((same.low, same.high), (1.0, 1.0));
        let spread: Vec<f64> = (1..=12).map(f64::from).collect();
        let apart = interval(&[&spread, &spread], quotient).unwrap();
        assert!(apart.low < 0.8 && apart.high > 1.25, "{apart:?}");
    }
}

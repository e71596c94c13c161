//! By how much one side lies above the other, and how sure that is.

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::Figure;
use super::figures::Resamples;
use crate::statistics::block_bootstrap::{ConfidenceInterval, widened_interval_of};
use crate::statistics::mann_whitney::{enough, hodges_lehmann};

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// One run each: other stretches of the same two runs. Says nothing of what another run would give.
    OneRun,
    /// Too few runs for a rank test: the widest that resamples of the runs and any two of them give. Of these runs only.
    FewRuns,
    /// Repetitions: Hodges and Lehmann's interval of the shift, with the test of Mann and Whitney.
    Ranks,
}

impl Basis {
    /// What so many runs on each side allow; `None` without any on one side.
    pub(crate) fn new(first: usize, second: usize) -> Option<Self> {
        match (first, second) {
            (0, _) | (_, 0) => None,
            (1, 1) => Some(Self::OneRun),
            _ if enough(first, second) => Some(Self::Ranks),
            _ => Some(Self::FewRuns),
        }
    }
}

/// One figure of the runs of one group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    pub(crate) values: Vec<f64>,
    /// The mean over the runs in each resample, as sure as that of the least sure of them.
    resamples: Option<Resamples>,
}

impl Side {
    pub(crate) fn new(figures: &[&Figure]) -> Self {
        let resamples = figures.iter().map(|figure| figure.resamples.as_ref()).collect::<Option<Vec<_>>>();
        let resamples = resamples.and_then(|runs| {
            let pieces = runs.iter().map(|run| run.pieces).min()?;
            let widening = runs.iter().map(|run| run.widening).fold(1.0, f64::max);
            let length = runs.iter().map(|run| run.values.len()).min()?;
            let mean = |at: usize| runs.iter().map(|run| run.values[at]).sum::<f64>() / runs.len() as f64;
            Some(Resamples { values: (0..length).map(mean).collect(), pieces, widening })
        });
        Self { values: figures.iter().map(|figure| figure.value).collect(), resamples }
    }

    /// The same on another scale.
    pub(crate) fn map(&self, scale: impl Fn(f64) -> f64) -> Self {
        let all = |values: &[f64]| values.iter().map(|value| scale(*value)).collect::<Vec<f64>>();
        Self {
            values: all(&self.values),
            resamples: self.resamples.as_ref().map(|own| Resamples { values: all(&own.values), ..*own }),
        }
    }

    /// The median of its runs, the mean of the two in the middle of an even number.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let (low, high) = (sorted[last / 2], sorted[last.div_ceil(2)]);
        Some(if last.is_multiple_of(2) { low } else { low / 2.0 + high / 2.0 })
    }
}

/// A difference, second less first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) estimate: f64,
    /// `None` where the runs are inconclusive.
    pub(crate) interval: Option<ConfidenceInterval>,
}

impl Span {
    /// `None` when the difference is not known: lost on both sides.
    pub(crate) fn between(first: &Side, second: &Side, basis: Basis) -> Option<Self> {
        let shift = hodges_lehmann(&first.values, &second.values).filter(|shift| !shift.estimate.is_nan())?;
        let resampled = || {
            let (a, b) = first.resamples.as_ref().zip(second.resamples.as_ref())?;
            let differences = a.values.iter().zip(&b.values).map(|(a, b)| b - a).collect();
            widened_interval_of(differences, a.pieces.min(b.pieces), a.widening.max(b.widening))
        };
        let interval = match basis {
            Basis::OneRun => resampled().map(|interval| reaching(interval, shift.estimate, shift.estimate)),
            Basis::FewRuns => resampled().map(|interval| reaching(interval, shift.range.low, shift.range.high)),
            Basis::Ranks => shift.interval,
        };
        Some(Self { estimate: shift.estimate, interval })
    }
}

/// The interval, as wide as it must be to hold these as well.
fn reaching(interval: ConfidenceInterval, low: f64, high: f64) -> ConfidenceInterval {
    ConfidenceInterval { low: interval.low.min(low), high: interval.high.max(high) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs of these values; resamples of each are spread evenly about it.
    fn side(values: &[f64], spread: f64) -> Side {
        let figure = |value: &f64| Figure {
            value: *value,
            resamples: Some(Resamples {
                values: (0..200_u32).map(|step| value + spread * f64::from(step * 7919 % 200) / 200.0).collect(),
                pieces: 12,
                widening: 1.0,
            }),
            unseen: 0.0,
            parts: String::new(),
        };
        let figures: Vec<Figure> = values.iter().map(figure).collect();
        Side::new(&figures.iter().collect::<Vec<_>>())
    }

    fn basis(first: &Side, second: &Side) -> Basis {
        Basis::new(first.values.len(), second.values.len()).unwrap()
    }

    #[test]
    fn more_runs_allow_more() {
        let cases =
            [((1, 1), Basis::OneRun), ((1, 2), Basis::FewRuns), ((3, 3), Basis::FewRuns), ((4, 4), Basis::Ranks)];
        for ((first, second), basis) in cases {
            assert_eq!(Basis::new(first, second), Some(basis));
        }
        assert_eq!(Basis::new(0, 9), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        assert_eq!(side(&[4.0, 1.0, 2.0, 9.0], 0.0).median(), Some(3.0));
        assert_eq!(side(&[], 0.0).median(), None);
    }

    proptest! {
        #[test]
        fn units_change_nothing_but_the_unit(
            first in prop::collection::vec(1.0_f64..100.0, 1..7), second in prop::collection::vec(1.0_f64..100.0, 1..7),
            spread in 0.0_f64..20.0, power in -20_i32..20
        ) {
            let (first, second) = (side(&first, spread), side(&second, spread));
            // A power of two, so that nothing is rounded on the way.
            let scale = 2.0_f64.powi(power);
            let scaled = |side: &Side| side.map(|value| value * scale);
            let basis = basis(&first, &second);
            let found = Span::between(&first, &second, basis).unwrap();
            let other = Span::between(&scaled(&first), &scaled(&second), basis).unwrap();
            let ends = |span: Span, scale: f64| {
                let interval = span.interval.unwrap();
                [span.estimate, interval.low, interval.high].map(|value| value * scale)
            };
            let bits = |ends: [f64; 3]| ends.map(f64::to_bits);
            prop_assert_eq!(bits(ends(found, scale)), bits(ends(other, 1.0)));
            // A ratio has no unit.
            let logarithm = |side: &Side| side.map(f64::ln);
            let ratio = Span::between(&logarithm(&first), &logarithm(&second), basis).unwrap();
            let of_scaled =
                Span::between(&logarithm(&scaled(&first)), &logarithm(&scaled(&second)), basis).unwrap();
            for (one, other) in ends(ratio, 1.0).into_iter().zip(ends(of_scaled, 1.0)) {
                prop_assert!((one - other).abs() < 1e-9);
            }
        }

        #[test]
        fn what_is_estimated_lies_within_its_interval(
            first in prop::collection::vec(1.0_f64..100.0, 1..9), second in prop::collection::vec(1.0_f64..100.0, 1..9)
        ) {
            let (first, second) = (side(&first, 3.0), side(&second, 1.0));
            let found = Span::between(&first, &second, basis(&first, &second)).unwrap();
            prop_assert!(found.interval.unwrap().contains(found.estimate), "{:?}", found);
        }
    }
}

//! One figure of two groups of runs: by how much they differ, how sure that is, and what it amounts to.

use schemars::JsonSchema;
use serde::Serialize;

use super::figures::Figure;
use super::finding::Finding;
use super::metric::{Better, ComparedMetric, Quantity};
use super::run::ComparedRun;
use super::span::{Basis, Side, Span};
use crate::statistics::block_bootstrap::ConfidenceInterval;
use crate::statistics::mann_whitney::mann_whitney;

/// The level of tests.
pub(crate) const LEVEL: f64 = 0.05;

/// How two groups differ in one figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Name of the figure.
    pub metric: ComparedMetric,
    /// The unit of figures, differences and margin.
    #[schemars(extend("enum" = Quantity::UNITS))]
    pub unit: &'static str,
    /// The direction that is better.
    pub better: Better,
    /// Runs of the reference in which it was measured.
    pub reference_runs: u64,
    /// Runs of the other group in which it was.
    pub other_runs: u64,
    /// Median of the reference's runs; null where it was not measured or falls on a loss.
    pub reference: Option<f64>,
    /// Median of the other group's runs, null likewise.
    pub other: Option<f64>,
    /// Other less reference: of single runs their difference, of several the median of all pairs' (Hodges and Lehmann).
    pub difference: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ci95_low: Option<f64>,
    /// Upper end.
    pub ci95_high: Option<f64>,
    /// The least difference that matters here.
    pub margin: Option<f64>,
    /// How many times better the other is.
    pub factor: Option<Factor>,
    /// What the interval rests on.
    pub basis: Option<Basis>,
    /// Probability that equal groups differ as much, by Mann and Whitney's test; null without enough runs.
    ///
    /// Unit: 0 to 1.
    pub p: Option<f64>,
    /// The same among all figures of this pair of groups (Holm).
    ///
    /// Unit: 0 to 1.
    pub p_holm: Option<f64>,
    /// What it amounts to.
    pub verdict: Finding,
    /// Why the verdict is no better.
    pub why: Option<Why>,
}

/// Why no verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Neither side has it.
    Nowhere,
    /// One side does not have it.
    OneSide,
    /// The runs measured different parts: other pages, families or parts of the composite.
    OtherParts,
    /// It falls on lost packets on both sides.
    BothLost,
    /// It does not follow from these runs how sure it is: repetitions do.
    NoInterval,
    /// The interval allows what matters and what does not, or both directions.
    TooWide,
}

/// How many times better one side is; below 1 it is worse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Factor {
    /// How many times better the other is: reference over other where lower is better, other over reference elsewhere. Below 1
    /// it is worse.
    ///
    /// Unit: factor.
    pub value: f64,
    /// Lower end of its 95 % interval.
    ///
    /// Unit: factor.
    pub ci95_low: Option<f64>,
    /// Upper end.
    ///
    /// Unit: factor.
    pub ci95_high: Option<f64>,
    /// A value that cannot be distinguished from zero counts as the smallest that can, and the factor is a bound.
    pub bound: Option<Bound>,
}

/// How a factor is a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It is at least this: the divisor cannot be distinguished from zero.
    AtLeast,
    /// It is at most this: the dividend cannot be distinguished from zero.
    AtMost,
    /// Neither side can be distinguished from zero.
    BothNone,
}

impl Difference {
    /// Compares the runs of two groups.
    pub(crate) fn new(metric: ComparedMetric, reference: &[&ComparedRun], other: &[&ComparedRun]) -> Self {
        let (first, second) = (measured(metric, reference), measured(metric, other));
        let quantity = metric.quantity();
        let mut found = Self {
            metric,
            unit: quantity.unit(),
            better: metric.better(),
            reference_runs: first.len() as u64,
            other_runs: second.len() as u64,
            reference: None,
            other: None,
            difference: None,
            ci95_low: None,
            ci95_high: None,
            margin: None,
            factor: None,
            basis: None,
            p: None,
            p_holm: None,
            verdict: Finding::NotMeasured,
            why: None,
        };
        let (own, others) = (Side::new(&first), Side::new(&second));
        (found.reference, found.other) = (own.median(), others.median());
        let (Some(reference_median), Some(other_median)) = (found.reference, found.other) else {
            found.why = Some(if first.is_empty() && second.is_empty() { Why::Nowhere } else { Why::OneSide });
            return found;
        };
        if first.iter().chain(&second).any(|figure| figure.parts != first[0].parts) {
            found.why = Some(Why::OtherParts);
            return found;
        }
        found.verdict = Finding::Inconclusive;
        let margin = metric.margin().between(reference_median, other_median);
        found.margin = Some(margin);
        found.basis = Basis::new(first.len(), second.len());
        let Some((basis, span)) = found.basis.and_then(|basis| Some((basis, Span::between(&own, &others, basis)?)))
        else {
            found.why = Some(Why::BothLost);
            return found;
        };
        // A run against itself differs by nothing, whatever its resamples say.
        let itself = matches!((reference, other), ([a], [b]) if a.fingerprint == b.fingerprint);
        let nothing = ConfidenceInterval { low: 0.0, high: 0.0 };
        let widened = |interval: ConfidenceInterval| ConfidenceInterval {
            low: interval.low - unseen(&first),
            high: interval.high + unseen(&second),
        };
        let interval = if itself { Some(nothing) } else { span.interval.map(widened) };
        found.difference = Some(span.estimate);
        found.factor = quantity.has_factor().then(|| factor(metric, &own, &others, basis, itself)).flatten();
        if basis == Basis::Ranks {
            found.p = mann_whitney(&own.values, &others.values).map(|test| test.p);
        }
        let Some(interval) = interval else {
            found.why = Some(Why::NoInterval);
            return found;
        };
        (found.ci95_low, found.ci95_high) = (Some(interval.low), Some(interval.high));
        found.verdict = Finding::judge(span.estimate, interval, margin, found.better);
        // With ties the interval and the test may part; what is claimed has both behind it.
        if found.p.is_some_and(|p| p > LEVEL) && matches!(found.verdict, Finding::Better | Finding::Worse) {
            found.verdict = Finding::Inconclusive;
        }
        found.why = (found.verdict == Finding::Inconclusive).then_some(Why::TooWide);
        found
    }
}

fn measured<'r>(metric: ComparedMetric, runs: &[&'r ComparedRun]) -> Vec<&'r Figure> {
    runs.iter().filter_map(|run| run.figures.get(&metric)).collect()
}

/// How much more than was seen a group's figure may be: the runs together saw so many more.
fn unseen(figures: &[&Figure]) -> f64 {
    let runs = figures.len().max(1) as f64;
    figures.iter().map(|figure| figure.unseen).sum::<f64>() / (runs * runs)
}

fn factor(metric: ComparedMetric, own: &Side, others: &Side, basis: Basis, itself: bool) -> Option<Factor> {
    let floor = metric.quantity().floor();
    let known = own.values.iter().chain(&others.values).all(|value| value.is_finite());
    let logarithm = |value: f64| value.max(floor).ln();
    let (own_scale, other_scale) = (own.map(logarithm), others.map(logarithm));
    let span = match metric.better() {
        Better::Lower => Span::between(&other_scale, &own_scale, basis),
        Better::Higher => Span::between(&own_scale, &other_scale, basis),
    };
    let span = span.filter(|_| known)?;
    let none = |side: &Side| side.median().is_some_and(|median| median < floor);
    let bound = match (none(own), none(others)) {
        (false, false) => None,
        (true, true) => Some(Bound::BothNone),
        (own_is_none, _) => {
            let divisor_is_none = own_is_none == (metric.better() == Better::Higher);
            Some(if divisor_is_none { Bound::AtLeast } else { Bound::AtMost })
        }
    };
    let end = |pick: fn(ConfidenceInterval) -> f64| {
        if itself { Some(1.0) } else { span.interval.map(|interval| pick(interval).exp()) }
    };
    Some(Factor {
        value: span.estimate.exp(),
        ci95_low: end(|interval| interval.low),
        ci95_high: end(|interval| interval.high),
        bound,
    })
}

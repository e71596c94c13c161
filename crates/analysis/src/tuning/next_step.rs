//! The next step of a tuning session: what it sets, how long it settles and measures.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningPlan};
use rrul_model::units::ByteCount;

use crate::tuning::trial::Trial;

/// The next setting of the shaper.
#[derive(Debug, Clone, PartialEq)]
pub struct NextStep {
    pub purpose: StepPurpose,
    /// The direction that is judged; `None` for both.
    pub direction: Option<Direction>,
    /// What to set before, until queues have drained; `None` where none is to be expected.
    pub flush: Option<Flush>,
    pub rates: ShaperRates,
    /// From when the shaper is set until the measured window begins.
    pub settle: Duration,
    /// How long the measured window is.
    pub measure: Duration,
}

impl NextStep {
    pub(crate) fn new(purpose: StepPurpose, direction: Option<Direction>, rates: ShaperRates, times: Times) -> Self {
        Self { purpose, direction, flush: None, rates, settle: times.settle, measure: times.measure }
    }

    /// How long the step takes, the flush before it included.
    pub(crate) fn length(&self) -> Duration {
        self.flush.map_or(Duration::ZERO, |flush| flush.hold) + self.settle + self.measure
    }
}

/// A setting that drains the line's queues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flush {
    pub rates: ShaperRates,
    /// How long it is held.
    pub hold: Duration,
}

/// How long a step settles and measures.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) settle: Duration,
    pub(crate) measure: Duration,
}

impl Times {
    pub(crate) const fn seconds(settle: u64, measure: u64) -> Self {
        Self { settle: Duration::from_secs(settle), measure: Duration::from_secs(measure) }
    }
}

/// Whether a step would take more data than the session may, after so many bytes, at the rates of the last trial.
pub fn exceeds_data(plan: &TuningPlan, trials: &[Trial], data: ByteCount, next: &NextStep) -> bool {
    let Some(most) = plan.most_data else { return false };
    let rate = trials.last().map_or(0, |trial| {
        let rates = [trial.directions.up.delivered, trial.directions.down.delivered];
        rates.iter().flatten().map(|rate| rate.0).sum::<u64>()
    });
    data.0 as f64 + rate as f64 / 8.0 * next.length().as_secs_f64() >= most.0 as f64
}

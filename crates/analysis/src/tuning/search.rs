//! What a tuning session does next.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningPlan};

use crate::tuning::trial::Trial;

/// What a tuning session does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Set the shaper, wait, measure.
    Step(NextStep),
    /// End the load. [`TuningResult`](crate::tuning::result::TuningResult) is the outcome.
    Finish,
}

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

/// A setting that drains the line's queues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flush {
    pub rates: ShaperRates,
    /// How long it is held.
    pub hold: Duration,
}

/// Returns what to do after these trials, which are all of the session so far.
///
/// The time that has passed is that of the steps, so the same trials give the same action.
pub fn next_action(plan: &TuningPlan, trials: &[Trial]) -> Action {
    let next = plan.fixed.get(trials.len()).map(|rates| NextStep {
        purpose: StepPurpose::Fixed,
        direction: None,
        flush: None,
        rates: *rates,
        settle: Duration::from_secs(2),
        measure: Duration::from_secs(8),
    });
    next.map_or(Action::Finish, Action::Step)
}

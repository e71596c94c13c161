//! A line that may be policed: it loses segments and has no standing queue.
//!
//! A line without a standing queue whose load loses segments is policed, or managed by a queue discipline that drops. In a queue
//! discipline the load itself waits, as it does in a shaper a little below the line; behind a policer it does not wait at all.

use rrul_model::flow::Direction;
use rrul_model::shaping::StepPurpose;

use crate::tuning::limit;
use crate::tuning::session::{Session, with_others};
use crate::tuning::trial::Trial;

/// Segments lost beyond what happens on any line.
const RETRANSMITTED: f64 = 0.01;
/// The shaper is set to this part of what the line delivered, to compare how the load waits in it.
pub(crate) const HELD_PART: f64 = 0.9;
/// The load of a policed line waits no longer than this part of how long it waits in the shaper.
const HARDLY: f64 = 0.7;
/// Delivered in relation to what was set: with less the shaper does not hold the load.
const HELD: f64 = 0.97;

/// How the load of a line waits that loses segments and has no standing queue, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Suspicion {
    /// Share of the segments that the unshaped line loses.
    pub(crate) loss: f64,
    /// How long the load waits on the unshaped line, while the other direction has no queue.
    pub(crate) unshaped: Option<f64>,
    /// How long it waits in the shaper a little below that.
    pub(crate) held: Option<f64>,
}

impl Suspicion {
    /// `None` where a direction has a standing queue, or loses nothing.
    pub(crate) fn detect(session: &Session<'_>, direction: Direction) -> Option<Self> {
        let last = session.references(direction).last().copied()?;
        let figures = last.directions.get(direction);
        let limit = limit::limit(session.plan, direction, figures.delivered?.0 as f64, session.noise(direction));
        let loss = figures.retransmitted.filter(|loss| *loss > RETRANSMITTED)?;
        if figures.load_delay.is_none() || figures.queueing_delay?.p50.0 as f64 > limit {
            return None;
        }
        let waits = |trial: &Trial| trial.directions.get(direction).load_delay.map(|delay| delay.0 as f64);
        let unshaped = Some(last).filter(|trial| session.is_free(trial, direction.opposite())).and_then(waits);
        let holds = |trial: &&Trial| {
            let set = trial.step.rates.direction(direction).map_or(f64::INFINITY, |set| set.0 as f64);
            let delivered = with_others(trial.directions.get(direction)).unwrap_or(0.0);
            delivered > HELD * set && session.is_free(trial, direction.opposite())
        };
        let held = session.with_purpose(StepPurpose::Search, direction).find(holds).and_then(waits);
        Some(Self { loss, unshaped, held })
    }

    /// Whether the line is policed. `None` while that is open.
    pub(crate) fn is_policer(&self) -> Option<bool> {
        Some(self.unshaped? <= HARDLY * self.held?)
    }
}

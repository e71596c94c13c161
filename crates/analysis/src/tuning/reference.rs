//! What the unshaped line does with a load.

use rrul_model::flow::Direction;
use rrul_model::shaping::TuningPlan;
use rrul_model::units::Delay;

use crate::tuning::limit;
use crate::tuning::trial::{HostLimit, QueueHop, Trial, TrialDirection};

/// Losses of probes, and of segments, beyond what happens on any line.
const LOST: f64 = 0.003;
const RETRANSMITTED: f64 = 0.01;

/// What the unshaped line of one direction does with a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Line {
    /// Nothing arrived, or no probe did.
    NotMeasured,
    /// A host limits the load; what limits it there may be unknown.
    HostLimited(Option<HostLimit>),
    /// The queue is on the client's side of the shaper.
    QueueBefore(QueueHop),
    /// It has a queue, which the shaper may take over.
    Queues,
    /// It has no queue and drops.
    Drops {
        /// Share of probes, or of segments.
        loss: f64,
    },
    /// It has neither: someone manages it already.
    Managed,
}

impl Line {
    /// `noise` is that of the idle line.
    pub(crate) fn in_trial(plan: &TuningPlan, noise: Option<Delay>, direction: Direction, trial: &Trial) -> Self {
        let figures = trial.directions.get(direction);
        let (Some(delivered), Some(delay)) = (figures.delivered.filter(|rate| rate.0 > 0), figures.queueing_delay)
        else {
            return Self::NotMeasured;
        };
        if trial.host_limit.is_some_and(HostLimit::is_decisive) {
            return Self::HostLimited(trial.host_limit);
        }
        let limit = limit::limit(plan, direction, delivered.0 as f64, noise);
        if delay.p95.0 as f64 > limit {
            return match figures.queue_hop.filter(|hop| hop.before_shaper) {
                Some(hop) => Self::QueueBefore(hop),
                None => Self::Queues,
            };
        }
        let processor = matches!(trial.host_limit, Some(HostLimit::ClientProcessor | HostLimit::ServerProcessor));
        if processor || figures.saturated == Some(false) || (figures.saturated.is_none() && trial.host_limit.is_some())
        {
            return Self::HostLimited(trial.host_limit);
        }
        match lost(figures) {
            Some(loss) => Self::Drops { loss },
            None => Self::Managed,
        }
    }

    /// Whether a shaper may do something for it.
    pub(crate) fn needs_shaping(&self) -> bool {
        matches!(self, Self::Queues | Self::Drops { .. })
    }
}

/// The share that is lost, where it is notable.
fn lost(figures: &TrialDirection) -> Option<f64> {
    match (figures.probe_loss, figures.retransmitted) {
        (Some(probes), _) => Some(probes).filter(|loss| *loss > LOST),
        (None, segments) => segments.filter(|loss| *loss > RETRANSMITTED),
    }
}

/// The share that is lost: of probes, which no sender adapts to the loss, or else of segments.
pub(crate) fn loss(figures: &TrialDirection) -> f64 {
    figures.probe_loss.or(figures.retransmitted).unwrap_or(0.0)
}

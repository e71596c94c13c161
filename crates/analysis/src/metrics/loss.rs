//! Loss of test packets, both ways together (RFC 6673, with the loss threshold of RFC 7680).

use rrul_model::phase::Phase;

use crate::analysis::{Loss, PhaseDelays};

/// Packets and losses over all phases.
pub(crate) fn of(delays: &PhaseDelays) -> Loss {
    Phase::ALL.iter().filter_map(|phase| delays.of(*phase)).fold(Loss::default(), |loss, phase| Loss {
        sent: loss.sent.saturating_add(phase.n),
        lost: loss.lost.saturating_add(phase.lost),
    })
}

//! A limit that drops and does not queue.

use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, ByteCount};

use crate::tuning::capacity::Evidence;
use crate::tuning::result::{Burst, Policer};
use crate::tuning::session::Session;

/// The burst before the sustained rate of a direction, whoever grants it.
pub(crate) fn burst(session: &Session<'_>, direction: Direction) -> Option<Burst> {
    let course = session.course(direction);
    let high = course.burst()?;
    let excess = course.excess() / 8.0;
    Some(Burst {
        rate: BitRate(high.rate.round() as u64),
        lasted: std::time::Duration::from_secs((course.high_at_once() + high.seconds) as u64).into(),
        excess: ByteCount(excess.round() as u64),
    })
}

/// The policer of a direction.
pub(crate) fn policer(session: &Session<'_>, direction: Direction, evidence: &Evidence<'_>) -> Option<Policer> {
    if !evidence.judge.policed {
        return None;
    }
    let rate = BitRate(evidence.capacity().quantile(0.5).round() as u64);
    Some(Policer { rate, bucket: burst(session, direction).map(|burst| burst.excess) })
}

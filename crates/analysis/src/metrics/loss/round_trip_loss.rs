//! Loss of test packets, both ways together (RFC 6673, with the loss threshold of RFC 7680).

use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::loss::packet_count::{Loss, Skipped};
use crate::metrics::loss::packet_fate::PacketFates;
use crate::metrics::tcp::tcp_loss::TcpLoss;

/// Lost test packets, and losses of the streams of the load.
///
/// The fate of a packet is known when the client listened for the whole waiting time after it was sent. A run that
/// comes to its planned end listens until every packet of the last 3 s is answered or 3 s have passed since the last
/// one was sent, so there the last losses count too. The end of listening is the `end` of a complete recording, and
/// otherwise the client's last observation (or the `end`, where that is earlier). Of the packets that were sent later
/// than the waiting time before it, **all of a flow count when all of them were answered, and none of them otherwise**,
/// answered or not: they are left out of counts, percentiles and charts. Were answers counted and the rest left out, a
/// run that is cut off would seem to lose less than it did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Loss")]
pub struct LossReport {
    /// Packets of the pooled probe flows, over all phases.
    #[serde(flatten)]
    pub round_trips: Loss,
    /// Packets of the pooled flows that were due and were not sent, because the client stalled and they would have been
    /// a burst. They are neither sent nor lost: the sample has a gap there.
    ///
    /// Source: RFC 3432.
    pub skipped: Skipped,
    /// 3 s, or 10 idle median round trips where that is longer.
    ///
    /// Source: RFC 7680 (loss threshold).
    #[serde(rename = "waiting_time_ns")]
    pub waiting_time: Delay,
    /// What became of test packets in each direction.
    #[serde(flatten)]
    pub fates: PacketFates,
    /// Losses of each stream of the load, as its sender's kernel counts them.
    pub tcp: Vec<TcpLoss>,
}

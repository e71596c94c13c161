//! Loss of test packets, both ways together (RFC 6673, with the loss threshold of RFC 7680).

use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::loss::packet_count::{Loss, Skipped};
use crate::metrics::loss::packet_fate::PacketFates;
use crate::metrics::tcp::tcp_loss::TcpLoss;

/// Lost test packets, and losses of the streams of the load.
///
/// The fate of a packet is known if the client listened for the whole waiting time after it was sent. A complete run
/// listens until every packet of the last 3 s is answered, or 3 s after the last one was sent, so the last losses count
/// too. Listening ends at the `end` of a complete recording, otherwise at the client's last observation (or at `end`,
/// if that is earlier). Packets sent later than the waiting time before that **count if all of a flow's were answered,
/// and none of them counts otherwise**: they are left out of counts, percentiles and charts. Counting only the answered
/// ones would make an interrupted run appear to lose less than it did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Loss")]
pub struct LossReport {
    /// Packets of the pooled probe flows, over all phases.
    #[serde(flatten)]
    pub round_trips: Loss,
    /// Packets of the pooled flows that were due but not sent, because the client stalled and they would have left in a
    /// burst. They are neither sent nor lost: the sample has a gap.
    ///
    /// Source: RFC 3432.
    pub skipped: Skipped,
    /// A packet that took longer than this is lost: 3 s, or 10 idle median round trips where that is longer. If
    /// packets under load took even longer, it extends to the longest of them, at most to 4 loaded median round trips:
    /// behind a queue of seconds, packets are late, not lost.
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

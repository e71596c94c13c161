//! What arrived of floods: rate and loss, counted at the receiver.

use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::octets::packet_octets::packet_octets;
use crate::packets::leg::Leg;

/// One flow of type `udp_flood`, over its whole time: a flood yields to nobody, so nothing of it is left out.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Floods")]
pub struct FloodDelivery {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Rate at which its packets left, IP headers included.
    #[serde(rename = "offered_bps")]
    pub offered: BitRate,
    /// Rate at which its packets arrived, each counted once. Null when the receiver recorded none.
    #[serde(rename = "delivered_bps")]
    pub delivered: Option<BitRate>,
    /// Packets sent.
    ///
    /// Unit: count.
    pub sent: u64,
    /// Packets that did not arrive. Null when the receiver recorded none.
    ///
    /// Unit: count. Source: RFC 7680.
    pub lost: Option<u64>,
    /// `lost` over `sent`.
    ///
    /// Unit: share. Source: RFC 7680.
    pub loss: Option<f64>,
    /// Packets that were due and were not sent, because the sender or the server's limit held them back. They are neither
    /// sent nor lost.
    ///
    /// Unit: count.
    pub skipped: u64,
}

/// Counts what arrived of each flood.
pub(crate) fn flood_deliveries(recording: &Recording, legs: &[Leg<'_>], end: TestTime) -> Vec<FloodDelivery> {
    let floods = legs.iter().filter(|leg| leg.flow.kind() == FlowKind::UdpFlood);
    floods.map(|leg| of_leg(recording, leg, end)).collect()
}

fn of_leg(recording: &Recording, leg: &Leg<'_>, end: TestTime) -> FloodDelivery {
    let Window { from, to } = leg.flow.window;
    let length = Window { from, to: to.min(end) }.length();
    let octets = packet_octets(leg.flow).unwrap_or(0);
    let rate = |packets: u64| ByteCount(packets.saturating_mul(octets)).per(length);
    let sent = leg.journeys.len() as u64;
    let arrived = leg.journeys.iter().filter(|packet| packet.received.is_some()).count() as u64;
    let arrived = leg.attributed.then_some(arrived);
    let lost = arrived.map(|arrived| sent - arrived);
    let skipped = [ObservationPoint::Client, ObservationPoint::Server]
        .into_iter()
        .flat_map(|point| recording.tables_of(point))
        .flat_map(|tables| tables.probes_skipped.rows())
        .filter(|row| row.flow == leg.flow.id);
    FloodDelivery {
        flow: leg.flow.into(),
        offered: rate(sent),
        delivered: arrived.map(rate),
        sent,
        lost,
        loss: lost.filter(|_| sent > 0).map(|lost| lost as f64 / sent as f64),
        skipped: skipped.map(|row| u64::from(row.count)).sum(),
    }
}

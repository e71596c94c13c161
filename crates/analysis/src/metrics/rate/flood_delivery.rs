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
use crate::packets::one_way_flow::OneWayFlow;

/// One flow of type `udp_flood`, over its whole time; the scored window does not apply.
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
    /// Packets that were due but not sent, because of the sender or the server's limit. They are neither sent nor lost.
    ///
    /// Unit: count.
    pub skipped: u64,
}

/// Counts what arrived of each flood.
pub(crate) fn flood_deliveries(
    recording: &Recording,
    one_way_flows: &[OneWayFlow<'_>],
    end: TestTime,
) -> Vec<FloodDelivery> {
    let floods = one_way_flows.iter().filter(|one_way| one_way.flow.kind() == FlowKind::UdpFlood);
    floods.map(|one_way| delivery(recording, one_way, end)).collect()
}

fn delivery(recording: &Recording, one_way: &OneWayFlow<'_>, end: TestTime) -> FloodDelivery {
    let Window { from, to } = one_way.flow.window;
    let length = Window { from, to: to.min(end) }.length();
    let octets = packet_octets(one_way.flow).unwrap_or(0);
    let rate = |packets: u64| ByteCount(packets.saturating_mul(octets)).per(length);
    let sent = one_way.transits.len() as u64;
    let arrived = one_way.transits.iter().filter(|packet| packet.received.is_some()).count() as u64;
    let arrived = one_way.attributed.then_some(arrived);
    let lost = arrived.map(|arrived| sent - arrived);
    let skipped = [ObservationPoint::Client, ObservationPoint::Server]
        .into_iter()
        .flat_map(|point| recording.tables_of(point))
        .flat_map(|tables| tables.probes_skipped.rows())
        .filter(|row| row.flow == one_way.flow.id);
    FloodDelivery {
        flow: one_way.flow.into(),
        offered: rate(sent),
        delivered: arrived.map(rate),
        sent,
        lost,
        loss: lost.filter(|_| sent > 0).map(|lost| lost as f64 / sent as f64),
        skipped: skipped.map(|row| u64::from(row.count)).sum(),
    }
}

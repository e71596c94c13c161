//! Every packet of a recording that can be counted, from each available counter.

use rrul_model::flow::FlowId;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;

use crate::metrics::octets::traffic::{Connection, Part, Readings, Traffic};
use crate::metrics::octets::{packet_octets, tcp_octets};
use crate::packets::tcp_readings::TcpReadings;

/// Everything that was counted in a recording.
pub(crate) fn gather<'a>(recording: &Recording, tcp: &'a TcpReadings) -> Traffic<'a> {
    let mut traffic = Traffic::default();
    let mut packets = packet_octets::Rows::gather(recording);
    for flow in &recording.header.flows {
        let found = Readings::new(tcp, flow.id);
        let connection = Connection {
            part: Part::from_flow(flow),
            family: flow.family,
            load: flow.direction.filter(|_| flow.is_load_stream()),
            from: flow.window.from,
            is_many: packets.counts_connections(flow.id),
        };
        let counted = tcp_octets::count(connection, found, packets.octets_received(flow.id), &mut traffic);
        if (!counted || connection.is_many) && !packets.count(flow, &mut traffic) {
            traffic.uncounted.push(flow.id);
        }
    }
    if let Some(family) = recording.header.families.first() {
        let found = Readings::new(tcp, FlowId::CONTROL);
        let from = TestTime(i64::MAX);
        let connection = Connection { part: Part::Control, family: *family, load: None, from, is_many: false };
        tcp_octets::count(connection, found, None, &mut traffic);
    }
    traffic
}

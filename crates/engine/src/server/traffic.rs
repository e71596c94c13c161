//! How much the sessions of a server send and receive, so that each recording says what others did meanwhile.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rrul_model::flow::{AddressFamily, FlowId, FlowSpec};
use rrul_model::observation::{Observation, OtherSessions};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;

use crate::flow_types;

/// An amount of traffic, both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    octets: u64,
    packets: u64,
}

impl Amount {
    fn add(&mut self, more: Self) {
        self.octets = self.octets.saturating_add(more.octets);
        self.packets = self.packets.saturating_add(more.packets);
    }

    fn less(self, other: Self) -> Self {
        Self { octets: self.octets.saturating_sub(other.octets), packets: self.packets.saturating_sub(other.packets) }
    }
}

/// What all sessions have moved since the server began.
#[derive(Debug, Default)]
pub(super) struct Traffic(Mutex<Amount>);

impl Traffic {
    fn read(&self) -> Amount {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, more: Amount) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }
}

/// What one session moves, read from what it observes, and what the others do meanwhile.
pub(super) struct TrafficMeter<'a> {
    all: &'a Traffic,
    /// What all had moved when this one began.
    before: Amount,
    own: Amount,
    /// Bytes of the control connection among them.
    control: u64,
    /// Counters of each connection as they were read last.
    counters: HashMap<(FlowId, Option<u32>), Amount>,
    /// Bytes of each datagram of a flow.
    datagrams: HashMap<FlowId, u64>,
}

impl<'a> TrafficMeter<'a> {
    pub(super) fn new(all: &'a Traffic, flows: &[FlowSpec]) -> Self {
        let datagram = |spec: &FlowSpec| {
            let header = match spec.family {
                AddressFamily::Ipv4 => 20 + 8,
                AddressFamily::Ipv6 => 40 + 8,
            };
            let length = flow_types::named(&spec.flow_type)?.length(spec)?;
            Some((spec.id, length as u64 + header))
        };
        let datagrams = flows.iter().filter_map(datagram).collect();
        Self { all, before: all.read(), own: Amount::default(), control: 0, counters: HashMap::new(), datagrams }
    }

    /// What the others have moved since this one began.
    pub(super) fn others(&self, at: TestTime) -> Observation {
        let Amount { octets, packets } = self.all.read().less(self.before).less(self.own);
        OtherSessions { at, octets, packets }.into()
    }

    /// Bytes that the flows of this session have moved, both directions.
    pub(super) fn moved(&self) -> u64 {
        self.own.octets.saturating_sub(self.control)
    }

    /// Counts what this session has observed of itself.
    pub(super) fn count(&mut self, frame: &Frame) {
        let tables = &frame.tables;
        let mut moved = Amount::default();
        for row in tables.tcp_info.rows() {
            let octets = row.bytes_sent.saturating_add(row.bytes_received);
            let packets = u64::from(row.segs_out) + u64::from(row.segs_in);
            let grown = self.grown((row.flow, None), Amount { octets, packets });
            if row.flow == FlowId::CONTROL {
                self.control = self.control.saturating_add(grown.octets);
            }
            moved.add(grown);
        }
        for row in tables.connection_totals.rows() {
            let octets = row.sent_octets.saturating_add(row.received_octets);
            let packets = u64::from(row.sent_segments) + u64::from(row.received_segments);
            moved.add(self.grown((row.flow, Some(row.connection)), Amount { octets, packets }));
        }
        let arrived = tables.packet_received.rows().map(|row| row.flow);
        for flow in arrived.chain(tables.probe_sent.rows().map(|row| row.flow)) {
            moved.add(Amount { octets: self.datagrams.get(&flow).copied().unwrap_or(0), packets: 1 });
        }
        self.own.add(moved);
        self.all.add(moved);
    }

    fn grown(&mut self, connection: (FlowId, Option<u32>), now: Amount) -> Amount {
        let before = self.counters.insert(connection, now).unwrap_or_default();
        now.less(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::observation::{ConnectionTotals, ObservationPoint, Tables};

    fn frame(octets: u64, packets: u32) -> Frame {
        let mut tables = Tables::default();
        let (flow, at) = (FlowId(1), TestTime(5));
        tables.push(
            ConnectionTotals {
                flow,
                connection: 0,
                started: at,
                ended: at,
                transport: 6,
                options: 0,
                sent_octets: octets,
                retransmitted_octets: 0,
                received_octets: 0,
                sent_segments: packets,
                received_segments: 0,
                sent_data_segments: 0,
                received_data_segments: 0,
                out_of_order: 0,
            }
            .into(),
        );
        Frame { point: ObservationPoint::Server, number: 0, dropped: 0, tables, events: Vec::new() }
    }

    #[test]
    fn each_session_sees_what_the_others_have_moved_since_it_began() {
        let all = Traffic::default();
        let mut first = TrafficMeter::new(&all, &[]);
        first.count(&frame(1000, 10));
        let mut second = TrafficMeter::new(&all, &[]);
        first.count(&frame(1500, 14));
        second.count(&frame(7, 1));
        let others = |meter: &TrafficMeter<'_>| meter.others(TestTime(9));
        assert_eq!(others(&first), OtherSessions { at: TestTime(9), octets: 7, packets: 1 }.into());
        assert_eq!(others(&second), OtherSessions { at: TestTime(9), octets: 500, packets: 4 }.into());
    }
}

//! How much a server may report of a test: what its flows can make, and no more. A hostile one would fill the client's memory.

use std::time::Duration;

use rrul_model::flow::FlowSpec;
use rrul_model::recording::Frame;

use crate::flow_type::FlowType;
use crate::flow_types;
use crate::flow_types::bulk_tcp::BulkTcp;

/// Values of all tables that a server may report in a second whatever the flows are: of its host, a row for each of its cores and
/// interfaces.
const OF_THE_HOST: f64 = 10_000.0;

/// Values that a reading of one flow makes: a row of TCP_INFO, and what goes with it.
const OF_A_READING: f64 = 60.0;

/// Values that one packet makes at most: its arrival, its stamp, its marking.
const OF_A_PACKET: f64 = 16.0;

/// Values that one connection makes: its steps, its transfer, its totals.
const OF_A_CONNECTION: f64 = 80.0;

/// Connections in a second of a flow that takes what the path gives, such as pages.
const CONNECTIONS: f64 = 100.0;

/// Of what flows make as planned, a server may report so many times as much: trains, retransmissions, duplicates.
const MARGIN: f64 = 2.0;

/// Values beside that, whatever the length of the test: what was waiting before T0 and comes after the end.
const BESIDE: f64 = 500_000.0;

/// Bytes of an event beside its words, as values of eight bytes.
const OF_AN_EVENT: usize = 10;

/// What a server may still report.
#[derive(Debug)]
pub(super) struct ReportBudget {
    left: usize,
}

impl ReportBudget {
    /// For a test of these flows and this length, whose counters are read at this interval.
    pub(super) fn new(flows: &[FlowSpec], length: Duration, interval: Duration) -> Self {
        let readings = 1.0 / interval.as_secs_f64().max(0.01);
        let made = |spec: &FlowSpec| {
            let kind = flow_types::named(&spec.flow_type);
            let packets = kind.map_or(0.0, |kind| kind.packets_per_second(spec));
            let takes_all = kind.is_some_and(|kind| kind.load(spec).is_none()) && !BulkTcp.is_of(spec);
            let connections = kind.map_or(0.0, |kind| kind.connections_per_second(spec));
            let connections = if takes_all { connections.max(CONNECTIONS) } else { connections };
            let rate = readings * OF_A_READING + packets * OF_A_PACKET + connections * OF_A_CONNECTION;
            rate * spec.window.length().as_secs_f64()
        };
        let of_flows: f64 = flows.iter().map(made).sum();
        let of_host = length.as_secs_f64() * OF_THE_HOST;
        Self { left: ((of_flows + of_host) * MARGIN + BESIDE) as usize }
    }

    /// Takes a frame out of what is left; `false` when it is more.
    pub(super) fn take(&mut self, frame: &Frame) -> bool {
        let of_events: usize = frame.events.iter().map(|event| OF_AN_EVENT + event.detail.len() / 8).sum();
        let left = self.left.checked_sub(frame.tables.values() + of_events);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

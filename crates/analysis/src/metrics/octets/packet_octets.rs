//! The bytes of flows that send numbered packets: probes, exchanges over UDP, VoIP. Their length is known; they are
//! counted where they arrive.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{
    Connection, ConnectionTotals, GreetingSent, NameLookup, ObservationPoint, PathAnswer, PathProbe, receiver, sender,
};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;

use crate::metrics::octets::carried_share::{CarriedShares, ProbeCounts};
use crate::metrics::octets::tcp_octets::{TIMESTAMPS, datagram_header_octets, header_octets};
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::metrics::octets::{connection_octets, greeting_octets, lookup_octets, path_octets, short_connection_bytes};
use crate::statistics::counter::Counter;

/// The longest packet; what a foreign file says beyond it is no length.
const LONGEST: u64 = 65_535;

/// IP bytes of each packet of a flow, by the `length` that its client has noted; `None` where it has not.
pub(crate) fn packet_octets(flow: &FlowSpec) -> Option<u64> {
    let length = flow.parameters.size("length", ByteCount(0)).0;
    let header =
        if is_over_tcp(flow) { header_octets(flow.family) + TIMESTAMPS } else { datagram_header_octets(flow.family) };
    (1..=LONGEST).contains(&length).then_some(header + length)
}

fn is_over_tcp(flow: &FlowSpec) -> bool {
    flow.flow_type.starts_with("tcp_")
}

/// When packets of each flow were seen.
#[derive(Default)]
struct Seen {
    /// Sent, at each observation point.
    sent: [Vec<TestTime>; 2],
    /// Arrived, at each observation point.
    arrived: [Vec<TestTime>; 2],
    /// How many had reached the reflector at these times on its clock.
    reflected: Vec<(TestTime, u64)>,
    /// Bytes of a stream at its receiver.
    octets: Vec<(TestTime, u64)>,
    greetings: Vec<GreetingSent>,
    attempts: Vec<Connection>,
    lookups: Vec<NameLookup>,
    /// What connections carried that come and go, as each end has counted.
    totals: [Vec<ConnectionTotals>; 2],
    /// Packets of a path trace, and what was answered to them.
    traced: (Vec<PathProbe>, Vec<PathAnswer>),
    /// Whether only answers show which packets arrived at the server.
    answers_are_all: bool,
}

/// The rows of a recording from which packets are counted.
pub(crate) struct Rows {
    seen: HashMap<FlowId, Seen>,
    shares: CarriedShares,
}

impl Rows {
    pub(crate) fn gather(recording: &Recording) -> Self {
        let mut seen: HashMap<FlowId, Seen> = HashMap::new();
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            for tables in recording.tables_of(point) {
                for row in tables.probe_sent.rows() {
                    seen.entry(row.flow).or_default().sent[point as usize].push(row.sent);
                }
                for row in tables.packet_received.rows() {
                    seen.entry(row.flow).or_default().arrived[point as usize].push(row.received);
                }
                for row in tables.probe_received.rows() {
                    let entry = seen.entry(row.flow).or_default();
                    entry.arrived[point as usize].push(row.received);
                    entry.reflected.push((row.reflector_received, u64::from(row.reflector_count)));
                }
                for row in tables.echo_received.rows() {
                    seen.entry(row.flow).or_default().arrived[point as usize].push(row.received);
                }
                for row in tables.transaction.rows() {
                    let entry = seen.entry(row.flow).or_default();
                    entry.answers_are_all = true;
                    entry.sent[point as usize].push(row.started);
                    if row.answered != 0 {
                        entry.arrived[point as usize].push(TestTime(row.started.0.saturating_add(row.took.0)));
                    }
                }
                for row in tables.greeting_sent.rows() {
                    seen.entry(row.flow).or_default().greetings.push(row);
                }
                for row in tables.connection.rows() {
                    seen.entry(row.flow).or_default().attempts.push(row);
                }
                for row in tables.name_lookup.rows() {
                    seen.entry(row.flow).or_default().lookups.push(row);
                }
                for row in tables.path_probe.rows() {
                    seen.entry(row.flow).or_default().traced.0.push(row);
                }
                for row in tables.path_answer.rows() {
                    seen.entry(row.flow).or_default().traced.1.push(row);
                }
                for row in tables.connection_totals.rows() {
                    seen.entry(row.flow).or_default().totals[point as usize].push(row);
                }
                for row in tables.octets_received.rows() {
                    seen.entry(row.flow).or_default().octets.push((row.at, row.octets.0));
                }
            }
        }
        let probes = recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::UdpProbe);
        let counts = |flow: &FlowSpec| {
            let seen = seen.get(&flow.id)?;
            Some(ProbeCounts {
                family: flow.family,
                class: flow.class,
                sent: counted(&seen.sent[ObservationPoint::Client as usize]),
                reflected: reached_server(flow, seen)?,
                received: counted(&seen.arrived[ObservationPoint::Client as usize]),
            })
        };
        let shares = CarriedShares::new(probes.filter_map(counts).collect());
        Self { seen, shares }
    }

    /// Delivered bytes of a stream over time.
    pub(crate) fn octets_received(&mut self, flow: FlowId) -> Option<Vec<(TestTime, u64)>> {
        self.seen.get_mut(&flow).map(|seen| std::mem::take(&mut seen.octets))
    }

    /// Returns whether connections of the flow were counted one by one.
    pub(crate) fn counts_connections(&self, flow: FlowId) -> bool {
        self.seen.get(&flow).is_some_and(|seen| seen.totals.iter().any(|rows| !rows.is_empty()))
    }

    /// Puts one flow's packets into the traffic; `false` when it sent some and their length is not known.
    pub(crate) fn count(&mut self, flow: &FlowSpec, traffic: &mut Traffic<'_>) -> bool {
        let Some(seen) = self.seen.remove(&flow.id) else { return true };
        let share = self.shares.for_flow(flow);
        if !seen.greetings.is_empty() {
            greeting_octets::count(flow, &seen.greetings, &share, traffic);
        }
        if !seen.attempts.is_empty() {
            connection_octets::count(flow, &seen.attempts, &share, traffic);
            return true;
        }
        if let (probes, answers) = &seen.traced
            && !probes.is_empty()
        {
            path_octets::count(flow, probes, answers, traffic);
            return true;
        }
        // A page looks its hosts up as well.
        let [client, server] = &seen.totals;
        let opened = !(client.is_empty() && server.is_empty());
        if opened {
            short_connection_bytes::count(flow, &seen.totals, traffic);
        }
        if !seen.lookups.is_empty() {
            lookup_octets::count(flow, &seen.lookups, &share, traffic);
        }
        if opened || !seen.lookups.is_empty() {
            return true;
        }
        let Some(length) = packet_octets(flow) else {
            return seen.sent.iter().chain(&seen.arrived).all(Vec::is_empty);
        };
        let part = Part::from_flow(flow);
        // Segments that no kernel counted follow from what was said in them.
        let basis = if is_over_tcp(flow) { Basis::Estimated } else { Basis::Counted };
        let packets = |direction, count: Counter| Packets {
            part,
            family: flow.family,
            direction,
            basis,
            octets: count.times(length),
            count,
        };
        if let Some(direction) = flow.direction {
            let (from, to) = (sender(direction) as usize, receiver(direction) as usize);
            traffic.offered.push(packets(direction, counted(&seen.sent[from])));
            traffic.carried.push(packets(direction, counted(&seen.arrived[to])));
            return true;
        }
        let client = ObservationPoint::Client as usize;
        let (sent, answered) = (counted(&seen.sent[client]), counted(&seen.arrived[client]));
        let there = reached_server(flow, &seen).unwrap_or_else(|| {
            // ICMP echo is not counted there, and an exchange only in some cases: what was answered had arrived, and of
            // the rest as much as of the probes.
            let reliable = is_over_tcp(flow);
            let asks = seen.answers_are_all || flow.kind() == FlowKind::IcmpEcho;
            let arrived = |at: &TestTime| (*at, if reliable { 1.0 } else { share.arrived(&answered, &sent, *at) });
            Counter::of_shares(seen.sent[client].iter().filter(|_| asks).map(arrived))
        });
        traffic.offered.push(packets(Direction::Up, sent));
        traffic.carried.push(packets(Direction::Up, there.clone()));
        // Every packet that arrives is answered.
        traffic.offered.push(packets(Direction::Down, there));
        traffic.carried.push(packets(Direction::Down, answered));
        true
    }
}

/// Returns how many packets of an exchange had reached the server over time: as it counted them itself, or as its replies
/// say where its rows are missing. `None` when neither does.
fn reached_server(flow: &FlowSpec, seen: &Seen) -> Option<Counter> {
    let arrived = &seen.arrived[ObservationPoint::Server as usize];
    if !arrived.is_empty() {
        return Some(counted(arrived));
    }
    let replies = || Counter::new(seen.reflected.clone()).starting_from_zero_at(flow.window.from);
    (!seen.reflected.is_empty()).then(replies)
}

/// How many of these there have been, over time.
fn counted(times: &[TestTime]) -> Counter {
    Counter::of_arrivals(times.iter().map(|at| (*at, 1)))
}

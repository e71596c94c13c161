//! The octets of flows that send numbered packets: probes, exchanges over UDP, VoIP. Their length is known; they are
//! counted where they arrive.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{Connection, ConnectionTotals, NameLookup, ObservationPoint, PathAnswer, PathProbe};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;

use crate::metrics::octets::tcp_octets::{TIMESTAMPS, header_octets, ip_header_octets};
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::metrics::octets::{connection_octets, lookup_octets, path_octets, short_connection_bytes};
use crate::metrics::rate::start_spread::{receiver, sender};
use crate::statistics::counter::Counter;

/// UDP header, and that of ICMP echo.
const HEADER: u64 = 8;
/// The longest packet; what a foreign file says beyond it is no length.
const LONGEST: u64 = 65_535;

/// IP octets of each packet of a flow, by the `length` that its client has noted; `None` where it has not.
pub(crate) fn packet_octets(flow: &FlowSpec) -> Option<u64> {
    let length = flow.parameters.size("length", ByteCount(0)).0;
    let header = if is_over_tcp(flow) {
        header_octets(flow.family) + TIMESTAMPS
    } else {
        ip_header_octets(flow.family) + HEADER
    };
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
    /// Octets of a stream at its receiver.
    octets: Vec<(TestTime, u64)>,
    /// Attempts at new connections.
    attempts: Vec<Connection>,
    /// Look-ups of names.
    lookups: Vec<NameLookup>,
    /// What connections carried that come and go, as each end has counted.
    totals: [Vec<ConnectionTotals>; 2],
    /// Packets of a path trace, and what was answered to them.
    traced: (Vec<PathProbe>, Vec<PathAnswer>),
    /// Whether the packets that arrived at the server follow from the answers.
    told_by_answers: bool,
}

/// The rows of a recording from which packets are counted.
pub(crate) struct Rows(HashMap<FlowId, Seen>);

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
                    entry.told_by_answers = true;
                    entry.sent[point as usize].push(row.started);
                    if row.answered != 0 {
                        entry.arrived[point as usize].push(TestTime(row.started.0.saturating_add(row.took.0)));
                    }
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
        Self(seen)
    }

    /// What a stream's receiver was handed, over time.
    pub(crate) fn octets_received(&mut self, flow: FlowId) -> Option<Vec<(TestTime, u64)>> {
        self.0.get_mut(&flow).map(|seen| std::mem::take(&mut seen.octets))
    }

    /// Returns whether connections of the flow were counted one by one.
    pub(crate) fn counts_connections(&self, flow: FlowId) -> bool {
        self.0.get(&flow).is_some_and(|seen| seen.totals.iter().any(|rows| !rows.is_empty()))
    }

    /// Puts one flow's packets into the traffic; `false` when it sent some and their length is not known.
    pub(crate) fn count(&mut self, flow: &FlowSpec, traffic: &mut Traffic<'_>) -> bool {
        let Some(seen) = self.0.remove(&flow.id) else { return true };
        if !seen.attempts.is_empty() {
            connection_octets::count(flow, &seen.attempts, traffic);
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
            lookup_octets::count(flow, &seen.lookups, traffic);
        }
        if opened || !seen.lookups.is_empty() {
            return true;
        }
        let Some(length) = packet_octets(flow) else { return false };
        let part = Part::of(flow);
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
        let [client, server] = [ObservationPoint::Client as usize, ObservationPoint::Server as usize];
        let sent = counted(&seen.sent[client]);
        // What reached the server is counted there; where its rows did not come through, its replies say how many
        // packets it had seen. Nobody counts ICMP echo there, and an exchange only may.
        let there = if !seen.arrived[server].is_empty() {
            counted(&seen.arrived[server])
        } else if !seen.reflected.is_empty() {
            Counter::new(seen.reflected).starting_from_zero_at(flow.window.from)
        } else if seen.told_by_answers || flow.kind() == FlowKind::IcmpEcho {
            sent.clone()
        } else {
            Counter::default()
        };
        traffic.offered.push(packets(Direction::Up, sent));
        traffic.carried.push(packets(Direction::Up, there.clone()));
        // Every packet that arrives is answered.
        traffic.offered.push(packets(Direction::Down, there));
        traffic.carried.push(packets(Direction::Down, counted(&seen.arrived[client])));
        true
    }
}

/// How many of these there have been, over time.
fn counted(times: &[TestTime]) -> Counter {
    Counter::of_arrivals(times.iter().map(|at| (*at, 1)))
}

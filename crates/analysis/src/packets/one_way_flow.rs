//! One-way transits: the packets of a flow in one direction, stamped where they left and where they arrived.
//!
//! The two stamps are of two hosts' clocks. [`ClockOffset`](crate::clock_offset::ClockOffset) brings them together.

use foldhash::HashMap;
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;

use crate::packets::by_number::ByNumber;

/// One packet from its sender to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketTransit {
    /// Its number within the flow.
    pub(crate) sequence: u32,
    /// When it left, on its sender's clock: the kernel's stamp, or else the program's.
    ///
    /// Of a reply that was lost only the arrival of what it answered is known, which is earlier by less than a
    /// millisecond.
    pub(crate) sent: TestTime,
    /// When its first copy arrived, on its receiver's clock; `None` when none did.
    pub(crate) received: Option<TestTime>,
    /// Traffic-class byte of that copy.
    pub(crate) octet: Option<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct OneWayFlow<'a> {
    pub(crate) flow: &'a FlowSpec,
    /// The direction of these packets.
    pub(crate) direction: Direction,
    /// Every packet that was sent, by its number.
    pub(crate) transits: Vec<PacketTransit>,
    /// Whether a packet that did not arrive can be known to have been lost in this direction: the receiver's rows, as
    /// far as they go.
    pub(crate) attributed: bool,
    /// Numbers in the order of arrival, duplicates included.
    pub(crate) arrivals: Vec<u32>,
}

/// Everything about the packets of one flow.
#[derive(Default)]
struct Rows {
    sent: [Vec<(u32, TestTime)>; 2],
    stamped: [Vec<(u32, TestTime)>; 2],
    received: [Vec<Arrival>; 2],
    replies: Vec<Reply>,
    reply_stamped: Vec<(u32, TestTime)>,
}

/// The number of a packet, when it arrived, and its traffic-class byte then.
type Arrival = (u32, (TestTime, u8));

struct Reply {
    sequence: u32,
    received: TestTime,
    octet: u8,
    reflector_received: TestTime,
    reflector_sent: TestTime,
    reflector_octet: u8,
}

/// The one-way flows of a recording, in the order of the plan; a flow that sent nothing has none.
pub(crate) struct OneWayFlows<'a> {
    /// The two ways of every flow of UDP probes, and the one way of every directed flow whose packets are numbered.
    pub(crate) flows: Vec<OneWayFlow<'a>>,
    /// The two ways of every marking sweep, whose packets measure no delay: each is of another class.
    pub(crate) sweeps: Vec<OneWayFlow<'a>>,
}

/// Gathers the one-way flows of a recording.
pub(crate) fn one_way_flows(recording: &Recording) -> OneWayFlows<'_> {
    let flows = &recording.header.flows;
    let mut gathered: HashMap<FlowId, Rows> = flows.iter().map(|flow| (flow.id, Rows::default())).collect();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        for tables in recording.tables_of(point) {
            let at = point as usize;
            for row in tables.probe_sent.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.sent[at].push((row.sequence, row.sent));
                }
            }
            for row in tables.probe_stamped.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.stamped[at].push((row.sequence, row.sent));
                }
            }
            for row in tables.packet_received.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.received[at].push((row.sequence, (row.received, row.octet)));
                }
            }
            for row in tables.probe_received.rows() {
                let Some(rows) = gathered.get_mut(&row.flow) else { continue };
                rows.replies.push(Reply {
                    sequence: row.sequence,
                    received: row.received,
                    octet: row.octet,
                    reflector_received: row.reflector_received,
                    reflector_sent: row.reflector_sent,
                    reflector_octet: row.reflector_octet,
                });
            }
            for row in tables.reply_stamped.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.reply_stamped.push((row.sequence, row.reflector_sent));
                }
            }
        }
    }
    let mut one_way_flows = OneWayFlows { flows: Vec::new(), sweeps: Vec::new() };
    for flow in flows {
        // Of a foreign file in which flows share a number, the first has its rows.
        if let Some(rows) = gathered.remove(&flow.id) {
            let of_kind = if flow.kind() == FlowKind::MarkingSweep {
                &mut one_way_flows.sweeps
            } else {
                &mut one_way_flows.flows
            };
            of_kind.extend(rows.one_way_flows(flow).into_iter().filter(|one_way| !one_way.transits.is_empty()));
        }
    }
    one_way_flows
}

impl Rows {
    fn one_way_flows(self, flow: &FlowSpec) -> Vec<OneWayFlow<'_>> {
        match flow.direction {
            None if matches!(flow.kind(), FlowKind::UdpProbe | FlowKind::MarkingSweep) => self.there_and_back(flow),
            None => Vec::new(),
            // Records wait in buffers and for each other: no packets, and no measure of the path.
            Some(_) if flow.kind() == FlowKind::TcpRecords => Vec::new(),
            Some(direction) => vec![self.one_way(flow, direction)],
        }
    }

    /// When each packet left the sender.
    fn departures(&mut self, sender: ObservationPoint) -> ByNumber<TestTime> {
        let at = sender as usize;
        let sent = ByNumber::first(std::mem::take(&mut self.sent[at]));
        let stamped = ByNumber::first(std::mem::take(&mut self.stamped[at]));
        // No packet leaves before it was sent: such a stamp is of another one.
        sent.map(|sequence, sent| *stamped.get(sequence).filter(|stamp| *stamp >= sent).unwrap_or(sent))
    }

    fn one_way(mut self, flow: &FlowSpec, direction: Direction) -> OneWayFlow<'_> {
        let (sender, receiver) = match direction {
            Direction::Up => (ObservationPoint::Client, ObservationPoint::Server),
            Direction::Down => (ObservationPoint::Server, ObservationPoint::Client),
        };
        let departures = self.departures(sender);
        let received = std::mem::take(&mut self.received[receiver as usize]);
        let attributed = !received.is_empty();
        one_way(flow, direction, &departures, received, attributed)
    }

    /// Test packets on their way to the reflector, and replies on theirs back.
    fn there_and_back(mut self, flow: &FlowSpec) -> Vec<OneWayFlow<'_>> {
        let mut seen = std::mem::take(&mut self.received[ObservationPoint::Server as usize]);
        let attributed = !seen.is_empty();
        let reply_stamped = ByNumber::least_by(std::mem::take(&mut self.reply_stamped), |stamp| *stamp);
        // The last reply to a packet shows best when the reflector sent it; without any, the packet's arrival shows it.
        let answered = self.replies.iter().rev().map(|reply| {
            let stamp = reply_stamped.get(reply.sequence).filter(|stamp| **stamp >= reply.reflector_sent);
            (reply.sequence, stamp.copied().unwrap_or(reply.reflector_sent))
        });
        let came = seen.iter().map(|(sequence, (received, _))| (*sequence, *received));
        let sent_back = ByNumber::first(answered.chain(came).collect());
        let came_back = self.replies.iter().map(|reply| (reply.sequence, (reply.received, reply.octet))).collect();
        // What was answered had arrived, also where the server's rows did not come through.
        let noted = ByNumber::first(seen.iter().map(|(sequence, _)| (*sequence, ())).collect());
        let unreported = self.replies.iter().filter(|reply| noted.get(reply.sequence).is_none());
        seen.extend(unreported.map(|reply| (reply.sequence, (reply.reflector_received, reply.reflector_octet))));
        let departures = self.departures(ObservationPoint::Client);
        vec![
            one_way(flow, Direction::Up, &departures, seen, attributed),
            one_way(flow, Direction::Down, &sent_back, came_back, attributed),
        ]
    }
}

fn one_way<'a>(
    flow: &'a FlowSpec,
    direction: Direction,
    departures: &ByNumber<TestTime>,
    received: Vec<Arrival>,
    attributed: bool,
) -> OneWayFlow<'a> {
    // A number that was never sent is no arrival of this flow.
    let ours = received.iter().map(|(sequence, _)| *sequence).filter(|sequence| departures.get(*sequence).is_some());
    let arrivals = ours.collect();
    let first = ByNumber::least_by(received, |(at, _)| *at);
    let transits = departures.iter().map(|(sequence, sent)| {
        let arrival = first.get(sequence);
        PacketTransit {
            sequence,
            sent: *sent,
            received: arrival.map(|(at, _)| *at),
            octet: arrival.map(|(_, octet)| *octet),
        }
    });
    OneWayFlow { flow, direction, transits: transits.collect(), attributed, arrivals }
}

//! One-way journeys: the packets of a flow in one direction, stamped where they left and where they arrived.
//!
//! The two stamps are of two hosts' clocks. [`ClockOffset`](crate::clock_offset::ClockOffset) brings them together.

use std::collections::{BTreeMap, HashMap, HashSet};

use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;

use crate::join::{MARKING_SWEEP, TCP_RECORDS, UDP_PROBE};

/// One packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Journey {
    /// Its number within the flow.
    pub(crate) sequence: u32,
    /// When it left, on its sender's clock: the kernel's stamp, or the program's where there is none.
    ///
    /// Of a reply that was lost only the arrival of what it answered is known, which is earlier by less than a
    /// millisecond.
    pub(crate) sent: TestTime,
    /// When its first copy arrived, on its receiver's clock; `None` when none did.
    pub(crate) received: Option<TestTime>,
    /// Traffic-class octet of that copy.
    pub(crate) octet: Option<u8>,
}

/// All packets of one flow in one direction.
#[derive(Debug, Clone)]
pub(crate) struct Leg<'a> {
    /// The flow.
    pub(crate) flow: &'a FlowSpec,
    /// Which way these packets went.
    pub(crate) direction: Direction,
    /// Every packet that was sent, by its number.
    pub(crate) journeys: Vec<Journey>,
    /// Whether a packet that did not arrive can be known to have been lost in this direction: there are rows of the
    /// receiver, as far as they go.
    pub(crate) attributed: bool,
    /// Numbers in the order of arrival, duplicates included.
    #[allow(dead_code, reason = "reordering is told next")]
    pub(crate) arrivals: Vec<u32>,
}

/// Everything about the packets of one flow.
#[derive(Default)]
struct Rows {
    sent: [BTreeMap<u32, TestTime>; 2],
    stamped: [HashMap<u32, TestTime>; 2],
    received: [Vec<(u32, TestTime, u8)>; 2],
    replies: Vec<Reply>,
    reply_stamped: HashMap<u32, TestTime>,
}

struct Reply {
    sequence: u32,
    received: TestTime,
    octet: u8,
    reflector_received: TestTime,
    reflector_sent: TestTime,
    reflector_octet: u8,
}

/// The two ways of every flow of UDP probes, and the one way of every directed flow whose packets are numbered.
///
/// In the order of the plan; a flow of which nothing was sent has no leg.
pub(crate) fn legs(recording: &Recording) -> Vec<Leg<'_>> {
    legs_of(recording, |flow| flow.flow_type != MARKING_SWEEP)
}

/// The two ways of every marking sweep, whose packets measure no delay: each is of another class.
pub(crate) fn sweep_legs(recording: &Recording) -> Vec<Leg<'_>> {
    legs_of(recording, |flow| flow.flow_type == MARKING_SWEEP)
}

fn legs_of(recording: &Recording, chosen: impl Fn(&FlowSpec) -> bool) -> Vec<Leg<'_>> {
    let flows = || recording.header.flows.iter().filter(|flow| chosen(flow));
    let mut gathered: HashMap<FlowId, Rows> = flows().map(|flow| (flow.id, Rows::default())).collect();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        for tables in recording.tables_of(point) {
            let at = point as usize;
            for row in tables.probe_sent.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.sent[at].entry(row.sequence).or_insert(row.sent);
                }
            }
            for row in tables.probe_stamped.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.stamped[at].entry(row.sequence).or_insert(row.sent);
                }
            }
            for row in tables.packet_received.rows() {
                if let Some(rows) = gathered.get_mut(&row.flow) {
                    rows.received[at].push((row.sequence, row.received, row.octet));
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
                let Some(rows) = gathered.get_mut(&row.flow) else { continue };
                let stamp = rows.reply_stamped.entry(row.sequence).or_insert(row.reflector_sent);
                *stamp = row.reflector_sent.min(*stamp);
            }
        }
    }
    let mut legs = Vec::new();
    for flow in flows() {
        if let Some(rows) = gathered.get(&flow.id) {
            legs.extend(rows.legs(flow).into_iter().filter(|leg| !leg.journeys.is_empty()));
        }
    }
    legs
}

impl Rows {
    fn legs<'a>(&self, flow: &'a FlowSpec) -> Vec<Leg<'a>> {
        match flow.direction {
            None if [UDP_PROBE, MARKING_SWEEP].contains(&&*flow.flow_type) => vec![self.there(flow), self.back(flow)],
            None => Vec::new(),
            // Records wait in buffers and for each other: no packets, and no measure of the path.
            Some(_) if flow.flow_type == TCP_RECORDS => Vec::new(),
            Some(direction) => vec![self.one_way(flow, direction)],
        }
    }

    /// When each packet left the sender.
    fn departures(&self, sender: ObservationPoint) -> BTreeMap<u32, TestTime> {
        let at = sender as usize;
        let best = |(sequence, sent): (&u32, &TestTime)| {
            // No packet leaves before it was sent: such a stamp is of another one.
            let stamp = self.stamped[at].get(sequence).filter(|stamp| *stamp >= sent);
            (*sequence, *stamp.unwrap_or(sent))
        };
        self.sent[at].iter().map(best).collect()
    }

    fn one_way<'a>(&self, flow: &'a FlowSpec, direction: Direction) -> Leg<'a> {
        let (sender, receiver) = match direction {
            Direction::Up => (ObservationPoint::Client, ObservationPoint::Server),
            Direction::Down => (ObservationPoint::Server, ObservationPoint::Client),
        };
        let received = &self.received[receiver as usize];
        leg(flow, direction, &self.departures(sender), received, !received.is_empty())
    }

    /// Test packets on their way to the reflector.
    fn there<'a>(&self, flow: &'a FlowSpec) -> Leg<'a> {
        let mut seen = self.received[ObservationPoint::Server as usize].clone();
        let attributed = !seen.is_empty();
        // What was answered had arrived, also where the server's rows did not come through.
        let noted: HashSet<u32> = seen.iter().map(|(sequence, ..)| *sequence).collect();
        let told = self.replies.iter().filter(|reply| !noted.contains(&reply.sequence));
        seen.extend(told.map(|reply| (reply.sequence, reply.reflector_received, reply.reflector_octet)));
        leg(flow, Direction::Up, &self.departures(ObservationPoint::Client), &seen, attributed)
    }

    /// Replies on their way back.
    fn back<'a>(&self, flow: &'a FlowSpec) -> Leg<'a> {
        let mut departures: BTreeMap<u32, TestTime> = BTreeMap::new();
        for (sequence, received, _) in &self.received[ObservationPoint::Server as usize] {
            departures.entry(*sequence).or_insert(*received);
        }
        for reply in &self.replies {
            let stamp = self.reply_stamped.get(&reply.sequence).filter(|stamp| **stamp >= reply.reflector_sent);
            departures.insert(reply.sequence, stamp.copied().unwrap_or(reply.reflector_sent));
        }
        let received: Vec<_> = self.replies.iter().map(|reply| (reply.sequence, reply.received, reply.octet)).collect();
        let attributed = !self.received[ObservationPoint::Server as usize].is_empty();
        leg(flow, Direction::Down, &departures, &received, attributed)
    }
}

fn leg<'a>(
    flow: &'a FlowSpec,
    direction: Direction,
    departures: &BTreeMap<u32, TestTime>,
    received: &[(u32, TestTime, u8)],
    attributed: bool,
) -> Leg<'a> {
    let mut first: HashMap<u32, (TestTime, u8)> = HashMap::new();
    for (sequence, at, octet) in received {
        let entry = first.entry(*sequence).or_insert((*at, *octet));
        if at < &entry.0 {
            *entry = (*at, *octet);
        }
    }
    let journeys = departures.iter().map(|(sequence, sent)| {
        let arrival = first.get(sequence);
        Journey {
            sequence: *sequence,
            sent: *sent,
            received: arrival.map(|(at, _)| *at),
            octet: arrival.map(|(_, octet)| *octet),
        }
    });
    // A number that was never sent is no arrival of this flow.
    let ours = received.iter().map(|(sequence, ..)| *sequence).filter(|sequence| departures.contains_key(sequence));
    Leg { flow, direction, journeys: journeys.collect(), attributed, arrivals: ours.collect() }
}

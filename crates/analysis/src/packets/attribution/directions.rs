//! The fate of one flow's packets in either direction, from its rows.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use rrul_model::flow::FlowSpec;
use rrul_model::observation::{ProbeReceived, Transaction};
use rrul_model::time::TestTime;

use crate::by_direction::ByDirection;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::loss::reordering::{Arrival, Displacement, displacements};
use crate::packets::attribution::gathering::{Coverage, Rows};
use crate::packets::attribution::{Attributed, DirectionFates, Fate, LossAttribution};
use crate::packets::join::ProbeFlow;

/// What is known of the copies of one packet.
#[derive(Debug, Default)]
struct Known {
    /// Arrivals that the server reported.
    reported: u32,
    /// The first of them, or of those that replies show, on the server's clock.
    arrived: Option<TestTime>,
    /// Distinct replies that came back: one for each copy that had arrived.
    answered: u32,
    /// Whether a window shows it as arrived.
    in_window: bool,
    /// Whether a window covers it.
    covered: bool,
}

impl Known {
    fn has_arrived(&self) -> bool {
        self.reported > 0 || self.answered > 0 || self.in_window
    }

    /// Copies that are known to have arrived at the reflector.
    fn arrivals(&self) -> u32 {
        self.reported.max(self.answered).max(u32::from(self.in_window))
    }

    fn arrived_at(&mut self, at: TestTime) {
        self.arrived = Some(self.arrived.map_or(at, |before| before.min(at)));
    }

    fn fate_there(&self, sent: TestTime, coverage: &Coverage<'_>, covers_replies: bool) -> Fate {
        let late = |at: TestTime| {
            coverage.clock.is_some_and(|clock| clock.client_time(at).since(sent) > coverage.waiting_time)
        };
        if self.arrived.is_some_and(late) {
            Fate::Late
        } else if self.has_arrived() {
            Fate::Arrived
        } else if self.covered || covers_replies && coverage.reaches(sent) {
            Fate::Lost
        } else {
            Fate::Open
        }
    }
}

/// A flow of test packets that are answered one by one.
pub(super) fn of_probes<'a>(
    flow: &'a FlowSpec,
    rows: &Rows,
    probes: &ProbeFlow<'_>,
    judgement: &Judgement<'_>,
    coverage: &Coverage<'_>,
) -> Attributed<'a> {
    let sent: HashMap<u32, TestTime> = judgement.known(probes).map(|probe| (probe.sequence, probe.sent)).collect();
    let replies = first_copies(&rows.replies);
    let reported: HashSet<u32> = rows.arrivals.iter().map(|row| row.sequence).collect();
    // A reply to a packet that the server should have reported and has not: its rows are not whole, or were never sent.
    let has_row =
        |reply: &ProbeReceived| reported.contains(&reply.sequence) || !coverage.includes(reply.reflector_received);
    let whole = replies.iter().all(has_row);
    let mut known: HashMap<u32, Known> = HashMap::new();
    for row in &rows.arrivals {
        let packet = known.entry(row.sequence).or_default();
        packet.reported += 1;
        packet.arrived_at(row.received);
    }
    for reply in &replies {
        let packet = known.entry(reply.sequence).or_default();
        packet.answered += 1;
        packet.arrived_at(reply.reflector_received);
    }
    // Whether the server's rows decide wherever the answer is missing; then windows add nothing.
    let is_decided = |sequence: &u32, at: TestTime| known.contains_key(sequence) || coverage.reaches(at);
    let exact = whole && sent.iter().all(|(sequence, at)| is_decided(sequence, *at));
    for window in rows.windows.iter().filter(|_| !exact) {
        for behind in 0..64 {
            let Some(sequence) = window.highest.checked_sub(behind) else { break };
            let packet = known.entry(sequence).or_default();
            packet.covered = true;
            packet.in_window |= window.window & (1 << behind) != 0;
        }
    }

    let nothing = Known::default();
    let of = |sequence: u32| known.get(&sequence).unwrap_or(&nothing);
    let numbered = judgement.known(probes);
    let up = numbered.map(|probe| (probe.sent, of(probe.sequence).fate_there(probe.sent, coverage, whole)));
    let up: Vec<(TestTime, Fate)> = up.collect();
    let copies_up = known.iter().flat_map(|(sequence, packet)| {
        let extra = packet.arrivals().saturating_sub(1) as usize;
        sent.get(sequence).into_iter().flat_map(move |at| std::iter::repeat_n(*at, extra))
    });
    let there = arrivals_there(rows, &replies, &reported);
    Attributed {
        flow,
        evidence: match (exact, replies.is_empty()) {
            (true, _) => LossAttribution::Exact,
            (false, false) => LossAttribution::Window,
            (false, true) => LossAttribution::None,
        },
        fates: ByDirection {
            down: DirectionFates {
                packets: fates_down(rows, &replies, &there, &sent, &known, coverage, &up),
                copies: Some(copies_of_replies(&rows.replies, &sent)),
                // Replies left in the order of their count, whatever order their test packets came in.
                order: Some(order(replies.iter().map(|row| (row.sequence, row.reflector_count, row.received)), &sent)),
            },
            up: DirectionFates {
                packets: up,
                copies: Some(copies_up.collect()),
                order: Some(order(there.iter().map(|(sequence, at)| (*sequence, *sequence, *at)), &sent)),
            },
        },
    }
}

/// The first copy of each reply in the order of arrival. A reply is known by its count: every arrival at the reflector has
/// its own.
fn first_copies(replies: &[ProbeReceived]) -> Vec<ProbeReceived> {
    let mut counts = HashSet::new();
    replies.iter().filter(|reply| counts.insert(reply.reflector_count)).copied().collect()
}

fn copies_of_replies(replies: &[ProbeReceived], sent: &HashMap<u32, TestTime>) -> Vec<TestTime> {
    let mut counts = HashSet::new();
    let copies = replies.iter().filter(|reply| !counts.insert(reply.reflector_count));
    copies.filter_map(|reply| sent.get(&reply.sequence).copied()).collect()
}

/// Arrivals at the reflector in their order: those that the server reported, and after them those known only from
/// replies.
fn arrivals_there(rows: &Rows, replies: &[ProbeReceived], reported: &HashSet<u32>) -> Vec<(u32, TestTime)> {
    let mut unreported: Vec<&ProbeReceived> =
        replies.iter().filter(|reply| !reported.contains(&reply.sequence)).collect();
    unreported.sort_by_key(|reply| reply.reflector_count);
    let unreported = unreported.into_iter().map(|reply| (reply.sequence, reply.reflector_received));
    rows.arrivals.iter().map(|row| (row.sequence, row.received)).chain(unreported).collect()
}

/// First copies in the order of arrival, with how each is displaced. Each comes as the number of its test packet, its
/// own number in the order of sending, and when it arrived.
fn order(
    arrivals: impl Iterator<Item = (u32, u32, TestTime)>,
    sent: &HashMap<u32, TestTime>,
) -> Vec<(TestTime, Option<Displacement>)> {
    let mut seen = HashSet::new();
    let firsts: Vec<_> = arrivals.filter(|(_, number, _)| seen.insert(*number)).collect();
    let in_order: Vec<Arrival> = firsts.iter().map(|(_, number, at)| Arrival { number: *number, at: *at }).collect();
    let displaced = firsts.iter().zip(displacements(&in_order));
    displaced.filter_map(|((sequence, ..), displaced)| Some((*sent.get(sequence)?, displaced))).collect()
}

/// The fate of each reply, in the order in which the reflector sent them. A packet that arrived twice has two.
fn fates_down(
    rows: &Rows,
    replies: &[ProbeReceived],
    there: &[(u32, TestTime)],
    sent: &HashMap<u32, TestTime>,
    known: &HashMap<u32, Known>,
    coverage: &Coverage<'_>,
    up: &[(TestTime, Fate)],
) -> Vec<(TestTime, Fate)> {
    let by_count: HashMap<u32, &ProbeReceived> = replies.iter().map(|reply| (reply.reflector_count, reply)).collect();
    // The k-th arrival is answered by the reply of count k, where none of the server's rows is missing before it.
    let counted = |index: usize| index.checked_add(1).and_then(|count| by_count.get(&u32::try_from(count).ok()?));
    let is_numbered = replies.iter().all(|reply| {
        let row = (reply.reflector_count as usize).checked_sub(1).and_then(|index| rows.arrivals.get(index));
        row.is_some_and(|row| row.sequence == reply.sequence)
    });
    // Else the first arrivals of a packet are taken to be the answered ones.
    let mut by_packet: HashMap<u32, Vec<&ProbeReceived>> = HashMap::new();
    for reply in replies.iter().rev().filter(|_| !is_numbered) {
        by_packet.entry(reply.sequence).or_default().push(reply);
    }
    let fate = |reply: Option<&ProbeReceived>| match reply {
        None => Fate::Lost,
        Some(reply) => {
            let left = coverage.clock.map(|clock| clock.client_time(reply.reflector_sent));
            let late = left.is_some_and(|left| reply.received.since(left) > coverage.waiting_time);
            if late { Fate::Late } else { Fate::Arrived }
        }
    };
    let mut packets = Vec::new();
    for (index, (sequence, _)) in there.iter().enumerate() {
        let reply = if is_numbered { counted(index).copied() } else { by_packet.get_mut(sequence).and_then(Vec::pop) };
        packets.extend(sent.get(sequence).map(|at| (*at, fate(reply))));
    }
    // Arrivals known only from a window were answered, and the answer did not arrive.
    let in_window = known.iter().filter(|(_, packet)| packet.in_window && packet.reported == 0 && packet.answered == 0);
    packets.extend(in_window.filter_map(|(sequence, _)| Some((*sent.get(sequence)?, Fate::Lost))));
    packets.extend(up.iter().filter(|(_, fate)| *fate == Fate::Open));
    if packets.len() > there.len() {
        packets.sort_by_key(|(at, _)| *at);
    }
    packets
}

/// A flow of exchanges, one at a time: a request without a response in time was lost, or the response was.
pub(super) fn of_exchanges<'a>(flow: &'a FlowSpec, rows: &Rows, coverage: &Coverage<'_>) -> Attributed<'a> {
    let mut arrivals: HashMap<u32, usize> = HashMap::new();
    for row in &rows.arrivals {
        *arrivals.entry(row.sequence).or_default() += 1;
    }
    let whole = rows.exchanges.iter().all(|row| row.answered == 0 || arrivals.contains_key(&row.sequence));
    let is_decided =
        |row: &Transaction| row.answered != 0 || arrivals.contains_key(&row.sequence) || coverage.reaches(row.started);
    let exact = whole && rows.exchanges.iter().all(is_decided);
    let (mut up, mut down, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for exchange in &rows.exchanges {
        let at = exchange.started;
        let arrived = arrivals.get(&exchange.sequence).copied().unwrap_or(0);
        let answered = exchange.answered != 0;
        copies.extend(std::iter::repeat_n(at, arrived.saturating_sub(1)));
        if answered || arrived > 0 {
            up.push((at, Fate::Arrived));
            down.push((at, if answered { Fate::Arrived } else { Fate::Lost }));
        } else if whole && coverage.reaches(at) {
            up.push((at, Fate::Lost));
        } else {
            up.push((at, Fate::Open));
            down.push((at, Fate::Open));
        }
    }
    Attributed {
        flow,
        evidence: if exact { LossAttribution::Exact } else { LossAttribution::None },
        fates: ByDirection {
            up: DirectionFates { packets: up, copies: Some(copies), order: None },
            down: DirectionFates { packets: down, copies: None, order: None },
        },
    }
}

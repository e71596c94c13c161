//! The bytes of connections that are opened one after another: each is a handshake, one question, one answer and the
//! end. No host counts their segments. A segment that is repeated until it arrives is carried once; of the others, and
//! of retransmitted SYNs, which are counted, as many arrived as their answers and the probes say.

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::Connection;
use rrul_model::time::TestTime;

use crate::metrics::octets::carried_share::CarriedShare;
use crate::metrics::octets::tcp_octets::{TIMESTAMPS, header_octets};
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// Options of a SYN segment: maximum segment size, SACK, timestamps, window scale.
const SYN_OPTIONS: u64 = 20;
/// The question, as docs of the protocol have it: the client's opening.
const QUESTION: u64 = 28;
/// The answer: the server's opening.
const ANSWER: u64 = 8;

/// Segments of an attempt in one direction: how many, and their bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Segments {
    count: f64,
    octets: f64,
}

impl Segments {
    fn add(&mut self, count: f64, length: u64) {
        self.count += count;
        self.octets += count * length as f64;
    }
}

/// The share that arrived of segments that are not repeated until they do.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    /// Of those that get no answer, such as acknowledgments.
    unconfirmed: f64,
    /// Of SYNs that were not answered in time.
    unanswered: f64,
}

impl Arrived {
    /// What was sent, arrived or not.
    const ALL: Self = Self { unconfirmed: 1.0, unanswered: 1.0 };
}

/// Puts the attempts of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, attempts: &[Connection], share: &CarriedShare<'_>, traffic: &mut Traffic<'_>) {
    // SYNs of an attempt are sent until one is answered.
    let syns = |row: &Connection| (row.started, 1 + u64::from(row.syn_retransmits));
    let one = |row: &Connection| (row.started, u64::from(row.reached != Connection::UNANSWERED));
    let sent = Counter::of_arrivals(attempts.iter().map(syns));
    let answered = Counter::of_arrivals(attempts.iter().map(one));
    for direction in Direction::ALL {
        let packets = |arrived: &dyn Fn(TestTime) -> Arrived| {
            let segments = |row: &Connection| segments(flow.family, row, direction, arrived(row.started));
            let counts: Vec<(TestTime, Segments)> = attempts.iter().map(|row| (row.started, segments(row))).collect();
            Packets {
                part: Part::from_flow(flow),
                family: flow.family,
                direction,
                basis: Basis::Estimated,
                count: Counter::of_shares(counts.iter().map(|(at, segments)| (*at, segments.count))),
                octets: Counter::of_shares(counts.iter().map(|(at, segments)| (*at, segments.octets))),
            }
        };
        traffic.offered.push(packets(&|_| Arrived::ALL));
        let unconfirmed = |at| match direction {
            Direction::Up => share.arrived(&answered, &sent, at),
            Direction::Down => 1.0,
        };
        traffic
            .carried
            .push(packets(&|at| Arrived { unconfirmed: unconfirmed(at), unanswered: share.arrived_unanswered(at) }));
    }
}

fn segments(family: AddressFamily, row: &Connection, direction: Direction, arrived: Arrived) -> Segments {
    let (bare, timed) = (header_octets(family), header_octets(family) + TIMESTAMPS);
    let syn = bare + SYN_OPTIONS;
    let mut segments = Segments::default();
    let connected = [Connection::CONNECTED, Connection::ANSWERED].contains(&row.reached);
    match direction {
        Direction::Up => {
            if row.reached != Connection::IMPOSSIBLE {
                let answered = connected || row.reached == Connection::REFUSED;
                let (first, again) = (if answered { 1.0 } else { arrived.unanswered }, f64::from(row.syn_retransmits));
                segments.add(first + again * arrived.unanswered, syn);
            }
            if connected {
                // The handshake's end, and the question.
                segments.add(arrived.unconfirmed, timed);
                segments.add(1.0, timed + QUESTION);
            }
            if row.reached == Connection::ANSWERED {
                // The answer is acknowledged, the connection reset; so is the server's end of it, when that arrives.
                segments.add(2.0 * arrived.unconfirmed, timed);
                segments.add(arrived.unconfirmed, bare);
            }
        }
        Direction::Down => {
            if row.reached == Connection::REFUSED {
                segments.add(1.0, bare);
            }
            if connected {
                segments.add(1.0, syn);
            }
            if row.reached == Connection::ANSWERED {
                // The question is acknowledged, then answered, and the server closes.
                segments.add(1.0, timed);
                segments.add(1.0, timed + ANSWER);
                segments.add(1.0, timed);
            }
        }
    }
    segments
}

//! The octets of connections that are opened one after another: each is a handshake, one question, one answer and the
//! end. Nobody counts their segments. SYN segments are counted by the client's kernel; of the others as many are taken to
//! have arrived as of the numbered packets of the same family and direction in the same phase: segments without data once
//! if at all, the question and the answer as often as it took one to arrive.

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::Connection;
use rrul_model::time::TestTime;

use crate::metrics::octets::delivered_share::{Delivered, DeliveredShares};
use crate::metrics::octets::tcp_octets::{TIMESTAMPS, header_octets};
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// Options of a SYN segment: maximum segment size, SACK, timestamps, window scale.
const SYN_OPTIONS: u64 = 20;
/// The question, as docs of the protocol have it: the client's opening.
const QUESTION: u64 = 28;
/// The answer: the server's opening.
const ANSWER: u64 = 8;

/// Segments of an attempt in one direction that were sent or arrived, on average over many such attempts.
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

/// Puts the attempts of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, attempts: &[Connection], delivered: &DeliveredShares, traffic: &mut Traffic<'_>) {
    for direction in Direction::ALL {
        let packets = |delivered: &dyn Fn(TestTime) -> Delivered| {
            let of = |row: &Connection| (row.started, segments(flow.family, row, direction, delivered(row.started)));
            let segments: Vec<(TestTime, Segments)> = attempts.iter().map(of).collect();
            Packets {
                part: Part::of(flow),
                family: flow.family,
                direction,
                basis: Basis::Estimated,
                count: Counter::of_expected(segments.iter().map(|(at, segments)| (*at, segments.count))),
                octets: Counter::of_expected(segments.iter().map(|(at, segments)| (*at, segments.octets))),
            }
        };
        traffic.carried.push(packets(&|at| delivered.at(flow.family, at)));
        traffic.offered.push(packets(&|_| Delivered::ALL));
    }
}

fn segments(family: AddressFamily, row: &Connection, direction: Direction, delivered: Delivered) -> Segments {
    let (bare, timed) = (header_octets(family), header_octets(family) + TIMESTAMPS);
    let syn = bare + SYN_OPTIONS;
    let mut segments = Segments::default();
    let connected = [Connection::CONNECTED, Connection::ANSWERED].contains(&row.reached);
    let answered = row.reached == Connection::ANSWERED;
    let Delivered { up, down } = delivered;
    match direction {
        Direction::Up => {
            let in_vain = delivered.without_answer();
            match row.reached {
                Connection::IMPOSSIBLE => {}
                Connection::UNANSWERED => segments.add((1.0 + f64::from(row.syn_retransmits)) * in_vain, syn),
                _ => segments.add(1.0 + f64::from(row.syn_retransmits) * in_vain, syn),
            }
            if connected {
                // The handshake's end, and the question, which was answered if it arrived.
                segments.add(up, timed);
                segments.add(if answered { 1.0 } else { up }, timed + QUESTION);
            }
            if answered {
                // The answer is acknowledged, the connection reset; so is the server's end of it, when that arrives.
                segments.add(2.0 * up, timed);
                segments.add(up * down, bare);
            }
        }
        Direction::Down => {
            if row.reached == Connection::REFUSED {
                segments.add(1.0, bare);
            }
            if connected {
                segments.add(1.0, syn);
            }
            if answered {
                // The question is acknowledged, then answered, and the server closes.
                segments.add(down, timed);
                segments.add(1.0, timed + ANSWER);
                segments.add(down, timed);
            }
        }
    }
    segments
}

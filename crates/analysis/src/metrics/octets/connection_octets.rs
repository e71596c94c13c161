//! The octets of connections that are opened one after another: each is a handshake, one question, one answer and the
//! end. Nobody counts their segments, so they are taken to be those of a connection that loses none, but for the SYN
//! segments that were sent again, which are counted.

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::Connection;
use rrul_model::time::TestTime;

use crate::metrics::octets::tcp_octets::{TIMESTAMPS, header_octets};
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// Options of a SYN segment: maximum segment size, SACK, timestamps, window scale.
const SYN_OPTIONS: u64 = 20;
/// The question, as docs of the protocol have it: the client's opening.
const QUESTION: u64 = 28;
/// The answer: the server's opening.
const ANSWER: u64 = 8;

/// Segments of an attempt in one direction: how many, and their octets.
#[derive(Debug, Clone, Copy, Default)]
struct Segments {
    count: u64,
    octets: u64,
}

impl Segments {
    fn add(&mut self, count: u64, length: u64) {
        self.count += count;
        self.octets += count * length;
    }
}

/// Puts the attempts of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, attempts: &[Connection], traffic: &mut Traffic<'_>) {
    for direction in Direction::ALL {
        let mut counts: Vec<(TestTime, Segments)> =
            attempts.iter().map(|row| of(flow.family, row, direction)).collect();
        counts.sort_by_key(|(at, _)| *at);
        let before = counts.first().map(|(at, _)| (TestTime(at.0.saturating_sub(1)), 0));
        let summed = |part: fn(&Segments) -> u64| {
            let mut sum: u64 = 0;
            let totals = counts.iter().map(|(at, segments)| {
                sum = sum.saturating_add(part(segments));
                (*at, sum)
            });
            Counter::new(before.into_iter().chain(totals).collect())
        };
        let packets = Packets {
            part: Part::of(flow),
            family: flow.family,
            direction,
            basis: Basis::Estimated,
            count: summed(|segments| segments.count),
            octets: summed(|segments| segments.octets),
        };
        traffic.carried.push(packets.clone());
        traffic.offered.push(packets);
    }
}

fn of(family: AddressFamily, row: &Connection, direction: Direction) -> (TestTime, Segments) {
    let (bare, timed) = (header_octets(family), header_octets(family) + TIMESTAMPS);
    let syn = bare + SYN_OPTIONS;
    let mut segments = Segments::default();
    let connected = [Connection::CONNECTED, Connection::ANSWERED].contains(&row.reached);
    match direction {
        Direction::Up => {
            if row.reached != Connection::IMPOSSIBLE {
                segments.add(1 + u64::from(row.syn_retransmits), syn);
            }
            if connected {
                // The handshake's end, and the question.
                segments.add(1, timed);
                segments.add(1, timed + QUESTION);
            }
            if row.reached == Connection::ANSWERED {
                // The answer is acknowledged, the connection reset; so is the server's end of it, when that arrives.
                segments.add(2, timed);
                segments.add(1, bare);
            }
        }
        Direction::Down => {
            if row.reached == Connection::REFUSED {
                segments.add(1, bare);
            }
            if connected {
                segments.add(1, syn);
            }
            if row.reached == Connection::ANSWERED {
                // The question is acknowledged, then answered, and the server closes.
                segments.add(1, timed);
                segments.add(1, timed + ANSWER);
                segments.add(1, timed);
            }
        }
    }
    (row.started, segments)
}

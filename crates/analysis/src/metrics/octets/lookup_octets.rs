//! The bytes of DNS lookups: a question and an answer each, of known length. They are counted as if the way to the
//! resolver were the line under test; that of the host's own resolver need not be.

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::NameLookup;
use rrul_model::time::TestTime;

use crate::metrics::octets::carried_share::CarriedShare;
use crate::metrics::octets::tcp_octets::datagram_header_octets;
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// Puts the lookups of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, lookups: &[NameLookup], share: &CarriedShare<'_>, traffic: &mut Traffic<'_>) {
    for direction in Direction::ALL {
        let packet = |row: &NameLookup| match direction {
            Direction::Up => {
                // A question without an answer is counted by no host.
                let answered = row.answer_octets > 0;
                let arrived = if answered { 1.0 } else { share.arrived_unanswered(row.started) };
                (row.started, row.question_octets, arrived)
            }
            Direction::Down => (TestTime(row.started.0.saturating_add(row.took.0)), row.answer_octets, 1.0),
        };
        let all: Vec<(TestTime, u16, f64)> = lookups.iter().map(packet).filter(|(_, octets, _)| *octets > 0).collect();
        let packets = |part_of: fn(f64) -> f64| {
            let octets = |octets: u16| (u64::from(octets) + datagram_header_octets(flow.family)) as f64;
            let whole = |(at, length, arrived): &(TestTime, u16, f64)| (*at, part_of(*arrived) * octets(*length));
            Packets {
                part: Part::from_flow(flow),
                family: flow.family,
                direction,
                basis: Basis::Counted,
                count: Counter::of_shares(all.iter().map(|(at, _, arrived)| (*at, part_of(*arrived)))),
                octets: Counter::of_shares(all.iter().map(whole)),
            }
        };
        traffic.offered.push(packets(|_| 1.0));
        traffic.carried.push(packets(|arrived| arrived));
    }
}

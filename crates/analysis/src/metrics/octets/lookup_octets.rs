//! The octets of look-ups of names: a question and an answer each, of known length. They are counted as if the way to the
//! resolver were the line under test; that of the host's own resolver need not be.

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::NameLookup;
use rrul_model::time::TestTime;

use crate::metrics::octets::delivered_share::DeliveredShares;
use crate::metrics::octets::tcp_octets::ip_header_octets;
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// UDP header.
const HEADER: u64 = 8;

/// Puts the look-ups of one flow into the traffic. Only answers say that a question arrived.
pub(crate) fn count(flow: &FlowSpec, lookups: &[NameLookup], delivered: &DeliveredShares, traffic: &mut Traffic<'_>) {
    let headers = ip_header_octets(flow.family) + HEADER;
    for direction in Direction::ALL {
        let packet = |row: &NameLookup| match direction {
            Direction::Up => (row.started, row.question_octets),
            Direction::Down => (TestTime(row.started.0.saturating_add(row.took.0)), row.answer_octets),
        };
        let arrived = |row: &NameLookup| match direction {
            Direction::Up if row.answer_octets == 0 => delivered.at(flow.family, row.started).without_answer(),
            _ => 1.0,
        };
        let packets = |basis, share: &dyn Fn(&NameLookup) -> f64| {
            let sent = || lookups.iter().map(|row| (packet(row), share(row))).filter(|((_, octets), _)| *octets > 0);
            Packets {
                part: Part::of(flow),
                family: flow.family,
                direction,
                basis,
                count: Counter::of_expected(sent().map(|((at, _), share)| (at, share))),
                octets: Counter::of_expected(
                    sent().map(|((at, octets), share)| (at, share * (u64::from(octets) + headers) as f64)),
                ),
            }
        };
        traffic.offered.push(packets(Basis::Counted, &|_| 1.0));
        traffic.carried.push(packets(Basis::Counted, &arrived));
    }
}

//! The octets of look-ups of names: a question and an answer each, of known length. They are counted as if the way to the
//! resolver were the line under test; that of the host's own resolver need not be.

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::NameLookup;
use rrul_model::time::TestTime;

use crate::metrics::octets::tcp_octets::ip_header_octets;
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// UDP header.
const HEADER: u64 = 8;

/// Puts the look-ups of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, lookups: &[NameLookup], traffic: &mut Traffic<'_>) {
    for direction in Direction::ALL {
        let packet = |row: &NameLookup| match direction {
            // Whether a question arrived is told by its answer alone, and nobody tells of one that has none.
            Direction::Up => (row.started, row.question_octets),
            Direction::Down => (TestTime(row.started.0.saturating_add(row.took.0)), row.answer_octets),
        };
        let packets = || lookups.iter().map(packet).filter(|(_, octets)| *octets > 0);
        let whole = |(at, octets): (TestTime, u16)| (at, u64::from(octets) + ip_header_octets(flow.family) + HEADER);
        let counted = Packets {
            part: Part::of(flow),
            family: flow.family,
            direction,
            basis: Basis::Counted,
            count: Counter::of_arrivals(packets().map(|(at, _)| (at, 1))),
            octets: Counter::of_arrivals(packets().map(whole)),
        };
        traffic.offered.push(counted.clone());
        traffic.carried.push(counted);
    }
}

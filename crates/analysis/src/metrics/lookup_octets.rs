//! The octets of look-ups of names: a question and an answer each, of known length. They are counted as if the way to the
//! resolver were the line under test; that of the host's own resolver need not be.

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::NameLookup;
use rrul_model::time::TestTime;

use crate::metrics::tcp_octets::ip_header_octets;
use crate::metrics::traffic::{Basis, Packets, Part, Traffic};
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
        let mut packets: Vec<(TestTime, u16)> = lookups.iter().map(packet).filter(|(_, octets)| *octets > 0).collect();
        packets.sort_unstable();
        let before = packets.first().map(|(at, _)| (TestTime(at.0.saturating_sub(1)), 0));
        let summed = |of: &dyn Fn(u64) -> u64| {
            let mut sum = 0_u64;
            let totals = packets.iter().map(|(at, octets)| {
                sum = sum.saturating_add(of(u64::from(*octets)));
                (*at, sum)
            });
            Counter::new(before.into_iter().chain(totals).collect())
        };
        let counted = Packets {
            part: Part::of(flow),
            family: flow.family,
            direction,
            basis: Basis::Counted,
            count: summed(&|_| 1),
            octets: summed(&|octets| octets + ip_header_octets(flow.family) + HEADER),
        };
        traffic.offered.push(counted.clone());
        traffic.carried.push(counted);
    }
}

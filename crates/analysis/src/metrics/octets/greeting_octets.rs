//! The bytes of greetings and of the answers to them. The client notes what it sends; no host counts what arrives: as much
//! as of the probes.

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::GreetingSent;
use rrul_model::time::TestTime;

use crate::metrics::octets::carried_share::CarriedShare;
use crate::metrics::octets::tcp_octets::datagram_header_octets;
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// Puts the greetings of one flow into the traffic.
pub(crate) fn count(flow: &FlowSpec, greetings: &[GreetingSent], share: &CarriedShare<'_>, traffic: &mut Traffic<'_>) {
    let packets = |direction, arrived: &dyn Fn(TestTime) -> f64| {
        let octets = |row: &GreetingSent| (datagram_header_octets(flow.family) + u64::from(row.length)) as f64;
        Packets {
            part: Part::from_flow(flow),
            family: flow.family,
            direction,
            basis: Basis::Estimated,
            count: Counter::of_shares(greetings.iter().map(|row| (row.sent, arrived(row.sent)))),
            octets: Counter::of_shares(greetings.iter().map(|row| (row.sent, arrived(row.sent) * octets(row)))),
        }
    };
    let up = |at| share.arrived_up(at);
    traffic.offered.push(packets(Direction::Up, &|_| 1.0));
    traffic.carried.push(packets(Direction::Up, &up));
    // Each that arrives is answered.
    traffic.offered.push(packets(Direction::Down, &up));
    traffic.carried.push(packets(Direction::Down, &|at| share.arrived_up(at) * share.arrived_down(at)));
}

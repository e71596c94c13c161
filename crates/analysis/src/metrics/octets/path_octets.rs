//! The bytes of path traces: packets, whose length is noted, and answers, whose length follows from it. They are counted as if
//! all of the way were the line under test, and a packet as carried when it was answered. What the sending host's own
//! link refused has never left.

use foldhash::{HashMap, HashSet};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::{OWN_LINK, PathAnswer, PathProbe};
use rrul_model::time::TestTime;

use crate::metrics::octets::tcp_octets::datagram_header_octets;
use crate::metrics::octets::traffic::{Basis, Packets, Part, Traffic};
use crate::statistics::counter::Counter;

/// UDP payload of the destination's answer.
const REPLY: u64 = 80;
/// Longest answers of routers (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4): what they quote is cut.
const LONGEST_IPV4: u64 = 576;
const LONGEST_IPV6: u64 = 1280;

/// Puts one trace into the traffic.
pub(crate) fn count(flow: &FlowSpec, probes: &[PathProbe], answers: &[PathAnswer], traffic: &mut Traffic<'_>) {
    let Some(direction) = flow.direction else { return };
    let refused: HashSet<u32> = answers.iter().filter(|row| row.kind == OWN_LINK).map(|row| row.sequence).collect();
    let probes = || probes.iter().filter(|row| !refused.contains(&row.sequence));
    let lengths: HashMap<u32, u64> = probes().map(|row| (row.sequence, u64::from(row.length))).collect();
    let answered: HashMap<u32, TestTime> = answers.iter().map(|row| (row.sequence, row.received)).collect();
    let headers = datagram_header_octets(flow.family);
    let longest = if flow.family == AddressFamily::Ipv4 { LONGEST_IPV4 } else { LONGEST_IPV6 };
    let sent = |row: &PathProbe| (row.sent, u64::from(row.length));
    let carried = |row: &&PathProbe| answered.contains_key(&row.sequence);
    let packets = |direction: Direction, basis: Basis, octets: Vec<(TestTime, u64)>| Packets {
        part: Part::from_flow(flow),
        family: flow.family,
        direction,
        basis,
        count: Counter::of_arrivals(octets.iter().map(|(at, _)| (*at, 1))),
        octets: Counter::of_arrivals(octets),
    };
    traffic.offered.push(packets(direction, Basis::Counted, probes().map(sent).collect()));
    traffic.carried.push(packets(direction, Basis::Counted, probes().filter(carried).map(sent).collect()));
    let back = |row: &PathAnswer| {
        let quoted = headers + lengths.get(&row.sequence)?;
        Some((row.received, if row.kind == 0 { headers + REPLY } else { quoted.min(longest) }))
    };
    let answers = packets(direction.opposite(), Basis::Estimated, answers.iter().filter_map(back).collect());
    traffic.offered.push(answers.clone());
    traffic.carried.push(answers);
}

//! Where on the way markings are rewritten: what routers quote of packets, against what was sent.

use std::collections::BTreeMap;

use rrul_model::marking::{Dscp, ServiceClass};
use rrul_model::observation::FULL_HOP_LIMIT;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::path::path_packets::Packet;

/// One change of a marking on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remarking {
    /// Field that was remarked: `dscp` or `ecn`.
    #[schemars(extend("enum" = ["dscp", "ecn"]))]
    pub what: &'static str,
    /// Its value before.
    pub from: String,
    /// Its value after.
    pub to: String,
    /// Last hop that saw the old value; 0 for the sender. This hop itself may have remarked it.
    pub after_hop: u8,
    /// First hop that saw the new value.
    pub seen_at_hop: u8,
}

/// The changes that these packets, all of the idle line, show. `last` is the number of the destination.
pub(crate) fn remarkings<'a>(packets: impl Iterator<Item = &'a Packet>, last: u8) -> Vec<Remarking> {
    let mut seen: BTreeMap<u8, BTreeMap<u8, BTreeMap<u8, usize>>> = BTreeMap::new();
    for packet in packets {
        let (Some((octet, _)), Some(answer)) = (packet.quote, packet.answer) else { continue };
        let far_end = answer.is_far_ends() || packet.hop_limit >= FULL_HOP_LIMIT;
        let hop = if far_end { last } else { packet.hop_limit };
        *seen.entry(packet.octet).or_default().entry(hop).or_default().entry(octet).or_default() += 1;
    }
    let mut found = Vec::new();
    for (sent, hops) in seen {
        let (mut before, mut octet) = (0, sent);
        for (hop, octets) in hops {
            let Some(now) = mostly(&octets, octet) else { continue };
            let mut change = |what, from: u8, to: u8, word: fn(u8) -> String| {
                let change = Remarking { what, from: word(from), to: word(to), after_hop: before, seen_at_hop: hop };
                if from != to && !found.contains(&change) {
                    found.push(change);
                }
            };
            change("dscp", octet >> 2, now >> 2, dscp);
            change("ecn", octet & 3, now & 3, ecn);
            (before, octet) = (hop, now);
        }
    }
    found
}

/// What most of a hop's answers quote, where the hop before saw `before`; of equals that.
///
/// A queue may have marked a packet with CE that says it understands (RFC 3168), which is no rewriting, unless it is done to
/// each of several.
fn mostly(octets: &BTreeMap<u8, usize>, before: u8) -> Option<u8> {
    let marked = |octet: u8| octet & 3 == CE && ![0, CE].contains(&(before & 3));
    let all = octets.iter().all(|(octet, _)| marked(*octet)) && octets.values().sum::<usize>() >= SEVERAL;
    let counted = octets.iter().filter(|(octet, _)| all || !marked(**octet));
    counted.max_by_key(|(octet, count)| (**count, **octet == before)).map(|(octet, _)| *octet)
}

/// Congestion experienced.
const CE: u8 = 3;

/// So many packets are not all marked on an idle line.
const SEVERAL: usize = 3;

fn dscp(code_point: u8) -> String {
    Dscp::new(code_point).map_or_else(String::new, |dscp| ServiceClass::from_dscp(dscp).to_string())
}

fn ecn(code_point: u8) -> String {
    ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(code_point & 3)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_packets_that_a_queue_has_marked_are_no_rewriting() {
        let quoted = |octets: &[(u8, usize)]| mostly(&octets.iter().copied().collect(), 0xb9);
        assert_eq!(quoted(&[(0xbb, 1)]), None);
        assert_eq!(quoted(&[(0xb9, 1), (0xbb, 1)]), Some(0xb9));
        assert_eq!(quoted(&[(0xb9, 1), (0xbb, 9)]), Some(0xb9));
        assert_eq!(quoted(&[(0xbb, 3)]), Some(0xbb));
        assert_eq!(quoted(&[(0xb9, 1), (0x01, 1)]), Some(0xb9), "of equals what it was");
        assert_eq!(mostly(&[(3, 1)].into_iter().collect(), 0), Some(3), "no queue marks what does not understand it");
    }
}

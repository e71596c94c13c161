//! Where on the way markings are rewritten: what routers quote of packets, against what was sent.

use std::collections::BTreeMap;

use rrul_model::marking::{Dscp, ServiceClass};
use serde::Serialize;

use crate::metrics::path_packets::{FULL_HOP_LIMIT, Packet};

/// One change of a marking on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remarking {
    /// `dscp` or `ecn`.
    pub what: &'static str,
    /// What it was.
    pub from: String,
    /// What it became.
    pub to: String,
    /// The last hop that saw it as it was; 0 for the sender. What this hop forwards may be what it has rewritten.
    pub after_hop: u8,
    /// The first hop that saw it rewritten.
    pub seen_at_hop: u8,
}

/// The changes that these packets, all of the idle line, show. `last` is the number of the far end.
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
            // What most of its answers quote: a single CE is a queue's and no rewriting.
            let Some((now, _)) = octets.into_iter().max_by_key(|(_, count)| *count) else { continue };
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

fn dscp(code_point: u8) -> String {
    Dscp::new(code_point).map_or_else(String::new, |dscp| ServiceClass::of(dscp).to_string())
}

fn ecn(code_point: u8) -> String {
    ["Not-ECT", "ECT(1)", "ECT(0)", "CE"][usize::from(code_point & 3)].to_owned()
}

//! The largest packet that a path carries whole, and which router refused more (RFC 8899, RFC 1191, RFC 8201).

use rrul_model::flow::AddressFamily;
use rrul_model::observation::FULL_HOP_LIMIT;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::path::path_packets::{LONG, Packet, Traced};

/// The search begins with this: the MTU of Ethernet.
const LARGEST: u16 = 1500;

/// Unanswered packets of one length that are not lost by chance: as many as the search sends.
const TRIES: usize = 2;

/// Value of [`PathMtu::told_by`], instead of an address, for the sending host itself.
pub const SENDER: &str = "sender";

/// What was found of the path MTU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct PathMtu {
    /// Longest packet that reached the other host. Null if none of the long ones did.
    ///
    /// Source: RFC 8899.
    pub passed_octets: Option<u16>,
    /// Shortest packet that did not. Null when all did.
    pub failed_octets: Option<u16>,
    /// Host that reported a packet as too big: an address, or `sender` for the sending host's own link.
    ///
    /// Source: RFC 1191, RFC 8201.
    pub told_by: Option<String>,
    /// MTU that the report named.
    pub told_octets: Option<u32>,
    /// Common link type with that MTU.
    pub hint: Option<&'static str>,
}

/// What the long packets of a trace show.
pub(crate) fn path_mtu(traced: &Traced, family: AddressFamily) -> Option<PathMtu> {
    let long = || traced.packets.iter().filter(|packet| packet.length >= LONG && packet.hop_limit >= FULL_HOP_LIMIT);
    let reached = |packet: &&Packet| packet.answer.is_some_and(|answer| answer.is_far_ends());
    let passed = long().filter(reached).map(|packet| packet.length).max();
    let too_big = |packet: &Packet| {
        let answer = packet.answer?;
        let refused = answer.is_own_links()
            || match family {
                AddressFamily::Ipv4 => (answer.kind, answer.code) == (3, 4),
                AddressFamily::Ipv6 => answer.kind == 2,
            };
        refused.then_some(answer)
    };
    // What was lost by chance is shorter than one that got through, or was sent once and not again.
    let longer = || long().filter(|packet| !reached(packet) && passed.is_none_or(|passed| packet.length > passed));
    let times = |length: u16| longer().filter(|packet| packet.length == length).count();
    let failed = longer().filter(|packet| too_big(packet).is_some() || times(packet.length) >= TRIES);
    let failed = failed.map(|packet| packet.length).min();
    passed.or(failed)?;
    // A router that refused longer ones and forwarded this one is not the one at which it failed.
    let refusal = longer().filter(|packet| Some(packet.length) == failed).filter_map(too_big).next_back();
    Some(PathMtu {
        passed_octets: passed,
        failed_octets: failed,
        told_by: refusal.and_then(|answer| {
            let address = || traced.addresses.get(&answer.source).cloned();
            if answer.is_own_links() { Some(SENDER.to_owned()) } else { address() }
        }),
        told_octets: refusal.map(|answer| answer.mtu).filter(|mtu| *mtu > 0),
        hint: passed.filter(|_| failed.is_some()).and_then(hint),
    })
}

fn hint(mtu: u16) -> Option<&'static str> {
    Some(match mtu {
        LARGEST.. => return None,
        1492 => "PPPoE",
        1480 => "a tunnel of IP in IPv4",
        1472 | 1476 => "a GRE tunnel",
        1460 => "a tunnel of IPv4 in IPv6 (DS-Lite)",
        1450 => "VXLAN",
        1440 | 1420 => "a WireGuard tunnel",
        1280 => "the least that IPv6 allows: a tunnel",
        1300..1440 => "a tunnel",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::path::path_packets::Answer;
    use rrul_model::observation::OWN_LINK;
    use rrul_model::time::TestTime;
    use rrul_model::units::Delay;

    fn packet(length: u16, answer: Option<(u8, u8, u32)>) -> Packet {
        let at = TestTime(0);
        let answer =
            answer.map(|(kind, code, mtu)| Answer { at, round_trip: Delay(1), source: 3, kind, code, mtu, left: 60 });
        Packet { at, hop_limit: FULL_HOP_LIMIT, octet: 0, length, answer, quote: None }
    }

    fn found(packets: Vec<Packet>) -> Option<PathMtu> {
        let addresses = [(3, "192.0.2.3".to_owned())].into_iter().collect();
        path_mtu(&Traced { packets, addresses, ..Traced::default() }, AddressFamily::Ipv4)
    }

    #[test]
    fn a_router_that_reports_it_is_named() {
        let refused = packet(1500, Some((3, 4, 1420)));
        let mtu = found(vec![packet(108, Some((0, 0, 0))), refused, packet(1420, Some((0, 0, 0)))]).unwrap();
        assert_eq!((mtu.passed_octets, mtu.failed_octets), (Some(1420), Some(1500)));
        assert_eq!((mtu.told_by.as_deref(), mtu.told_octets), (Some("192.0.2.3"), Some(1420)));
        assert_eq!(mtu.hint, Some("a WireGuard tunnel"));
    }

    #[test]
    fn the_senders_own_link_is_distinguished_from_a_router() {
        let refused = packet(1500, Some((OWN_LINK, 0, 1420)));
        let mtu = found(vec![refused, packet(1420, Some((0, 0, 0)))]).unwrap();
        assert_eq!((mtu.passed_octets, mtu.failed_octets), (Some(1420), Some(1500)));
        assert_eq!((mtu.told_by.as_deref(), mtu.told_octets), (Some("sender"), Some(1420)));
    }

    #[test]
    fn a_refusal_of_a_longer_packet_is_not_that_of_a_shorter_one() {
        let refused = packet(1500, Some((OWN_LINK, 0, 1492)));
        let [lost, passed] = [packet(1468, None), packet(1460, Some((0, 0, 0)))];
        let mtu = found(vec![refused, packet(1492, None), packet(1492, None), lost, lost, passed]).unwrap();
        assert_eq!((mtu.passed_octets, mtu.failed_octets), (Some(1460), Some(1468)));
        assert_eq!((mtu.told_by, mtu.told_octets), (None, None));
    }

    #[test]
    fn a_whole_path_of_ethernet_has_no_limit_and_a_lost_packet_makes_none() {
        let lost_once = vec![packet(1500, None), packet(1500, Some((0, 0, 0)))];
        let mtu = found(lost_once).unwrap();
        assert_eq!((mtu.passed_octets, mtu.failed_octets, mtu.hint), (Some(1500), None, None));
        assert_eq!(found(vec![packet(108, Some((0, 0, 0)))]), None, "no long packet was sent");
        assert_eq!(found(vec![packet(1500, None)]), None, "one that was lost says nothing");
        let mtu = found(vec![packet(1500, None), packet(1500, None)]).unwrap();
        assert_eq!((mtu.passed_octets, mtu.failed_octets), (None, Some(1500)));
    }
}

//! The routers between client and server: their number, what lies behind which, and how each answers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rrul_model::flow::AddressFamily;

/// Most routers on a path: as many as traceroute asks for by default, the hosts not counted.
pub(crate) const MOST_HOPS: u8 = 30;

/// The network in the routers' addresses when `addresses` is 0: far from the hosts' own.
const FIRST_NETWORK: u8 = 100;

/// The largest `addresses`: networks are distinguished by one byte.
pub(crate) const MOST_ADDRESSES: u8 = u8::MAX - FIRST_NETWORK;

/// A link on the path that carries less than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowLink {
    /// It lies behind this router as seen from the client.
    pub hop: u8,
    /// Most bytes of IP that it carries; IPv6 asks for 1280 (RFC 8200 section 5).
    pub octets: u16,
}

/// The path of the routers' answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyPath {
    /// The way of everything else: they wait in the queue that lies between their router and their receiver.
    #[default]
    Same,
    /// Another one, as fast, on which nothing waits.
    Other,
}

/// Routers between the two hosts, numbered from the client: 1 to `hops`.
///
/// A router takes one from the TTL of what it forwards, drops what it would have to forward with none left, and reports
/// it to the sender (RFC 792, RFC 4443: time exceeded).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Their number, 1 to 30.
    pub hops: u8,
    /// The router out of which the up direction's rate and queue send, towards the server.
    pub up_queue_after: u8,
    /// The router out of which the down direction's rate and queue send, towards the client.
    pub down_queue_after: u8,
    /// Those that never answer.
    pub silent: BTreeSet<u8>,
    /// Those that answer one address at most once in this time. That a packet is too big is always reported, as Linux
    /// does.
    pub rate_limited: BTreeMap<u8, Duration>,
    /// Those that answer late, by a time drawn uniformly from zero to this for each answer.
    pub slow: BTreeMap<u8, Duration>,
    /// Those that quote the IP header and 8 bytes (RFC 792). The others quote as Linux does: as much as makes an answer of
    /// 576 bytes with IPv4, of 1280 with IPv6.
    pub short_quotes: BTreeSet<u8>,
    /// Those whose answers are damaged, each in the next of these ways: wrong ICMP checksum, quote cut to 4 bytes, random
    /// bytes as quote, wrong ports in the quote, unknown ICMP type, lengths that are not so.
    pub garbage: BTreeSet<u8>,
    /// The router that rewrites DSCP and ECN as it forwards up. What it quotes itself is as it came.
    pub remark_up_at: u8,
    /// The router that rewrites DSCP and ECN as it forwards down.
    pub remark_down_at: u8,
    /// The link that carries less than the others, in both directions.
    pub mtu: Option<NarrowLink>,
    /// The path of the answers.
    pub reply_path: ReplyPath,
    /// A number, 0 to 155, that is part of the routers' addresses: with another one it is another route.
    pub addresses: u8,
}

impl Path {
    /// So many routers that answer as they should, with both queues at the client's end.
    pub fn new(hops: u8) -> Self {
        Self {
            hops,
            up_queue_after: 1,
            down_queue_after: 1,
            silent: BTreeSet::new(),
            rate_limited: BTreeMap::new(),
            slow: BTreeMap::new(),
            short_quotes: BTreeSet::new(),
            garbage: BTreeSet::new(),
            remark_up_at: 1,
            remark_down_at: hops,
            mtu: None,
            reply_path: ReplyPath::Same,
            addresses: 0,
        }
    }

    /// The address from which this router answers: `10.78.100.3` or `fd78:0:0:64::3` is the third where `addresses` is 0.
    pub fn address(&self, family: AddressFamily, hop: u8) -> IpAddr {
        let network = FIRST_NETWORK.saturating_add(self.addresses);
        match family {
            AddressFamily::Ipv4 => Ipv4Addr::new(10, 78, network, hop).into(),
            AddressFamily::Ipv6 => Ipv6Addr::new(0xfd78, 0, 0, network.into(), 0, 0, 0, hop.into()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_router_has_an_address_of_its_own_in_each_family_and_another_number_makes_others() {
        let address = |addresses, family, hop| {
            let path = Path { addresses, ..Path::new(MOST_HOPS) };
            path.address(family, hop).to_string()
        };
        assert_eq!(address(0, AddressFamily::Ipv4, 3), "10.78.100.3");
        assert_eq!(address(0, AddressFamily::Ipv6, 3), "fd78:0:0:64::3");
        assert_eq!(address(MOST_ADDRESSES, AddressFamily::Ipv4, 30), "10.78.255.30");
        assert_eq!(address(MOST_ADDRESSES, AddressFamily::Ipv6, 30), "fd78:0:0:ff::1e");
    }
}

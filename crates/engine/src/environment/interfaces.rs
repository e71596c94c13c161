//! Network interfaces and their counters (rtnetlink: RTM_GETLINK).

use std::collections::BTreeSet;
use std::io;

use rrul_model::environment::{Interface, InterfaceCounters};

use crate::netlink::attributes::Attributes;
use crate::netlink::message::{long_number, number};
use crate::netlink::{DUMP, Netlink, ONE};

/// Bytes of `struct ifinfomsg`.
const FIXED: usize = 16;

// if_link.h; the C libraries have some of them under other names.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_CARRIER: u16 = 33;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_GSO_MAX_SIZE: u16 = 41;

/// RFC 2863, section 3.1.14, in the order of their numbers.
const OPERATIONAL: [&str; 7] = ["unknown", "not present", "down", "lower layer down", "testing", "dormant", "up"];

/// Kinds whose parts carry what is sent on the whole.
const WHOLES: [&str; 3] = ["bridge", "bond", "team"];

/// Every interface of this namespace, with what rtnetlink reports of it.
pub(super) fn all(netlink: &mut Netlink) -> io::Result<Vec<Interface>> {
    let mut found = Vec::new();
    netlink.ask(libc::RTM_GETLINK, DUMP, &[0; FIXED], &mut |kind, content| {
        if kind == libc::RTM_NEWLINK {
            found.extend(read(content));
        }
    })?;
    Ok(found)
}

pub(crate) fn counters(netlink: &mut Netlink, index: u32) -> io::Result<InterfaceCounters> {
    let mut content = [0; FIXED];
    content[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut found = None;
    netlink.ask(libc::RTM_GETLINK, ONE, &content, &mut |_, content| {
        found = Attributes::behind(content, FIXED).get(libc::IFLA_STATS64).map(read_counters);
    })?;
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(content: &[u8]) -> Option<Interface> {
    let hardware = u16::from_ne_bytes(*content.get(2..)?.first_chunk()?);
    let index = number(content, 4)?;
    let flags = number(content, 8)?;
    let attributes = Attributes::behind(content, FIXED);
    let small = |kind| attributes.number(kind).and_then(|value| u32::try_from(value).ok());
    let kind = attributes.nested(libc::IFLA_LINKINFO).text(IFLA_INFO_KIND).unwrap_or_else(|| match hardware {
        libc::ARPHRD_LOOPBACK => "loopback".to_owned(),
        libc::ARPHRD_ETHER => "ethernet".to_owned(),
        other => format!("hardware type {other}"),
    });
    // The other end of a veth pair is named as if it lay below.
    let below = attributes.get(IFLA_LINK_NETNSID).is_none() && kind != "veth";
    Some(Interface {
        index,
        name: attributes.text(libc::IFLA_IFNAME).unwrap_or_default(),
        lower: small(libc::IFLA_LINK).filter(|lower| below && *lower != index && *lower != 0),
        upper: small(libc::IFLA_MASTER),
        mtu: small(libc::IFLA_MTU).unwrap_or_default(),
        up: flags & libc::IFF_UP as u32 != 0,
        carrier: small(IFLA_CARRIER) == Some(1),
        operational: small(libc::IFLA_OPERSTATE)
            .and_then(|state| OPERATIONAL.get(state as usize))
            .map_or_else(String::new, |word| (*word).to_owned()),
        header: header(hardware),
        counters: attributes.get(libc::IFLA_STATS64).map(read_counters).unwrap_or_default(),
        queue_length: small(libc::IFLA_TXQLEN),
        transmit_queues: small(IFLA_NUM_TX_QUEUES),
        receive_queues: small(IFLA_NUM_RX_QUEUES),
        segmentation_limit: small(IFLA_GSO_MAX_SIZE),
        kind,
        ..Interface::default()
    })
}

/// Bytes in front of every packet that the counters of such a device hold (if_arp.h).
fn header(hardware: u16) -> Option<u32> {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(14),
        libc::ARPHRD_NONE
        | libc::ARPHRD_PPP
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_IPGRE => Some(0),
        _ => None,
    }
}

/// `struct rtnl_link_stats64`: numbers of 64 bits.
fn read_counters(octets: &[u8]) -> InterfaceCounters {
    let at = |place: usize| long_number(octets, place * 8).unwrap_or_default();
    InterfaceCounters {
        received_packets: at(0),
        sent_packets: at(1),
        received_octets: at(2),
        sent_octets: at(3),
        received_errors: at(4),
        sent_errors: at(5),
        received_dropped: at(6),
        sent_dropped: at(7),
        collisions: at(9),
        received_missed: at(15),
    }
}

/// Marks the interfaces that packets pass: those of routes, those below them, and the parts of a bridge or bond.
pub(super) fn mark_in_use(interfaces: &mut [Interface], routed: &[u32]) {
    let mut used: BTreeSet<u32> = routed.iter().copied().collect();
    let mut todo: Vec<u32> = routed.to_vec();
    while let Some(index) = todo.pop() {
        let Some(interface) = interfaces.iter().find(|interface| interface.index == index) else { continue };
        let is_whole = WHOLES.contains(&interface.kind.as_str());
        let parts = interfaces.iter().filter(|part| is_whole && part.upper == Some(index)).map(|part| part.index);
        for next in parts.chain(interface.lower) {
            if used.insert(next) {
                todo.push(next);
            }
        }
    }
    for interface in interfaces {
        interface.in_use = used.contains(&interface.index);
    }
}

/// What is reported of an interface that is not in use.
pub(super) fn briefly(interface: Interface) -> Interface {
    let Interface { index, name, kind, in_use, lower, upper, mtu, up, carrier, operational, header, counters, .. } =
        interface;
    Interface {
        index,
        name,
        kind,
        in_use,
        lower,
        upper,
        mtu,
        up,
        carrier,
        operational,
        header,
        counters,
        ..Interface::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attributes::append;
    use crate::netlink::{self};

    fn link(index: u32, name: &str, kind: Option<&str>, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut content = vec![0; FIXED];
        content[2..4].copy_from_slice(&libc::ARPHRD_ETHER.to_ne_bytes());
        content[4..8].copy_from_slice(&index.to_ne_bytes());
        content[8..12].copy_from_slice(&(libc::IFF_UP as u32).to_ne_bytes());
        append(&mut content, libc::IFLA_IFNAME, format!("{name}\0").as_bytes());
        if let Some(kind) = kind {
            let mut inside = Vec::new();
            append(&mut inside, IFLA_INFO_KIND, format!("{kind}\0").as_bytes());
            append(&mut content, libc::IFLA_LINKINFO, &inside);
        }
        for (kind, value) in attributes {
            append(&mut content, *kind, value);
        }
        content
    }

    #[test]
    fn a_vlan_over_a_bond_of_two_cards_uses_all_of_them() {
        let two = 2_u32.to_ne_bytes();
        let three = 3_u32.to_ne_bytes();
        let stats: Vec<u8> = (100..124_u64).flat_map(u64::to_ne_bytes).collect();
        let messages = [
            link(1, "eno1", None, &[(libc::IFLA_MASTER, &three), (libc::IFLA_STATS64, &stats)]),
            link(2, "eno2", None, &[(libc::IFLA_MASTER, &three)]),
            link(3, "bond0", Some("bond"), &[]),
            link(4, "bond0.7", Some("vlan"), &[(libc::IFLA_LINK, &three)]),
            link(5, "veth1", Some("veth"), &[(libc::IFLA_LINK, &two)]),
        ];
        let mut interfaces: Vec<Interface> = messages.iter().filter_map(|message| read(message)).collect();
        mark_in_use(&mut interfaces, &[4]);
        let used: Vec<u32> = interfaces.iter().filter(|entry| entry.in_use).map(|entry| entry.index).collect();
        assert_eq!(used, [1, 2, 3, 4]);
        let [eno1, .., vlan, veth] = interfaces.as_slice() else { panic!("{interfaces:?}") };
        assert_eq!((eno1.kind.as_str(), eno1.name.as_str(), eno1.upper, eno1.up), ("ethernet", "eno1", Some(3), true));
        assert_eq!((vlan.kind.as_str(), vlan.lower, veth.lower), ("vlan", Some(3), None));
        let counters = eno1.counters;
        assert_eq!((counters.received_packets, counters.sent_packets, counters.received_octets), (100, 101, 102));
        assert_eq!((counters.sent_octets, counters.sent_dropped, counters.received_missed), (103, 107, 115));
        mark_in_use(&mut interfaces, &[5]);
        assert_eq!(interfaces.iter().filter(|entry| entry.in_use).count(), 1, "the other end of a pair is not below");
    }

    #[test]
    fn the_loopback_interface_is_described_and_counts() {
        let mut netlink = Netlink::open(netlink::ROUTE).unwrap();
        let all = all(&mut netlink).unwrap();
        let lo = all.iter().find(|interface| interface.kind == "loopback").unwrap();
        assert_eq!((lo.name.as_str(), lo.up, lo.lower), ("lo", true, None));
        let before = counters(&mut netlink, lo.index).unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        let after = counters(&mut netlink, lo.index).unwrap();
        assert!(after.sent_octets - before.sent_octets >= 1028, "{before:?} {after:?}");
        assert!(after.received_packets > before.received_packets);
    }

    #[test]
    fn counters_are_those_that_sysfs_shows() {
        let sysfs = |name: &str| -> [u64; 5] {
            let counters = ["rx_bytes", "rx_packets", "rx_dropped", "tx_bytes", "tx_packets"];
            counters.map(|counter| {
                let path = format!("/sys/class/net/{name}/statistics/{counter}");
                std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
            })
        };
        let mut netlink = Netlink::open(netlink::ROUTE).unwrap();
        for interface in all(&mut netlink).unwrap() {
            let before = sysfs(&interface.name);
            let found = counters(&mut netlink, interface.index).unwrap();
            let after = sysfs(&interface.name);
            let found = [
                found.received_octets,
                found.received_packets,
                found.received_dropped,
                found.sent_octets,
                found.sent_packets,
            ];
            let between = (0..5).all(|place| (before[place]..=after[place]).contains(&found[place]));
            assert!(between, "{}: {found:?} is not between {before:?} and {after:?}", interface.name);
        }
    }
}

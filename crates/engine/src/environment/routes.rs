//! The way to the other host, by the kernel's own lookup (rtnetlink: RTM_GETROUTE).

use std::io;
use std::net::{IpAddr, SocketAddr};

use rrul_model::environment::Route;
use rrul_model::flow::AddressFamily;

use crate::netlink::attributes::{Attributes, append};
use crate::netlink::{Netlink, ONE};

/// Bytes of `struct rtmsg`.
const FIXED: usize = 12;
/// rtnetlink.h: the MTU among a route's metrics.
const RTAX_MTU: u16 = 2;
/// rtnetlink.h: a gateway of another family.
const RTA_VIA: u16 = 18;

/// Two hosts' addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPair {
    /// This host's, where it is settled; else the kernel chooses.
    pub from: Option<IpAddr>,
    pub to: SocketAddr,
}

pub(super) fn look_up(netlink: &mut Netlink, pair: &AddressPair) -> io::Result<Route> {
    let mut found = None;
    let destination = pair.to.ip().to_canonical();
    let from = pair.from.map(|from| from.to_canonical());
    let scope = match pair.to {
        SocketAddr::V6(address) => address.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    netlink.ask(libc::RTM_GETROUTE, ONE, &question(destination, from, scope), &mut |kind, content| {
        if kind == libc::RTM_NEWROUTE {
            found = read(content, destination, from);
        }
    })?;
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn question(to: IpAddr, from: Option<IpAddr>, scope: u32) -> Vec<u8> {
    let mut content = vec![0; FIXED];
    let bits = |address: IpAddr| octets(address).len() as u8 * 8;
    content[0] = if to.is_ipv4() { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 };
    content[1] = bits(to);
    append(&mut content, libc::RTA_DST, &octets(to));
    if let Some(from) = from {
        content[2] = bits(from);
        append(&mut content, libc::RTA_SRC, &octets(from));
    }
    if scope != 0 {
        append(&mut content, libc::RTA_OIF, &scope.to_ne_bytes());
    }
    content
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
    }
}

fn read(content: &[u8], destination: IpAddr, from: Option<IpAddr>) -> Option<Route> {
    let attributes = Attributes::behind(content, FIXED);
    let mtu = attributes.nested(libc::RTA_METRICS).number(RTAX_MTU);
    Some(Route {
        family: AddressFamily::from_address(destination),
        interface: attributes.number(libc::RTA_OIF)? as u32,
        source: attributes.get(libc::RTA_PREFSRC).and_then(address).or(from),
        destination: Some(destination),
        gateway: attributes.get(libc::RTA_GATEWAY).or(attributes.get(RTA_VIA)).is_some(),
        mtu: mtu.and_then(|mtu| u32::try_from(mtu).ok()),
        translated: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink;

    #[test]
    fn a_route_by_a_gateway_with_a_smaller_mtu_is_read() {
        let mut metrics = Vec::new();
        append(&mut metrics, RTAX_MTU, &1480_u32.to_ne_bytes());
        let mut content = vec![0; FIXED];
        append(&mut content, libc::RTA_OIF, &3_u32.to_ne_bytes());
        append(&mut content, libc::RTA_GATEWAY, &[192, 0, 2, 1]);
        append(&mut content, libc::RTA_PREFSRC, &[192, 0, 2, 9]);
        append(&mut content, libc::RTA_METRICS, &metrics);
        let route = read(&content, "198.51.100.4".parse().unwrap(), None).unwrap();
        assert_eq!((route.interface, route.gateway, route.mtu), (3, true, Some(1480)));
        assert_eq!(route.source, Some("192.0.2.9".parse().unwrap()));
        assert_eq!(read(&content[..FIXED], "198.51.100.4".parse().unwrap(), None), None, "no interface, no way");
    }

    #[test]
    fn the_kernel_knows_the_route_to_this_host() {
        let mut netlink = Netlink::open(netlink::ROUTE).unwrap();
        for to in ["127.0.0.1:7785", "[::1]:7785"] {
            let to: SocketAddr = to.parse().unwrap();
            let route = look_up(&mut netlink, &AddressPair { from: None, to }).unwrap();
            assert_eq!((route.family, route.gateway), (AddressFamily::from_address(to.ip()), false));
            assert_eq!(route.source, Some(to.ip()), "{route:?}");
            assert!(route.interface >= 1);
        }
    }
}

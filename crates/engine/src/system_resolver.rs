//! The resolver that this host's programs ask: the first usable one of `/etc/resolv.conf` (resolv.conf(5)).

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};

use rrul_model::flow::AddressFamily;

const FILE: &str = "/etc/resolv.conf";

/// DNS over UDP.
pub const PORT: u16 = 53;

/// Why no resolver is available.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    #[error("no resolver configured: {FILE}: {0}")]
    Unreadable(std::io::Error),
    #[error("{FILE} names no resolver over {0}")]
    NoneOver(AddressFamily),
}

/// The first resolver over this family.
///
/// # Errors
/// When none is configured.
pub fn find(family: AddressFamily) -> Result<SocketAddr, ResolverError> {
    let text = std::fs::read_to_string(FILE).map_err(ResolverError::Unreadable)?;
    first_of(&text, family).ok_or(ResolverError::NoneOver(family))
}

fn first_of(text: &str, family: AddressFamily) -> Option<SocketAddr> {
    let addresses = text.lines().filter_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["nameserver", address, ..] => read(address),
        _ => None,
    });
    addresses.into_iter().find(|address| AddressFamily::from_address(address.ip()) == family)
}

/// An address, of an interface where one is named behind it: `fe80::1%eth0`.
fn read(text: &str) -> Option<SocketAddr> {
    let Some((address, interface)) = text.split_once('%') else {
        return Some(SocketAddr::new(text.parse::<IpAddr>().ok()?.to_canonical(), PORT));
    };
    let address: Ipv6Addr = address.parse().ok()?;
    // A name that could lead elsewhere in the file system is none.
    let index = interface.parse().ok().or_else(|| {
        let plain = !interface.contains('/') && !interface.starts_with('.');
        let index = plain.then(|| std::fs::read_to_string(format!("/sys/class/net/{interface}/ifindex")))?;
        index.ok()?.trim().parse().ok()
    })?;
    Some(SocketAddrV6::new(address, PORT, 0, index).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_resolver_of_each_family_is_found() {
        let text = "# ours\nsearch example.net\nnameserver 2001:db8::53\n nameserver\t192.0.2.53 # first\n\
                    nameserver 192.0.2.54\nnameserver nonsense\noptions edns0\n";
        let found = |family| first_of(text, family).map(|address| address.to_string());
        assert_eq!(found(AddressFamily::Ipv4).as_deref(), Some("192.0.2.53:53"));
        assert_eq!(found(AddressFamily::Ipv6).as_deref(), Some("[2001:db8::53]:53"));
        assert_eq!(first_of("nameserver 192.0.2.53\n", AddressFamily::Ipv6), None);
        assert_eq!(first_of("", AddressFamily::Ipv4), None);
    }

    #[test]
    fn a_link_local_resolver_is_asked_through_its_interface() {
        let scope = |text: &str| match first_of(text, AddressFamily::Ipv6) {
            Some(SocketAddr::V6(address)) => address.scope_id(),
            other => panic!("{other:?}"),
        };
        assert_eq!(scope("nameserver fe80::1%7\n"), 7);
        assert_eq!(scope("nameserver fe80::1%lo\n"), 1);
        assert_eq!(first_of("nameserver fe80::1%../lo\n", AddressFamily::Ipv6), None);
    }
}

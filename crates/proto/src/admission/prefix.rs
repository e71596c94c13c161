//! The networks that an address belongs to, from one host or customer up to a provider.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of IPv4 that are counted: a host, and what one customer often has.
const IPV4_BITS: [u8; 2] = [32, 24];

/// Networks of IPv6 that are counted: a link, a customer, a site, a provider.
const IPV6_BITS: [u8; 4] = [64, 56, 48, 32];

/// The network of IPv6 that is one party in a queue, as a /24 is of IPv4.
const IPV6_PARTY_BITS: u8 = 48;

/// What one provider, or one data center, usually has of IPv4 and of IPv6.
const IPV4_PROVIDER_BITS: u8 = 16;
const IPV6_PROVIDER_BITS: u8 = 32;

/// A network: an address without its last bits, and how many bits are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    pub address: IpAddr,
    pub bits: u8,
}

impl Prefix {
    /// The network of so many bits that this address is in. An IPv4 address in IPv6 form is that IPv4 address.
    pub fn of(address: IpAddr, bits: u8) -> Self {
        let address = match address.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits.into())).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
            }
        };
        Self { address, bits }
    }

    /// Every network of this address whose share is counted, the smallest first.
    pub fn all_of(address: IpAddr) -> impl Iterator<Item = Self> {
        let bits: &[u8] = if address.to_canonical().is_ipv4() { &IPV4_BITS } else { &IPV6_BITS };
        bits.iter().map(move |&bits| Self::of(address, bits))
    }

    /// The network that takes its turn as one: /24 of IPv4, /48 of IPv6.
    pub fn party_of(address: IpAddr) -> Self {
        Self::of(address, if address.to_canonical().is_ipv4() { IPV4_BITS[1] } else { IPV6_PARTY_BITS })
    }

    /// The network of many parties that one attacker may have: /16 of IPv4, /32 of IPv6.
    pub fn provider_of(address: IpAddr) -> Self {
        Self::of(address, if address.to_canonical().is_ipv4() { IPV4_PROVIDER_BITS } else { IPV6_PROVIDER_BITS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(address: &str) -> Vec<String> {
        Prefix::all_of(address.parse().unwrap()).map(|prefix| format!("{}/{}", prefix.address, prefix.bits)).collect()
    }

    #[test]
    fn the_networks_of_an_address_are_these() {
        assert_eq!(all("192.0.2.77"), ["192.0.2.77/32", "192.0.2.0/24"]);
        assert_eq!(all("::ffff:192.0.2.77"), ["192.0.2.77/32", "192.0.2.0/24"]);
        assert_eq!(
            all("2001:db8:1234:5678:9abc::1"),
            ["2001:db8:1234:5678::/64", "2001:db8:1234:5600::/56", "2001:db8:1234::/48", "2001:db8::/32"]
        );
    }

    #[test]
    fn any_number_of_bits_is_a_network() {
        for bits in 0..=u8::MAX {
            Prefix::of("192.0.2.77".parse().unwrap(), bits);
            Prefix::of("2001:db8::1".parse().unwrap(), bits);
        }
        assert_eq!(Prefix::of("192.0.2.77".parse().unwrap(), 0).address.to_string(), "0.0.0.0");
    }
}

//! The bytes of IP packets: written as a host sends them, read as its sockets hand them over.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rrul_model::flow::{AddressFamily, Direction};
use rrul_proto::icmp_error::{self, IcmpError};

const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const UDP_HEADER: usize = 8;

/// The two hosts of a lab.
pub(crate) fn client(family: AddressFamily) -> IpAddr {
    host(family, 1)
}

pub(crate) fn server(family: AddressFamily) -> IpAddr {
    host(family, 2)
}

/// The host that sends what goes this way.
pub(crate) fn sender(family: AddressFamily, direction: Direction) -> IpAddr {
    if direction == Direction::Up { client(family) } else { server(family) }
}

fn host(family: AddressFamily, number: u8) -> IpAddr {
    match family {
        AddressFamily::Ipv4 => Ipv4Addr::new(10, 78, 0, number).into(),
        AddressFamily::Ipv6 => Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, number.into()).into(),
    }
}

/// A UDP packet. A virtual link does not check its checksum, so it has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Udp<'a> {
    pub(crate) family: AddressFamily,
    /// The direction in which it goes.
    pub(crate) direction: Direction,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// Traffic-class byte.
    pub(crate) octet: u8,
    pub(crate) hop_limit: u8,
    pub(crate) payload: &'a [u8],
}

impl Udp<'_> {
    /// The whole IP packet, not to be fragmented.
    pub(crate) fn octets(&self) -> Vec<u8> {
        let length = (UDP_HEADER + self.payload.len()) as u16;
        let mut octets = Vec::with_capacity(self.payload.len() + 48);
        match self.family {
            AddressFamily::Ipv4 => {
                octets.extend([0x45, self.octet]);
                octets.extend((20 + length).to_be_bytes());
                octets.extend([0, 0, 0x40, 0, self.hop_limit, UDP, 0, 0]);
            }
            AddressFamily::Ipv6 => {
                octets.extend([0x60 | self.octet >> 4, self.octet << 4, 0, 0]);
                octets.extend(length.to_be_bytes());
                octets.extend([UDP, self.hop_limit]);
            }
        }
        for address in [self.direction, self.direction.opposite()].map(|end| sender(self.family, end)) {
            match address {
                IpAddr::V4(address) => octets.extend(address.octets()),
                IpAddr::V6(address) => octets.extend(address.octets()),
            }
        }
        if self.family == AddressFamily::Ipv4 {
            let checksum = !sum(&octets);
            octets[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        for word in [self.source_port, self.destination_port, length, 0] {
            octets.extend(word.to_be_bytes());
        }
        octets.extend(self.payload);
        octets
    }
}

/// What a host's sockets hand over of a packet.
#[derive(Debug)]
pub(crate) enum Arrived<'a> {
    Udp(Udp<'a>),
    Icmp { family: AddressFamily, source: IpAddr, error: IcmpError<'a> },
}

/// Reads a packet that went this way; `None` of what no socket would hand over or what says nothing of UDP packets.
pub(crate) fn read(octets: &[u8], direction: Direction) -> Option<Arrived<'_>> {
    let family = if octets[0] >> 4 == 4 { AddressFamily::Ipv4 } else { AddressFamily::Ipv6 };
    let (octet, hop_limit, protocol, upper) = match family {
        AddressFamily::Ipv4 => (octets[1], octets[8], octets[9], &octets[20..]),
        AddressFamily::Ipv6 => (octets[0] << 4 | octets[1] >> 4, octets[7], octets[6], &octets[40..]),
    };
    let word = |at: usize| u16::from_be_bytes([upper[at], upper[at + 1]]);
    let (source_port, destination_port) = (word(0), word(2));
    match protocol {
        UDP => {
            let payload = &upper[UDP_HEADER..];
            Some(Arrived::Udp(Udp { family, direction, source_port, destination_port, octet, hop_limit, payload }))
        }
        ICMP => {
            let error = icmp_error::read_ipv4(octets)?;
            let source = <[u8; 4]>::try_from(&octets[12..16]).ok()?.into();
            Some(Arrived::Icmp { family, source, error })
        }
        ICMPV6 => {
            // The kernel checks it before a raw socket sees the message: addresses, length and next header are summed, too.
            let beside = [upper.len() as u16, u16::from(ICMPV6)].map(u16::to_be_bytes).concat();
            if sum(&[&octets[8..40], &beside, upper].concat()) != 0xffff {
                return None;
            }
            let error = icmp_error::read_ipv6(upper)?;
            let source = <[u8; 16]>::try_from(&octets[8..24]).ok()?.into();
            Some(Arrived::Icmp { family, source, error })
        }
        _ => None,
    }
}

/// The one's complement sum (RFC 1071).
fn sum(octets: &[u8]) -> u16 {
    let word = |two: &[u8]| u32::from(two[0]) << 8 | two.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

//! ICMP messages that quote a packet (RFC 792, RFC 4443), as a raw socket hands them over.
//!
//! Anybody may send anything: what is cut short, damaged or about other packets belongs to no packet, and is never a
//! panic.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const IPV6_HEADER: usize = 40;
const FRAGMENT: u8 = 44;

/// A message about a UDP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpError<'a> {
    pub kind: u8,
    pub code: u8,
    /// The MTU that it names, octets; 0 when it names none.
    pub mtu: u32,
    /// The packet that it is about.
    pub quote: Quote<'a>,
}

/// What is quoted of a UDP packet: how it looked when it reached the host that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote<'a> {
    pub destination: IpAddr,
    pub destination_port: u16,
    pub source_port: u16,
    /// Traffic-class octet.
    pub octet: u8,
    pub hop_limit: u8,
    /// Octets of UDP payload, as its header says.
    pub payload_length: usize,
    /// As much of the payload as is quoted.
    pub payload: &'a [u8],
}

/// Reads an IPv4 packet that bears ICMP, with its IP header, as Linux hands it to raw sockets: its checksum is not checked.
pub fn read_ipv4(octets: &[u8]) -> Option<IcmpError<'_>> {
    let message = octets.get(ipv4_header(octets)?..)?;
    if sum(message) != 0xffff {
        return None;
    }
    let (kind, code) = (*message.first()?, *message.get(1)?);
    // Destination unreachable, time exceeded, parameter problem: the others quote nothing.
    if !matches!(kind, 3 | 11 | 12) {
        return None;
    }
    let mtu = if (kind, code) == (3, 4) { u32::from(word(message, 6)?) } else { 0 };
    let quoted = message.get(8..)?;
    let header = ipv4_header(quoted)?;
    let fragment_offset = word(quoted, 6)? & 0x1fff;
    if *quoted.get(9)? != UDP || fragment_offset != 0 {
        return None;
    }
    let destination = Ipv4Addr::from(<[u8; 4]>::try_from(quoted.get(16..20)?).ok()?).into();
    let quote = udp(quoted.get(header..)?, destination, *quoted.get(1)?, *quoted.get(8)?)?;
    Some(IcmpError { kind, code, mtu, quote })
}

/// Reads an ICMPv6 message, without its IP header, as Linux hands it to raw sockets once its checksum has been checked.
pub fn read_ipv6(message: &[u8]) -> Option<IcmpError<'_>> {
    let (kind, code) = (*message.first()?, *message.get(1)?);
    // Destination unreachable, packet too big, time exceeded, parameter problem.
    if !matches!(kind, 1..=4) {
        return None;
    }
    let mtu = if kind == 2 { u32::from_be_bytes(<[u8; 4]>::try_from(message.get(4..8)?).ok()?) } else { 0 };
    let quoted = message.get(8..)?;
    if *quoted.first()? >> 4 != 6 {
        return None;
    }
    let octet = (quoted.first()? << 4) | (quoted.get(1)? >> 4);
    let (next, hop_limit) = (*quoted.get(6)?, *quoted.get(7)?);
    let destination = Ipv6Addr::from(<[u8; 16]>::try_from(quoted.get(24..40)?).ok()?).into();
    let upper = match next {
        UDP => quoted.get(IPV6_HEADER..)?,
        FRAGMENT if *quoted.get(IPV6_HEADER)? == UDP && word(quoted, IPV6_HEADER + 2)? & 0xfff8 == 0 => {
            quoted.get(IPV6_HEADER + 8..)?
        }
        _ => return None,
    };
    let quote = udp(upper, destination, octet, hop_limit)?;
    Some(IcmpError { kind, code, mtu, quote })
}

fn udp(upper: &[u8], destination: IpAddr, octet: u8, hop_limit: u8) -> Option<Quote<'_>> {
    let (source_port, destination_port, length) = (word(upper, 0)?, word(upper, 2)?, usize::from(word(upper, 4)?));
    let payload_length = length.checked_sub(UDP_HEADER)?;
    let payload = upper.get(UDP_HEADER..)?;
    // Behind the quote extensions may stand (RFC 4884), which are no part of it.
    let payload = &payload[..payload.len().min(payload_length)];
    Some(Quote { destination, destination_port, source_port, octet, hop_limit, payload_length, payload })
}

/// Octets of the IPv4 header that stands here.
fn ipv4_header(octets: &[u8]) -> Option<usize> {
    let first = *octets.first()?;
    let length = usize::from(first & 15) * 4;
    (first >> 4 == 4 && length >= 20 && octets.len() >= length).then_some(length)
}

fn word(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(<[u8; 2]>::try_from(octets.get(at..at + 2)?).ok()?))
}

/// The one's complement sum (RFC 1071); all ones over a message whose checksum is right.
fn sum(octets: &[u8]) -> u16 {
    let word = |two: &[u8]| u32::from(two[0]) << 8 | two.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = b"the payload of a packet that did not get through";

    fn quoted_ipv4(octet: u8, hop_limit: u8) -> Vec<u8> {
        let mut quoted = vec![0x45, octet, 0, 76, 0, 1, 0x40, 0, hop_limit, UDP, 0, 0, 192, 0, 2, 1, 192, 0, 2, 99];
        quoted.extend([0x9c, 0x40, 0x1e, 0x69, 0, 8 + PAYLOAD.len() as u8, 0, 0]);
        quoted.extend(PAYLOAD);
        quoted
    }

    fn ipv4(kind: u8, code: u8, rest: [u8; 4], quoted: &[u8]) -> Vec<u8> {
        let mut message = vec![kind, code, 0, 0];
        message.extend(rest);
        message.extend(quoted);
        let checksum = !sum(&message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        let mut octets = vec![0x45, 0xc0, 0, 0, 0, 0, 0, 0, 60, 1, 0, 0, 198, 51, 100, 1, 192, 0, 2, 1];
        octets.extend(message);
        octets
    }

    fn ipv6(kind: u8, code: u8, rest: [u8; 4]) -> Vec<u8> {
        let mut message = vec![kind, code, 0, 0];
        message.extend(rest);
        message.extend([0x6b, 0x90, 0, 0, 0, 8 + PAYLOAD.len() as u8, UDP, 1]);
        message.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        message.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        message.extend([0x9c, 0x40, 0x1e, 0x69, 0, 8 + PAYLOAD.len() as u8, 0, 0]);
        message.extend(PAYLOAD);
        message
    }

    #[test]
    fn time_exceeded_shows_how_the_packet_looked_when_it_expired() {
        let octets = ipv4(11, 0, [0; 4], &quoted_ipv4(0xb9, 1));
        let expected = Quote {
            destination: IpAddr::from([192, 0, 2, 99]),
            destination_port: 7785,
            source_port: 40_000,
            octet: 0xb9,
            hop_limit: 1,
            payload_length: PAYLOAD.len(),
            payload: PAYLOAD,
        };
        assert_eq!(read_ipv4(&octets), Some(IcmpError { kind: 11, code: 0, mtu: 0, quote: expected }));
        let octets = ipv6(3, 0, [0; 4]);
        let error = read_ipv6(&octets).unwrap();
        assert_eq!((error.kind, error.quote.octet, error.quote.hop_limit), (3, 0xb9, 1));
        assert_eq!(error.quote, Quote { destination: "fd00::2".parse().unwrap(), ..expected });
    }

    #[test]
    fn packet_too_big_names_the_mtu() {
        let quoted = quoted_ipv4(0, 60);
        assert_eq!(read_ipv4(&ipv4(3, 4, [0, 0, 5, 0x8c], &quoted)).unwrap().mtu, 1420);
        assert_eq!(read_ipv4(&ipv4(3, 1, [0, 0, 5, 0x8c], &quoted)).unwrap().mtu, 0, "only there an MTU stands");
        assert_eq!(read_ipv6(&ipv6(2, 0, [0, 0, 5, 0x8c])).unwrap().mtu, 1420);
    }

    #[test]
    fn eight_octets_of_the_packet_are_enough() {
        let octets = ipv4(11, 0, [0; 4], &quoted_ipv4(0, 1)[..28]);
        let quote = read_ipv4(&octets).unwrap().quote;
        assert_eq!((quote.payload, quote.payload_length, quote.source_port), (&[][..], PAYLOAD.len(), 40_000));
        assert_eq!(read_ipv4(&ipv4(11, 0, [0; 4], &quoted_ipv4(0, 1)[..25])), None);
    }

    #[test]
    fn what_is_behind_the_quote_is_no_part_of_it() {
        let mut quoted = quoted_ipv4(0, 1);
        quoted.extend([0x20, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(read_ipv4(&ipv4(11, 0, [0; 4], &quoted)).unwrap().quote.payload, PAYLOAD);
    }

    #[test]
    fn damaged_messages_and_those_about_other_packets_are_nobodys() {
        let whole = ipv4(11, 0, [0; 4], &quoted_ipv4(0, 1));
        let with = |at: usize, octet: u8| {
            let mut octets = whole.clone();
            octets[at] = octet;
            octets
        };
        assert_eq!(read_ipv4(&with(60, 0xff)), None, "the checksum is wrong");
        let tcp = |mut quoted: Vec<u8>| {
            quoted[9] = 6;
            quoted
        };
        assert_eq!(read_ipv4(&ipv4(11, 0, [0; 4], &tcp(quoted_ipv4(0, 1)))), None);
        assert_eq!(read_ipv4(&ipv4(0, 0, [0; 4], &quoted_ipv4(0, 1))), None, "an echo reply quotes nothing");
        for cut in 0..whole.len() {
            let _ = read_ipv4(&whole[..cut]);
        }
    }
}

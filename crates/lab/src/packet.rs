//! What the lab reads of a packet: addresses, ports, marking, and where a TCP segment lies in its stream.

use rrul_model::flow::AddressFamily;
use rrul_model::random::mix;

/// IP protocol numbers (IANA "Assigned Internet Protocol Numbers") that the lab looks into or names.
pub(crate) mod protocol {
    pub(crate) const ICMP: u8 = 1;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const ICMPV6: u8 = 58;
}

/// The fields of one packet's headers; RFC 791, RFC 8200, RFC 9293, RFC 768.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) family: AddressFamily,
    /// The protocol above IP, after any IPv6 extension headers.
    pub(crate) protocol: u8,
    /// TOS or traffic class.
    pub(crate) tos: u8,
    /// Zero without ports, and in fragments other than the first.
    pub(crate) source_port: u16,
    /// As for the source.
    pub(crate) destination_port: u16,
    /// Octets above the TCP header; zero for other protocols.
    pub(crate) tcp_payload: u16,
    /// The sequence number; zero for other protocols.
    pub(crate) tcp_sequence: u32,
    /// The flags of RFC 9293 section 3.1 (FIN 1, SYN 2, RST 4, PSH 8, ACK 16, ...); zero for other protocols.
    pub(crate) tcp_flags: u8,
    /// A hash over addresses, protocol and ports, not yet perturbed.
    pub(crate) flow: u64,
    /// A hash over the source address.
    pub(crate) source: u64,
    /// A hash over the destination address.
    pub(crate) destination: u64,
    /// Whether the destination never leaves one link (224.0.0.0/24, ff02::/16), so that no router forwards it.
    pub(crate) link_local: bool,
}

impl Header {
    /// Reads the headers; `None` when this is no whole IP header.
    pub(crate) fn parse(octets: &[u8]) -> Option<Self> {
        match octets.first()? >> 4 {
            4 => Self::ipv4(octets),
            6 => Self::ipv6(octets),
            _ => None,
        }
    }

    fn ipv4(octets: &[u8]) -> Option<Self> {
        let header_length = usize::from(octets[0] & 15) * 4;
        if header_length < 20 || octets.len() < header_length {
            return None;
        }
        let fragment_offset = u16::from_be_bytes([octets[6], octets[7]]) & 0x1fff;
        let upper = if fragment_offset == 0 { &octets[header_length..] } else { &[] };
        let link_local = octets[16..19] == [224, 0, 0];
        Some(Self::with(AddressFamily::Ipv4, octets[1], octets[9], &octets[12..20], upper, link_local))
    }

    fn ipv6(octets: &[u8]) -> Option<Self> {
        if octets.len() < 40 {
            return None;
        }
        let tos = (octets[0] << 4) | (octets[1] >> 4);
        let (protocol, upper) = skip_extensions(octets[6], &octets[40..]);
        let link_local = octets[24] == 0xff && octets[25] & 15 <= 2;
        Some(Self::with(AddressFamily::Ipv6, tos, protocol, &octets[8..40], upper, link_local))
    }

    fn with(family: AddressFamily, tos: u8, protocol: u8, addresses: &[u8], upper: &[u8], link_local: bool) -> Self {
        let word = |at: usize| upper.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let has_ports = matches!(protocol, protocol::TCP | protocol::UDP);
        let (source_port, destination_port) = if has_ports { (word(0), word(2)) } else { (0, 0) };
        let (source, destination) = addresses.split_at(addresses.len() / 2);
        let mut header = Self {
            family,
            protocol,
            tos,
            source_port,
            destination_port,
            tcp_payload: 0,
            tcp_sequence: 0,
            tcp_flags: 0,
            flow: flow_hash(addresses, protocol, source_port, destination_port),
            source: flow_hash(source, 0, 0, 0),
            destination: flow_hash(destination, 0, 0, 0),
            link_local,
        };
        if protocol == protocol::TCP && upper.len() >= 20 {
            let data_offset = usize::from(upper[12] >> 4) * 4;
            header.tcp_payload = upper.len().saturating_sub(data_offset) as u16;
            header.tcp_flags = upper[13];
            header.tcp_sequence = u32::from_be_bytes([upper[4], upper[5], upper[6], upper[7]]);
        }
        header
    }
}

/// Walks over hop-by-hop, routing and destination options (RFC 8200 section 4); a later fragment has no upper header.
fn skip_extensions(mut next: u8, mut rest: &[u8]) -> (u8, &[u8]) {
    loop {
        let length = match next {
            0 | 43 | 60 if rest.len() >= 8 => (usize::from(rest[1]) + 1) * 8,
            44 if rest.len() >= 8 => {
                if u16::from_be_bytes([rest[2], rest[3]]) & 0xfff8 != 0 {
                    return (rest[0], &[]);
                }
                8
            }
            _ => return (next, rest),
        };
        if rest.len() < length {
            return (rest[0], &[]);
        }
        (next, rest) = (rest[0], &rest[length..]);
    }
}

/// Hashes the five-tuple (RFC 8290 section 4.1: addresses, ports, protocol).
fn flow_hash(addresses: &[u8], protocol: u8, source_port: u16, destination_port: u16) -> u64 {
    let ports = (u64::from(protocol) << 32) | (u64::from(source_port) << 16) | u64::from(destination_port);
    addresses
        .chunks_exact(4)
        .fold(mix(ports), |hash, four| mix(hash ^ u64::from(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))))
}

/// What stands behind the IP header and its extensions; nothing in an IPv6 fragment other than the first, and in what is no
/// IP packet.
pub(crate) fn upper_layer(octets: &[u8]) -> &[u8] {
    match octets.first().map(|first| first >> 4) {
        Some(4) => octets.get(usize::from(octets[0] & 15) * 4..).unwrap_or_default(),
        Some(6) if octets.len() >= 40 => skip_extensions(octets[6], &octets[40..]).1,
        _ => &[],
    }
}

/// TTL or hop limit; zero of what is no IP packet.
pub(crate) fn ttl(octets: &[u8]) -> u8 {
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= 20 => octets[8],
        Some(6) if octets.len() >= 40 => octets[7],
        _ => 0,
    }
}

/// Takes so many from TTL or hop limit, to zero at most, and keeps an IPv4 header checksum right as [`set_tos`] does.
pub(crate) fn lower_ttl(octets: &mut [u8], by: u8) {
    let lowered = ttl(octets).saturating_sub(by);
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= 20 => set_ipv4_octet(octets, 8, lowered),
        Some(6) if octets.len() >= 40 => octets[7] = lowered,
        _ => {}
    }
}

/// Writes `tos` into the header and keeps an IPv4 header checksum right.
pub(crate) fn set_tos(octets: &mut [u8], tos: u8) {
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= 20 => set_ipv4_octet(octets, 1, tos),
        Some(6) if octets.len() >= 40 => {
            octets[0] = 0x60 | (tos >> 4);
            octets[1] = (octets[1] & 0x0f) | (tos << 4);
        }
        _ => {}
    }
}

/// Writes one octet of an IPv4 header and updates the checksum.
///
/// It is updated, not computed anew (RFC 1624 equation 3), so that one that was wrong stays wrong.
fn set_ipv4_octet(octets: &mut [u8], at: usize, value: u8) {
    let word = at & !1;
    let old = u16::from_be_bytes([octets[word], octets[word + 1]]);
    octets[at] = value;
    let new = u16::from_be_bytes([octets[word], octets[word + 1]]);
    let checksum = u16::from_be_bytes([octets[10], octets[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    octets[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
pub(crate) mod build {
    //! Packets for tests, with right IPv4 header checksums.

    use rrul_model::internet_checksum::checksum;

    use super::protocol::{TCP, UDP};

    /// The packet with another TTL, and its IPv4 header checksum computed anew.
    pub(crate) fn with_ttl(mut octets: Vec<u8>, ttl: u8) -> Vec<u8> {
        if octets[0] >> 4 == 6 {
            octets[7] = ttl;
            return octets;
        }
        octets[8] = ttl;
        octets[10..12].fill(0);
        let sum = checksum(&octets[..20]);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        octets
    }

    /// A UDP packet of `length` octets in all, from `port` to port 7785.
    pub(crate) fn udp4(length: usize, port: u16, tos: u8) -> Vec<u8> {
        let mut octets = ipv4(length, UDP, tos);
        octets[20..22].copy_from_slice(&port.to_be_bytes());
        octets[22..24].copy_from_slice(&7785u16.to_be_bytes());
        octets
    }

    /// A TCP segment of `length` octets in all, with a header of 32 octets, from `port` to port 7785.
    pub(crate) fn tcp4(length: usize, port: u16, sequence: u32) -> Vec<u8> {
        let mut octets = ipv4(length, TCP, 0);
        octets[20..22].copy_from_slice(&port.to_be_bytes());
        octets[22..24].copy_from_slice(&7785u16.to_be_bytes());
        octets[24..28].copy_from_slice(&sequence.to_be_bytes());
        octets[32] = 8 << 4;
        octets
    }

    /// A UDP packet of `length` octets in all, from `port` to port 53.
    pub(crate) fn udp6(length: usize, port: u16, tos: u8) -> Vec<u8> {
        let mut octets = vec![0; length];
        octets[0] = 0x60 | (tos >> 4);
        octets[1] = (tos << 4) | 0x0a;
        octets[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        octets[6] = UDP;
        octets[7] = 64;
        octets[8] = 0xfd;
        octets[24] = 0xfd;
        octets[40..42].copy_from_slice(&port.to_be_bytes());
        octets[42..44].copy_from_slice(&53u16.to_be_bytes());
        octets
    }

    fn ipv4(length: usize, protocol: u8, tos: u8) -> Vec<u8> {
        let mut octets = vec![0; length];
        octets[0] = 0x45;
        octets[1] = tos;
        octets[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        octets[8] = 64;
        octets[9] = protocol;
        octets[12..16].copy_from_slice(&[10, 78, 0, 1]);
        octets[16..20].copy_from_slice(&[10, 78, 0, 2]);
        let sum = checksum(&octets[..20]);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        octets
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::internet_checksum::checksum;

    use super::*;

    #[test]
    fn every_tos_can_be_rewritten_to_every_other_with_the_checksum_right() {
        for from in 0..=255 {
            let mut octets = build::udp4(60, 1, from);
            for to in 0..=255 {
                set_tos(&mut octets, to);
                assert_eq!(checksum(&octets[..20]), 0, "checksum wrong after {from} became {to}");
                assert_eq!(Header::parse(&octets).unwrap().tos, to);
            }
        }
    }

    #[test]
    fn every_ttl_can_be_lowered_with_the_checksum_right_and_a_wrong_one_stays_wrong() {
        for from in 0..=255 {
            for by in [0, 1, 5, 30] {
                let mut octets = build::with_ttl(build::udp4(60, 1, 0xb9), from);
                lower_ttl(&mut octets, by);
                assert_eq!(
                    octets,
                    build::with_ttl(build::udp4(60, 1, 0xb9), from.saturating_sub(by)),
                    "{from} by {by}"
                );
            }
        }
        let mut wrong = build::udp4(60, 1, 0);
        wrong[10] ^= 0xff;
        lower_ttl(&mut wrong, 1);
        assert_ne!(checksum(&wrong[..20]), 0);
        let mut octets = build::udp6(60, 1, 0);
        lower_ttl(&mut octets, 3);
        assert_eq!((ttl(&octets), octets), (61, build::with_ttl(build::udp6(60, 1, 0), 61)));
    }

    #[test]
    fn the_ipv6_traffic_class_is_rewritten_beside_an_untouched_flow_label() {
        let mut octets = build::udp6(60, 1, 0xb9);
        set_tos(&mut octets, 0x2b);
        assert_eq!(octets[..4], [0x62, 0xba, 0, 0]);
        assert_eq!(Header::parse(&octets).unwrap().tos, 0x2b);
    }

    #[test]
    fn a_tcp_segment_gives_its_place_in_the_stream() {
        let header = Header::parse(&build::tcp4(1500, 40000, 77)).unwrap();
        assert_eq!((header.tcp_payload, header.tcp_sequence), (1448, 77));
        assert_eq!((header.source_port, header.destination_port), (40000, 7785));
    }

    #[test]
    fn ports_are_found_behind_ipv6_extension_headers() {
        let mut octets = build::udp6(68, 0, 0);
        octets[6] = 60;
        octets[40..48].copy_from_slice(&[protocol::UDP, 0, 1, 4, 0, 0, 0, 0]);
        octets[48..52].copy_from_slice(&[0x12, 0x34, 0, 53]);
        let header = Header::parse(&octets).unwrap();
        assert_eq!((header.protocol, header.source_port, header.destination_port), (protocol::UDP, 0x1234, 53));
    }

    #[test]
    fn flows_are_distinguished_by_every_part_of_the_five_tuple() {
        let flow = |octets: &[u8]| Header::parse(octets).unwrap().flow;
        let base = build::udp4(60, 1, 0);
        assert_eq!(flow(&base), flow(&build::udp4(900, 1, 0xb8)), "length and marking are no part of a flow");
        assert_ne!(flow(&base), flow(&build::udp4(60, 2, 0)));
        assert_ne!(flow(&base), flow(&build::tcp4(60, 1, 0)));
        let mut elsewhere = base.clone();
        elsewhere[19] = 3;
        assert_ne!(flow(&base), flow(&elsewhere));
    }

    #[test]
    fn what_is_no_whole_ip_header_is_not_read() {
        for octets in [&[][..], &[0x45; 19], &[0x60; 39], &[0x4f; 40], &[0x10; 60]] {
            assert_eq!(Header::parse(octets), None);
        }
    }
}

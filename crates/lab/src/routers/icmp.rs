//! What routers write: ICMP errors with a quote of the packet that they are about (RFC 792, RFC 4443), sound or damaged.

use std::net::IpAddr;

use rrul_model::flow::AddressFamily;
use rrul_model::internet_checksum::{checksum, folded, sum};
use rrul_model::random::Random;

use crate::packet::{Header, protocol, upper_layer};

/// Most bytes of an answer, as Linux makes them: RFC 1812 section 4.3.2.3, RFC 4443 section 2.4 (c).
const MOST: [usize; 2] = [576, 1280];

/// Precedence 6, internetwork control, which RFC 1812 section 4.3.2.5 asks for and Linux sets.
const IPV4_TOS: u8 = 0xc0;

/// Bytes above IP before the quote.
const ICMP_HEADER: usize = 8;

/// RFC 4443 section 3.2.
const PACKET_TOO_BIG: u8 = 2;

/// Types that are unassigned: 200 of RFC 792's, 99 among the errors of RFC 4443.
const UNKNOWN_TYPE: [u8; 2] = [200, 99];

/// What is reported of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Its TTL was used up in transit.
    TimeExceeded,
    /// The next link carries no more than this.
    TooBig { octets: u16 },
}

/// What can be wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The ICMP checksum.
    Checksum,
    /// Four bytes of the quote are left.
    CutQuote,
    /// The quote is random bytes.
    RandomQuote,
    /// The quoted ports belong to no flow.
    WrongPorts,
    /// The type is unassigned.
    UnknownType,
    /// The lengths in the quote exceed it, and so does that of RFC 4884.
    LyingLengths,
}

impl Damage {
    /// All, in the order in which a router goes through them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Checksum, Self::CutQuote, Self::RandomQuote, Self::WrongPorts, Self::UnknownType, Self::LyingLengths];
}

/// One answer to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) notice: Notice,
    pub(crate) router: IpAddr,
    pub(crate) ttl: u8,
    /// For the identification field of IPv4.
    pub(crate) number: u16,
    pub(crate) short_quote: bool,
    pub(crate) damage: Option<Damage>,
}

/// The address that `packet` comes from when an error about it may be sent there: not for another error, nor for what
/// was sent to many or from no address, nor for any fragment but the first (RFC 1812 section 4.3.2.7, RFC 4443 section
/// 2.4 (e)).
pub(crate) fn answerable_source(packet: &[u8]) -> Option<IpAddr> {
    let header = Header::parse(packet)?;
    let upper = upper_layer(packet);
    let kind = upper.first().copied();
    match header.family {
        AddressFamily::Ipv4 => {
            let error =
                header.protocol == protocol::ICMP && kind.is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12));
            let first_fragment = [packet[6] & 0x1f, packet[7]] == [0, 0];
            let one = |first: u8| first != 0 && first != 127 && first < 224;
            let source: [u8; 4] = packet[12..16].try_into().ok()?;
            (!error && first_fragment && one(source[0]) && one(packet[16])).then(|| source.into())
        }
        AddressFamily::Ipv6 => {
            let error = header.protocol == protocol::ICMPV6 && kind.is_none_or(|kind| kind < 128 || kind == 137);
            let source: [u8; 16] = packet[8..24].try_into().ok()?;
            (!error && source != [0; 16] && source[0] != 0xff && packet[24] != 0xff).then(|| source.into())
        }
    }
}

/// Whether a router has to report this packet's size instead of fragmenting it: IPv6, or IPv4 with "don't fragment".
pub(crate) fn must_not_be_cut(packet: &[u8]) -> bool {
    packet[0] >> 4 == 6 || packet[6] & 0x40 != 0
}

/// Writes the answer about `packet` to `to`, of the router's family.
pub(crate) fn write(answer: &Answer, packet: &[u8], to: IpAddr, random: &mut Random) -> Vec<u8> {
    let version = usize::from(to.is_ipv6());
    let ip_header = [20, 40][version];
    let quoted = if answer.short_quote {
        packet.len() - upper_layer(packet).len() + 8
    } else {
        MOST[version] - ip_header - ICMP_HEADER
    };
    let mut message = vec![0; ICMP_HEADER];
    match (answer.notice, version) {
        (Notice::TimeExceeded, 0) => message[0] = 11,
        (Notice::TimeExceeded, _) => message[0] = 3,
        (Notice::TooBig { octets }, 0) => {
            message[..2].copy_from_slice(&[3, 4]);
            message[6..8].copy_from_slice(&octets.to_be_bytes());
        }
        (Notice::TooBig { octets }, _) => {
            message[0] = PACKET_TOO_BIG;
            message[6..8].copy_from_slice(&octets.to_be_bytes());
        }
    }
    message.extend_from_slice(&packet[..quoted.min(packet.len())]);
    if let Some(damage) = answer.damage {
        spoil(damage, &mut message, packet.len() - upper_layer(packet).len(), random);
    }
    match (answer.router, to) {
        (IpAddr::V4(router), IpAddr::V4(to)) => {
            seal(&mut message, 0, answer.damage);
            let mut octets = vec![0x45, IPV4_TOS, 0, 0, 0, 0, 0, 0, answer.ttl, protocol::ICMP, 0, 0];
            octets[2..4].copy_from_slice(&((ip_header + message.len()) as u16).to_be_bytes());
            octets[4..6].copy_from_slice(&answer.number.to_be_bytes());
            octets.extend(router.octets().into_iter().chain(to.octets()));
            let checksum = checksum(&octets);
            octets[10..12].copy_from_slice(&checksum.to_be_bytes());
            octets.append(&mut message);
            octets
        }
        (router, to) => {
            let addresses: Vec<u8> = [router, to].into_iter().flat_map(octets_of).collect();
            // RFC 8200 section 8.1: addresses, length and next header are summed with the message.
            let beside = sum(&addresses) + message.len() as u64 + u64::from(protocol::ICMPV6);
            seal(&mut message, beside, answer.damage);
            let mut octets = vec![0x60, 0, 0, 0, 0, 0, protocol::ICMPV6, answer.ttl];
            octets[4..6].copy_from_slice(&(message.len() as u16).to_be_bytes());
            octets.extend(addresses);
            octets.append(&mut message);
            octets
        }
    }
}

fn octets_of(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Does the damage, but for that of the checksum, to a message that quotes an IP header of so many bytes.
fn spoil(damage: Damage, message: &mut Vec<u8>, quoted_header: usize, random: &mut Random) {
    let ipv6 = message[ICMP_HEADER] >> 4 == 6;
    let ports = ICMP_HEADER + quoted_header;
    match damage {
        Damage::Checksum => {}
        Damage::CutQuote => message.truncate(ICMP_HEADER + 4),
        Damage::RandomQuote => message[ICMP_HEADER..].fill_with(|| random.next() as u8),
        Damage::WrongPorts => message.iter_mut().skip(ports).take(4).for_each(|octet| *octet = !*octet),
        Damage::UnknownType => message[0] = UNKNOWN_TYPE[usize::from(ipv6)],
        Damage::LyingLengths => {
            // RFC 4884 section 3: words of the quote, in the fifth byte with IPv6, in the sixth with IPv4. "Packet too big"
            // has none.
            match (ipv6, message[0]) {
                (true, PACKET_TOO_BIG) => {}
                (true, _) => message[4] = 0xff,
                (false, _) => message[5] = 0xff,
            }
            let length = ICMP_HEADER + if ipv6 { 4 } else { 2 };
            // Behind the ports is the length of UDP; where something else is quoted, that is wrong now as well.
            for at in [length, ports + 4] {
                message.iter_mut().skip(at).take(2).for_each(|octet| *octet = 0xff);
            }
        }
    }
}

/// Writes the checksum over the message and what is summed with it.
fn seal(message: &mut [u8], beside: u64, damage: Option<Damage>) {
    let checksum = !folded(sum(message) + beside);
    let wrong = if damage == Some(Damage::Checksum) { 0x5555 } else { 0 };
    message[2..4].copy_from_slice(&(checksum ^ wrong).to_be_bytes());
}

#[cfg(test)]
#[path = "icmp_tests.rs"]
mod tests;

//! For tests: packets with few hops to live, and what becomes of them.

use rrul_model::flow::{AddressFamily, Direction};

use crate::line::pipe::Outcome;
use crate::line::virtual_link::VirtualLink;
use crate::link::Link;
use crate::packet::build::{udp4, udp6, with_ttl};
use crate::time::LabTime;
use crate::truth::record::{Fate, Record};

pub(crate) const MS: u64 = 1_000_000;
/// Nanoseconds that a byte takes up, at 8 Mbit/s, and down, at 20 Mbit/s.
pub(crate) const UP_OCTET: u64 = 1000;
pub(crate) const DOWN_OCTET: u64 = 400;
/// The delays of the directions, which no number of segments below 10 but 1, 2 and 5 divides.
pub(crate) const UP_DELAY: u64 = 10 * MS;
pub(crate) const DOWN_DELAY: u64 = 20 * MS;
/// Bytes of a probe.
pub(crate) const PROBE: usize = 60;

/// A link with these lines in its path.
pub(crate) fn link(path: &str) -> Link {
    link_with("", "", path)
}

/// A link with lines more in each direction.
pub(crate) fn link_with(up: &str, down: &str, path: &str) -> Link {
    let up = format!("[up]\nrate = \"8Mbit/s\"\ndelay = \"10ms\"\n{up}\n");
    let down = format!("[down]\nrate = \"20Mbit/s\"\ndelay = \"20ms\"\n{down}\n");
    Link::from_toml("test.toml", &format!("{up}{down}[path]\n{path}\n")).unwrap()
}

/// A UDP packet of the host that sends this way to the other.
pub(crate) fn packet(family: AddressFamily, direction: Direction, length: usize, ttl: u8) -> Vec<u8> {
    let (from, to) = if direction == Direction::Up { (1, 2) } else { (2, 1) };
    let mut octets = match family {
        AddressFamily::Ipv4 => udp4(length, 40_000, 0),
        AddressFamily::Ipv6 => udp6(length, 40_000, 0),
    };
    if family == AddressFamily::Ipv4 {
        (octets[15], octets[19]) = (from, to);
    } else {
        octets[8..10].copy_from_slice(&[0xfd, 0x78]);
        octets[24..26].copy_from_slice(&[0xfd, 0x78]);
        (octets[23], octets[39]) = (from, to);
    }
    with_ttl(octets, ttl)
}

/// What became of one packet; lost ones have no bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) direction: Direction,
    pub(crate) record: Record,
    pub(crate) octets: Vec<u8>,
}

impl Seen {
    /// Whether it is an answer of a router, wherever it ended.
    pub(crate) fn is_answer(&self) -> bool {
        [1, 58].contains(&self.record.protocol)
    }

    pub(crate) fn delivery(&self) -> u64 {
        self.record.delivery().unwrap_or_else(|| panic!("it was {}", self.record.fate.name())).0
    }

    /// What is above IP.
    pub(crate) fn message(&self) -> &[u8] {
        &self.octets[if self.octets[0] >> 4 == 4 { 20 } else { 40 }..]
    }

    /// What is quoted in it.
    pub(crate) fn quote(&self) -> &[u8] {
        &self.message()[8..]
    }

    pub(crate) fn source(&self) -> std::net::IpAddr {
        if self.octets[0] >> 4 == 4 {
            <[u8; 4]>::try_from(&self.octets[12..16]).unwrap().into()
        } else {
            <[u8; 16]>::try_from(&self.octets[8..24]).unwrap().into()
        }
    }
}

/// Everything that is settled by `now`.
pub(crate) fn settled(link: &mut VirtualLink, now: LabTime) -> Vec<Seen> {
    let mut seen = Vec::new();
    link.poll(now, |direction, outcome| {
        let (record, octets) = match outcome {
            Outcome::Delivered(octets, record) => (record, octets.to_vec()),
            Outcome::Lost(record) => (record, Vec::new()),
        };
        seen.push(Seen { direction, record, octets });
    });
    seen
}

/// Everything that will ever be settled.
pub(crate) fn everything(link: &mut VirtualLink) -> Vec<Seen> {
    settled(link, LabTime(u64::MAX / 2))
}

/// The answers that reach a host, in the order in which they do.
pub(crate) fn answers(link: &mut VirtualLink) -> Vec<Seen> {
    let delivered = |seen: &Seen| seen.is_answer() && seen.record.fate == Fate::Delivered;
    let mut answers: Vec<Seen> = everything(link).into_iter().filter(delivered).collect();
    answers.sort_by_key(Seen::delivery);
    answers
}

/// The one answer that reaches a host.
pub(crate) fn answer(link: &mut VirtualLink) -> Seen {
    let answers = answers(link);
    assert_eq!(answers.len(), 1, "one answer was expected: {answers:?}");
    answers.into_iter().next().unwrap()
}

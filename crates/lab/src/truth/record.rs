//! What the lab knows of one packet in one direction.

use rrul_model::flow::{AddressFamily, Direction};

use crate::packet::Header;
use crate::time::LabTime;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It reached the other host.
    Delivered,
    /// The queue was full: a FIFO drops the packet that comes, FQ-CoDel from the head of its fattest flow.
    Overflow,
    /// Active queue management dropped it.
    AqmDrop,
    /// The link lost it by chance, before the queue.
    RandomLoss,
    /// The link lost it by count, before the queue.
    ExactLoss,
    /// The shaper's queue was full.
    ShaperOverflow,
    /// The shaper's active queue management dropped it.
    ShaperAqmDrop,
    /// A policer found it too much, where it was to enter the line's queue.
    Policed,
    /// Its TTL was used up at a router on the way.
    Expired,
    /// A router on the way had to forward it over a link that does not carry so many bytes.
    TooBig,
}

impl Fate {
    /// All, in the order of the CSV documentation.
    pub const ALL: [Self; 10] = [
        Self::Delivered,
        Self::Overflow,
        Self::AqmDrop,
        Self::RandomLoss,
        Self::ExactLoss,
        Self::ShaperOverflow,
        Self::ShaperAqmDrop,
        Self::Policed,
        Self::Expired,
        Self::TooBig,
    ];

    /// The name used in data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Overflow => "overflow",
            Self::AqmDrop => "aqm_drop",
            Self::RandomLoss => "random_loss",
            Self::ExactLoss => "exact_loss",
            Self::ShaperOverflow => "shaper_overflow",
            Self::ShaperAqmDrop => "shaper_aqm_drop",
            Self::Policed => "policed",
            Self::Expired => "expired",
            Self::TooBig => "too_big",
        }
    }
}

/// The whole truth about one packet in one direction, in 64 bytes.
///
/// A packet that still waits or flies has no record yet. A duplicate made by the link has a record of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When the lab read it from the sending host, or a router on the way made it.
    pub arrival: LabTime,
    /// Nanoseconds that it waited in queues until its transmission began, or until its drop; zero for a loss before the
    /// queue, and for what did not meet it. Where the link has a shaper, its delay is included.
    pub queueing_delay: u64,
    /// The part of `queueing_delay` that it waited in the shaper's queue.
    pub shaper_delay: u64,
    departure: LabTime,
    delivery: LabTime,
    /// First byte of the TCP payload in the stream's sequence space; zero for other protocols.
    pub tcp_sequence: u32,
    /// Nanoseconds from the delivery that the link's model asks for to the actual one; 4.29 s and more count as that.
    ///
    /// This is the lab's own error, which measurements see as extra delay: it depends on the machine's load.
    pub lateness: u32,
    /// L3 bytes.
    pub length: u16,
    /// Bytes above the TCP header; zero for other protocols.
    pub tcp_payload: u16,
    /// Zero without ports.
    pub source_port: u16,
    /// Zero without ports.
    pub destination_port: u16,
    /// TOS or traffic class as it came.
    pub tos_in: u8,
    /// TOS or traffic class as it left: rewritten by the link, CE set by the queue. For lost packets, what it was last.
    pub tos_out: u8,
    /// IP protocol number.
    pub protocol: u8,
    /// IPv4 or IPv6.
    pub family: AddressFamily,
    /// What became of it.
    pub fate: Fate,
    /// Whether this link set CE on a packet that came without: by its queue or by its ECN rewriting.
    pub marked: bool,
    /// Whether the link made this copy itself.
    pub duplicate: bool,
    /// Whether the link held it back so that later packets overtake it.
    pub reordered: bool,
}

impl Record {
    /// The record of a packet that has just come.
    pub(crate) fn arrived(header: &Header, length: usize, arrival: LabTime) -> Self {
        Self {
            arrival,
            queueing_delay: 0,
            shaper_delay: 0,
            departure: LabTime(0),
            delivery: LabTime(0),
            tcp_sequence: header.tcp_sequence,
            lateness: 0,
            length: length as u16,
            tcp_payload: header.tcp_payload,
            source_port: header.source_port,
            destination_port: header.destination_port,
            tos_in: header.tos,
            tos_out: header.tos,
            protocol: header.protocol,
            family: header.family,
            fate: Fate::Delivered,
            marked: false,
            duplicate: false,
            reordered: false,
        }
    }

    /// The client's port of a packet that went this way; zero without ports.
    pub fn client_port(&self, direction: Direction) -> u16 {
        if direction == Direction::Up { self.source_port } else { self.destination_port }
    }

    /// When its last bit left the line, or its shaper behind that; `None` for a lost packet. An answer of a router that did not meet the
    /// bottleneck left when it was made.
    pub fn departure(&self) -> Option<LabTime> {
        (self.fate == Fate::Delivered).then_some(self.departure)
    }

    /// When the link's model delivers it to the other host; the actual delivery was later by `lateness`. `None` for a
    /// lost packet.
    pub fn delivery(&self) -> Option<LabTime> {
        (self.fate == Fate::Delivered).then_some(self.delivery)
    }

    pub(crate) fn departed(&mut self, at: LabTime) {
        self.departure = at;
    }

    pub(crate) fn delivered(&mut self, at: LabTime) {
        self.delivery = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::build::udp4;

    #[test]
    fn a_lost_packet_has_neither_departure_nor_delivery() {
        let octets = udp4(100, 1, 0);
        let mut record = Record::arrived(&Header::parse(&octets).unwrap(), octets.len(), LabTime(5));
        record.departed(LabTime(6));
        record.delivered(LabTime(7));
        assert_eq!((record.departure(), record.delivery()), (Some(LabTime(6)), Some(LabTime(7))));
        record.fate = Fate::AqmDrop;
        assert_eq!((record.departure(), record.delivery()), (None, None));
    }

    #[test]
    fn a_record_takes_64_bytes() {
        // docs/lab.md says how much memory a run needs.
        assert_eq!(size_of::<Record>(), 64);
    }
}

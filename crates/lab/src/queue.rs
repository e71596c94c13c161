//! Queue disciplines: what waits before the link, in which order it leaves, and what is dropped or marked.
//!
//! A discipline works on small handles in virtual time. It decides when it is asked, with the time given, and reads no
//! clock; the bytes of a packet stay in the pool of its pipe.

pub mod error;
pub mod options;

use rrul_model::units::{BitRate, ByteCount};

pub use crate::queue::error::QueueError;
pub use crate::queue::options::{FlowIsolation, Limit, QueueOptions, TinLayout};
use crate::time::LabTime;

/// The largest packet of a lab link in bytes of L3, which RFC 8289 calls MAXPACKET and asks to be the MTU.
pub(crate) const MTU: usize = 1500;

/// A packet in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedPacket {
    /// Its place in the pipe's pool.
    pub slot: u32,
    /// L3 bytes.
    pub length: u32,
    /// Bytes that it takes on the link, with overhead and framing.
    pub link_octets: u32,
    /// When it came to the queue.
    pub arrival: LabTime,
    /// Hash over its five-tuple, already perturbed by the seed.
    pub flow: u64,
    /// Hash over its source address.
    pub source: u64,
    /// Hash over its destination address.
    pub destination: u64,
    /// Its code point (RFC 2474), as it enters the queue.
    pub dscp: u8,
    /// Whether it is ECN-capable: ECT(0), ECT(1) or CE (RFC 3168 section 5).
    pub ecn_capable: bool,
    /// Whether the queue has set Congestion Experienced on it.
    pub marked: bool,
}

/// Why a queue dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// It was full.
    Overflow,
    /// Its active queue management chose to.
    Aqm,
}

/// A packet that a queue has dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedPacket {
    pub packet: QueuedPacket,
    pub cause: DropCause,
    /// When: at its own arrival, at another's, or at what would have been its departure.
    pub at: LabTime,
}

/// A queue discipline at work.
pub trait Queue: Send + std::fmt::Debug {
    /// Takes a packet at `now`. What does not fit, be it this packet or another, is appended to `dropped`.
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>);

    /// Hands out the packet whose transmission begins at `now`; drops on the way are appended to `dropped`.
    ///
    /// `None` leaves the queue empty.
    fn dequeue(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) -> Option<QueuedPacket>;

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Takes out everything that waits, in the order of arrival, so that another discipline can take over.
    fn drain(&mut self) -> Vec<QueuedPacket>;

    /// Sets the rate of the link behind the queue, for disciplines that depend on it. Called before the first packet, and
    /// whenever the rate changes.
    fn set_rate(&mut self, _rate: BitRate) {}

    /// Whether a dropped packet takes its time on the link as if it were sent.
    fn charges_drops(&self) -> bool {
        false
    }

    /// Counters of each of its classes, from the lowest to the highest priority. Empty without classes.
    fn classes(&self) -> Vec<ClassCounters> {
        Vec::new()
    }
}

/// Counters of one class of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassCounters {
    /// Name of the class.
    pub name: &'static str,
    /// Rate up to which the class has priority.
    pub threshold: BitRate,
    /// Packets sent.
    pub packets: u64,
    /// L3 bytes sent.
    pub octets: ByteCount,
    /// Packets dropped, whatever the cause.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// L3 bytes waiting.
    pub backlog: ByteCount,
}

/// Makes an empty queue from its options and a seed; an error says which option it cannot follow.
pub type BuildQueue = fn(&QueueOptions, u64) -> Result<Box<dyn Queue>, QueueError>;

/// A kind of queue: an entry of [`crate::queues::DISCIPLINES`].
#[derive(Debug)]
pub struct Discipline {
    /// Its name in link files.
    pub name: &'static str,
    /// One line on what it does, with its defaults.
    pub about: &'static str,
    /// The options that it understands.
    pub options: &'static [&'static str],
    /// Makes one; the seed perturbs its hash.
    pub build: BuildQueue,
}

/// A discipline with its settings, which it has been seen to accept.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    discipline: &'static Discipline,
    options: QueueOptions,
}

impl PartialEq for QueueSpec {
    fn eq(&self, other: &Self) -> bool {
        self.discipline.name == other.discipline.name && self.options == other.options
    }
}

impl QueueSpec {
    /// This discipline with these settings; an error says which of them it cannot follow.
    pub(crate) fn from_discipline(discipline: &'static Discipline, options: QueueOptions) -> Result<Self, QueueError> {
        (discipline.build)(&options, 0)?;
        Ok(Self { discipline, options })
    }

    /// The discipline.
    pub fn discipline(&self) -> &'static Discipline {
        self.discipline
    }

    /// The settings.
    pub fn options(&self) -> &QueueOptions {
        &self.options
    }

    /// An empty queue of this kind.
    pub fn build(&self, seed: u64) -> Box<dyn Queue> {
        (self.discipline.build)(&self.options, seed).expect("the same options were accepted when this was made")
    }
}

/// Nanoseconds that so many bytes take at a rate, rounded down.
pub(crate) fn transmission_time(octets: u64, rate: BitRate) -> u64 {
    (u128::from(octets) * 8_000_000_000 / u128::from(rate.0.max(1))) as u64
}

/// The packets of `limit`, or `default`; for disciplines that count packets only.
pub(crate) fn packet_limit(options: &QueueOptions, default: usize) -> Result<usize, QueueError> {
    match options.limit {
        None => Ok(default),
        Some(Limit::Packets(packets)) => Ok(packets),
        Some(Limit::Octets(_)) => Err(QueueError::CountsPackets),
    }
}

#[cfg(test)]
pub(crate) mod drive {
    //! Drives a queue by hand for tests.

    use super::{DroppedPacket, Queue, QueuedPacket};
    use crate::time::LabTime;

    /// A packet of 1500 bytes of flow `flow`, named by `slot`.
    pub(crate) fn packet(slot: u32, flow: u64, arrival: LabTime) -> QueuedPacket {
        QueuedPacket {
            slot,
            length: 1500,
            link_octets: 1500,
            arrival,
            flow,
            source: 0,
            destination: 0,
            dscp: 0,
            ecn_capable: false,
            marked: false,
        }
    }

    /// Milliseconds as an instant.
    pub(crate) fn ms(milliseconds: u64) -> LabTime {
        LabTime(milliseconds * 1_000_000)
    }

    /// Everything that comes out at `now`, by slot, with the drops on the way.
    pub(crate) fn empty(queue: &mut dyn Queue, now: LabTime) -> (Vec<u32>, Vec<DroppedPacket>) {
        let mut dropped = Vec::new();
        let sent = std::iter::from_fn(|| queue.dequeue(now, &mut dropped)).map(|packet| packet.slot).collect();
        (sent, dropped)
    }
}

//! Queue disciplines: what waits before the link, in which order it leaves, and what is dropped or marked.
//!
//! A discipline works on small handles in virtual time. It decides when it is asked, with the time given, and reads no
//! clock; the octets of a packet stay in the pool of its pipe.

use std::time::Duration;

use rrul_model::units::ByteCount;
use rrul_model::unknown_name::UnknownName;

use crate::time::LabTime;

/// The largest packet of a lab link in octets of L3, which RFC 8289 calls MAXPACKET and asks to be the MTU.
pub(crate) const MTU: usize = 1500;

/// A packet in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedPacket {
    /// Its place in the pipe's pool.
    pub slot: u32,
    /// L3 octets.
    pub length: u32,
    /// When it came to the queue.
    pub arrival: LabTime,
    /// Hash over its five-tuple, already perturbed by the seed.
    pub flow: u64,
    /// Its code point (RFC 2474), as it comes to the queue.
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
    /// The packet.
    pub packet: QueuedPacket,
    /// Why.
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
}

/// Why there is no such queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No discipline has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A limit that is no number of packets or octets.
    #[error("\"{0}\" is not a queue limit; write it like \"1000p\" (packets) or \"256kB\"")]
    Limit(String),
    /// Octets, for a discipline that counts packets.
    #[error("this queue counts packets; write its limit like \"1000p\"")]
    CountsPackets,
    /// Packets, for a discipline that counts octets.
    #[error("this queue counts octets; write its limit like \"256kB\"")]
    CountsOctets,
    /// CoDel with a target of zero, or an interval no longer than the target.
    #[error("CoDel needs 0 < target < interval, such as 5ms and 100ms")]
    Codel,
    /// FQ-CoDel with no flows, or too many.
    #[error("flows = {0} is out of range; 1 to 65536 are possible")]
    Flows(usize),
    /// FQ-CoDel with too small or too large a quantum.
    #[error("a quantum of {0} octets is out of range; 64B to 1MB are possible")]
    Quantum(u64),
}

/// How much fits into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many packets of any size: `1000p`.
    Packets(usize),
    /// This many octets of L3: `256kB`.
    Octets(ByteCount),
}

impl std::str::FromStr for Limit {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<Self, QueueError> {
        let packets = text.strip_suffix('p').map(|number| number.trim().parse::<usize>());
        match (packets, text.parse::<ByteCount>()) {
            (Some(Ok(packets)), _) if packets > 0 => Ok(Self::Packets(packets)),
            (None, Ok(octets)) if octets.0 > 0 => Ok(Self::Octets(octets)),
            _ => Err(QueueError::Limit(text.to_owned())),
        }
    }
}

/// The settings of a queue; what is `None` takes the default of its discipline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueOptions {
    /// Most that waits.
    pub limit: Option<Limit>,
    /// CoDel: the queueing delay that may stand (RFC 8289 section 4.3: 5 ms).
    pub target: Option<Duration>,
    /// CoDel: how long it may stand before the first drop (RFC 8289 section 4.3: 100 ms).
    pub interval: Option<Duration>,
    /// CoDel: mark ECN-capable packets instead of dropping them.
    pub ecn: Option<bool>,
    /// FQ-CoDel: number of flow queues (RFC 8290 section 5.2.4: 1024).
    pub flows: Option<usize>,
    /// FQ-CoDel: octets that a flow may send in a round (RFC 8290 section 5.2.4: 1514).
    pub quantum: Option<ByteCount>,
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

    /// A packet of 1500 octets of flow `flow`, named by `slot`.
    pub(crate) fn packet(slot: u32, flow: u64, arrival: LabTime) -> QueuedPacket {
        QueuedPacket { slot, length: 1500, arrival, flow, dscp: 0, ecn_capable: false, marked: false }
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

//! Counters of the queues of a link.

use rrul_model::units::{BitRate, ByteCount};

use crate::queue::ClassCounters;

/// Counters of one queue, since the link came up or the shaper was added.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueCounters {
    /// Name of the discipline.
    pub discipline: &'static str,
    /// Rate at which the queue is emptied now.
    pub rate: BitRate,
    /// Packets sent.
    pub packets: u64,
    /// L3 bytes sent.
    pub octets: ByteCount,
    /// Bytes sent with overhead and framing, and in ingress mode those of dropped packets.
    pub link_octets: ByteCount,
    /// Packets dropped because the queue was full.
    pub overflows: u64,
    /// Packets dropped by active queue management.
    pub aqm_drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Packets waiting.
    pub backlog_packets: u64,
    /// L3 bytes waiting.
    pub backlog: ByteCount,
    /// Counters of each class, for disciplines with classes.
    pub classes: Vec<ClassCounters>,
}

/// Counters of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionCounters {
    /// The line's own queue.
    pub line: QueueCounters,
    /// The shaper's queue; `None` without a shaper.
    pub shaper: Option<QueueCounters>,
}

/// Counters of both directions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Client to server.
    pub up: DirectionCounters,
    /// Server to client.
    pub down: DirectionCounters,
}

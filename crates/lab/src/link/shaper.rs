//! A shaper in series with the line, as a home router has it.

use rrul_model::link_layer::LinkLayer;
use rrul_model::units::BitRate;

use crate::queue::QueueSpec;

/// A shaper: a queue that hands its packets on at a rate of its own, without a burst.
///
/// It adds no transmission time: a packet is handed on as soon as the rate permits it to begin. Upward it is before the line,
/// downward behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaper {
    /// Bits per second, counted with the link layer's overhead and framing.
    pub rate: BitRate,
    /// What a packet takes of the rate beyond its L3 bytes.
    pub link_layer: LinkLayer,
    /// What waits before it.
    pub queue: QueueSpec,
}

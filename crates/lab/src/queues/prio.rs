//! `prio`: three bands by class, served strictly: a packet leaves only when no better band has one.
//!
//! What a router with priority queues does to service classes, and all that it can do to them. The best band takes EF,
//! VA and CS5 and above, the worst CS1 and LE, the middle one all others (the treatment that RFC 4594 and RFC 8622 ask
//! for, without any limit to the best). Each band is first in, first out.

use std::collections::VecDeque;

use crate::queue::{Discipline, DropCause, DroppedPacket, Queue, QueueError, QueueOptions, QueuedPacket, packet_limit};
use crate::time::LabTime;

/// Packets of each band.
const DEFAULT_LIMIT: usize = 1000;
const BANDS: usize = 3;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "prio",
    about: "three bands by class, served strictly: CS5 and above, others, CS1 and LE (limit 1000p each)",
    options: &["limit"],
    build: |options, _| Ok(Box::new(Prio::new(options)?)),
};

#[derive(Debug)]
struct Prio {
    limit: usize,
    /// The best first.
    bands: [VecDeque<QueuedPacket>; BANDS],
}

impl Prio {
    fn new(options: &QueueOptions) -> Result<Self, QueueError> {
        Ok(Self { limit: packet_limit(options, DEFAULT_LIMIT)?, bands: Default::default() })
    }
}

/// The band of a code point: 0 is the best.
fn band(dscp: u8) -> usize {
    match dscp {
        40..=63 => 0,
        1 | 8 => 2,
        _ => 1,
    }
}

impl Queue for Prio {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        let band = &mut self.bands[band(packet.dscp)];
        if band.len() < self.limit {
            band.push_back(packet);
        } else {
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
        }
    }

    fn dequeue(&mut self, _: LabTime, _: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        self.bands.iter_mut().find_map(VecDeque::pop_front)
    }

    fn packets(&self) -> usize {
        self.bands.iter().map(VecDeque::len).sum()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        let mut waiting: Vec<QueuedPacket> = self.bands.iter_mut().flat_map(|band| band.drain(..)).collect();
        waiting.sort_by_key(|packet| packet.arrival);
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Limit;
    use crate::queue::drive::{empty, ms, packet};

    fn marked(slot: u32, dscp: u8) -> QueuedPacket {
        QueuedPacket { dscp, ..packet(slot, 0, ms(u64::from(slot))) }
    }

    fn filled(limit: usize, classes: &[u8]) -> (Prio, Vec<DroppedPacket>) {
        let options = QueueOptions { limit: Some(Limit::Packets(limit)), ..QueueOptions::default() };
        let mut queue = Prio::new(&options).unwrap();
        let mut dropped = Vec::new();
        for (slot, dscp) in classes.iter().enumerate() {
            queue.enqueue(marked(slot as u32, *dscp), ms(slot as u64), &mut dropped);
        }
        (queue, dropped)
    }

    #[test]
    fn a_better_band_leaves_first_and_each_keeps_its_order() {
        let (mut queue, dropped) = filled(10, &[8, 0, 46, 1, 34, 40, 48]);
        assert!(dropped.is_empty());
        assert_eq!(queue.packets(), 7);
        assert_eq!(empty(&mut queue, ms(9)).0, [2, 5, 6, 1, 4, 0, 3]);
    }

    #[test]
    fn a_full_band_drops_its_own_and_no_others() {
        let (queue, dropped) = filled(2, &[0, 0, 0, 46, 8]);
        assert_eq!(dropped.iter().map(|lost| lost.packet.slot).collect::<Vec<_>>(), [2]);
        assert_eq!(queue.packets(), 4);
    }

    #[test]
    fn what_waits_is_drained_in_order_of_arrival() {
        let (mut queue, _) = filled(10, &[8, 46, 0]);
        assert_eq!(queue.drain().iter().map(|packet| packet.slot).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(queue.packets(), 0);
    }
}

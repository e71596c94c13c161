//! `pfifo`: first in, first out, limited in packets; a packet that finds it full is dropped.

use std::collections::VecDeque;

use crate::queue::{Discipline, DropCause, DroppedPacket, Queue, QueuedPacket, packet_limit};
use crate::time::LabTime;

const DEFAULT_LIMIT: usize = 1000;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "pfifo",
    about: "first in, first out, limited in packets (limit 1000p)",
    options: &["limit"],
    build: |options, _| Ok(Box::new(Pfifo { limit: packet_limit(options, DEFAULT_LIMIT)?, waiting: VecDeque::new() })),
};

#[derive(Debug)]
struct Pfifo {
    limit: usize,
    waiting: VecDeque<QueuedPacket>,
}

impl Queue for Pfifo {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        if self.waiting.len() < self.limit {
            self.waiting.push_back(packet);
        } else {
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
        }
    }

    fn dequeue(&mut self, _: LabTime, _: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        self.waiting.pop_front()
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        self.waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drive::{empty, ms, packet};
    use crate::queue::{Limit, QueueOptions};

    #[test]
    fn the_packet_beyond_the_limit_is_dropped_and_the_others_keep_their_order() {
        let options = QueueOptions { limit: Some(Limit::Packets(3)), ..QueueOptions::default() };
        let mut queue = (DISCIPLINE.build)(&options, 0).unwrap();
        let mut dropped = Vec::new();
        for slot in 0..4 {
            queue.enqueue(packet(slot, 0, ms(0)), ms(7), &mut dropped);
        }
        let late = DroppedPacket { packet: packet(3, 0, ms(0)), cause: DropCause::Overflow, at: ms(7) };
        assert_eq!(dropped, [late]);
        assert_eq!(empty(&mut *queue, ms(8)), (vec![0, 1, 2], vec![]));
    }

    #[test]
    fn a_limit_in_bytes_is_refused() {
        let options = QueueOptions { limit: Some("256kB".parse().unwrap()), ..QueueOptions::default() };
        assert!((DISCIPLINE.build)(&options, 0).unwrap_err().to_string().contains("1000p"));
    }
}

//! `bfifo`: first in, first out, limited in bytes; a packet that does not fit is dropped.

use std::collections::VecDeque;

use crate::queue::{Discipline, DropCause, DroppedPacket, Limit, Queue, QueueError, QueueOptions, QueuedPacket};
use crate::time::LabTime;

const DEFAULT_LIMIT: u64 = 256_000;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "bfifo",
    about: "first in, first out, limited in bytes of L3 (limit 256kB)",
    options: &["limit"],
    build: |options, _| Ok(Box::new(Bfifo { limit: octet_limit(options)?, octets: 0, waiting: VecDeque::new() })),
};

fn octet_limit(options: &QueueOptions) -> Result<u64, QueueError> {
    match options.limit {
        None => Ok(DEFAULT_LIMIT),
        Some(Limit::Octets(octets)) => Ok(octets.0),
        Some(Limit::Packets(_)) => Err(QueueError::CountsOctets),
    }
}

#[derive(Debug)]
struct Bfifo {
    limit: u64,
    octets: u64,
    waiting: VecDeque<QueuedPacket>,
}

impl Queue for Bfifo {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        if self.octets + u64::from(packet.length) <= self.limit {
            self.octets += u64::from(packet.length);
            self.waiting.push_back(packet);
        } else {
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
        }
    }

    fn dequeue(&mut self, _: LabTime, _: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        let packet = self.waiting.pop_front()?;
        self.octets -= u64::from(packet.length);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        self.octets = 0;
        self.waiting.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drive::{empty, ms, packet};

    #[test]
    fn bytes_are_what_fills_it() {
        let options = QueueOptions { limit: Some("4kB".parse().unwrap()), ..QueueOptions::default() };
        let mut queue = (DISCIPLINE.build)(&options, 0).unwrap();
        let mut dropped = Vec::new();
        for slot in 0..3 {
            queue.enqueue(packet(slot, 0, ms(0)), ms(0), &mut dropped);
        }
        assert_eq!(dropped.len(), 1, "two packets of 1500 bytes fit into 4000");
        let small = QueuedPacket { length: 1000, ..packet(9, 0, ms(0)) };
        queue.enqueue(small, ms(0), &mut dropped);
        assert_eq!(dropped.len(), 1, "1000 bytes still fit");
        assert_eq!(empty(&mut *queue, ms(1)).0, [0, 1, 9]);
        queue.enqueue(packet(5, 0, ms(2)), ms(2), &mut dropped);
        assert_eq!(queue.packets(), 1, "what has left makes room");
    }

    #[test]
    fn a_limit_in_packets_is_refused() {
        let options = QueueOptions { limit: Some("1000p".parse().unwrap()), ..QueueOptions::default() };
        assert!((DISCIPLINE.build)(&options, 0).unwrap_err().to_string().contains("256kB"));
    }
}

//! One direction of the link in virtual time: no clock, no socket, no thread.
//!
//! Whoever drives it tells it the time. All decisions are taken at the *virtual* instants at which a real link would take
//! them: a packet's transmission begins at its arrival or when the packet before it has left, whichever is later, and
//! the queue is asked at exactly that instant. A driver that wakes up late delivers late; the truth stays the same.

use crate::link::LinkDirection;
use crate::packet::{Header, set_tos};
use crate::queue::{DropCause, DroppedPacket, Queue, QueueSpec, QueuedPacket};
use crate::random::Random;
use crate::rate_schedule::Transmitter;
use crate::record::{Fate, Record};
use crate::remark::Remarker;
use crate::selection::Selector;
use crate::time::LabTime;
use crate::token_bucket::TokenBucket;
use crate::wire::Wire;

/// What the pipe has to say about a packet, once and for all.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// It has arrived at the other host; its octets and its record.
    Delivered(&'a [u8], Record),
    /// It is gone.
    Lost(Record),
}

/// A packet while it is in the pipe.
#[derive(Debug)]
struct Slot {
    octets: Vec<u8>,
    record: Record,
    /// Whether the impairments may hit it.
    impaired: bool,
}

/// One direction of a link, at work.
#[derive(Debug)]
pub struct Pipe {
    seed: u64,
    overhead: u64,
    only: crate::filter::PacketFilter,
    loss: Selector,
    duplicate: Selector,
    remarker: Remarker,
    spec: QueueSpec,
    queue: Box<dyn Queue>,
    transmitter: Transmitter,
    policer: Option<TokenBucket>,
    /// When the transmission in progress ends, or the last one ended.
    link_free: LabTime,
    wire: Wire,
    pool: Vec<Slot>,
    vacant: Vec<u32>,
    dropped: Vec<DroppedPacket>,
    lost: Vec<Record>,
}

impl Pipe {
    /// An empty pipe whose rate schedule begins at `now`. Equal seeds and equal offers give equal outcomes.
    pub fn new(direction: &LinkDirection, seed: u64, now: LabTime) -> Self {
        Self {
            seed,
            overhead: direction.overhead.0,
            only: direction.only.clone(),
            loss: Selector::new(direction.loss.clone(), Random::new(seed, "loss")),
            duplicate: Selector::new(direction.duplicate.clone(), Random::new(seed, "duplicate")),
            remarker: Remarker::new(direction.dscp.clone(), direction.ecn.clone(), Random::new(seed, "ecn")),
            spec: direction.queue.clone(),
            queue: direction.queue.build(seed),
            transmitter: Transmitter::new(&direction.rate, direction.burst, now),
            policer: policer(direction, now),
            link_free: now,
            wire: Wire::new(direction, seed),
            pool: Vec::new(),
            vacant: Vec::new(),
            dropped: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Changes the link at `now`; counts of impairments and the rate schedule begin anew.
    ///
    /// The packet in transmission leaves at the old rate, and what flies arrives as it would have. What waits stays
    /// where it is when the queue's settings are the same; else it is put into the new queue in order of arrival.
    pub fn set(&mut self, direction: &LinkDirection, now: LabTime) {
        self.advance(now);
        self.overhead = direction.overhead.0;
        self.only = direction.only.clone();
        self.loss = Selector::new(direction.loss.clone(), Random::new(self.seed, "loss"));
        self.duplicate = Selector::new(direction.duplicate.clone(), Random::new(self.seed, "duplicate"));
        self.remarker = Remarker::new(direction.dscp.clone(), direction.ecn.clone(), Random::new(self.seed, "ecn"));
        self.transmitter = Transmitter::new(&direction.rate, direction.burst, now);
        self.policer = policer(direction, now);
        self.wire.set(direction, self.seed);
        if self.spec != direction.queue {
            self.spec = direction.queue.clone();
            let waiting = self.queue.drain();
            self.queue = self.spec.build(self.seed);
            for packet in waiting {
                self.queue.enqueue(packet, now, &mut self.dropped);
            }
            self.settle_drops();
        }
    }

    /// Takes a packet that arrives at `now`; times must not fall from one call to the next.
    ///
    /// What is no IP packet, or is addressed to one link only and so forwarded by no router, is ignored and gets no
    /// record.
    pub fn offer(&mut self, octets: &[u8], now: LabTime) {
        let Some(header) = Header::parse(octets).filter(|header| !header.link_local) else { return };
        self.advance(now);
        let mut record = Record::arrived(&header, octets.len(), now);
        let impaired = self.only.matches(&header, octets.len());
        if impaired && self.loss.hits() {
            record.fate = if self.loss.is_exact() { Fate::ExactLoss } else { Fate::RandomLoss };
            self.lost.push(record);
            return;
        }
        if impaired {
            record.tos_out = self.remarker.apply(header.tos);
            record.marked = record.tos_out & 3 == 3 && header.tos & 3 != 3;
            if self.policer.as_mut().is_some_and(|bucket| !bucket.take(octets.len() as u64, now)) {
                record.fate = Fate::Policed;
                self.lost.push(record);
                return;
            }
        }
        let packet = QueuedPacket {
            slot: self.store(octets, record, impaired),
            length: octets.len() as u32,
            arrival: now,
            flow: header.flow,
            dscp: record.tos_out >> 2,
            ecn_capable: record.tos_out & 3 != 0,
            marked: false,
        };
        if self.queue.packets() == 0 && self.link_free <= now {
            self.transmitter.idle();
            self.link_free = now;
        }
        self.queue.enqueue(packet, now, &mut self.dropped);
        self.settle_drops();
        self.advance(now);
    }

    /// When [`Pipe::poll`] next has something to hand out, or may have; `None` when the pipe is empty.
    ///
    /// Never later than the next delivery. Waking at departures is not needed: they are caught up with.
    pub fn next_event(&self) -> Option<LabTime> {
        let waiting = self.queue.packets() > 0;
        let earliest = waiting.then(|| LabTime(self.link_free.0.saturating_add(self.wire.least_delay())));
        let lost = (!self.lost.is_empty()).then_some(LabTime(0));
        self.wire.next_arrival().into_iter().chain(earliest).chain(lost).min()
    }

    /// Hands out everything that is settled by `now`: deliveries in order of their time, losses as they were decided.
    pub fn poll(&mut self, now: LabTime, mut hand_out: impl FnMut(Outcome<'_>)) {
        self.advance(now);
        for record in self.lost.drain(..) {
            hand_out(Outcome::Lost(record));
        }
        while let Some((index, delivery)) = self.wire.arrive(now) {
            let slot = &mut self.pool[index as usize];
            slot.record.delivered(delivery);
            hand_out(Outcome::Delivered(&slot.octets, slot.record));
            self.vacant.push(index);
        }
    }

    /// Begins every transmission whose time has come by `now`, each at its own instant.
    fn advance(&mut self, now: LabTime) {
        while self.queue.packets() > 0 && self.link_free <= now {
            let start = self.link_free;
            let packet = self.queue.dequeue(start, &mut self.dropped);
            self.settle_drops();
            if let Some(packet) = packet {
                self.transmit(packet, start);
            }
        }
    }

    fn transmit(&mut self, packet: QueuedPacket, start: LabTime) {
        let departure = self.transmitter.finish(start, u64::from(packet.length) + self.overhead);
        self.link_free = departure;
        let slot = &mut self.pool[packet.slot as usize];
        slot.record.queueing_delay = start.since(packet.arrival);
        slot.record.departed(departure);
        if packet.marked && slot.record.tos_out & 3 != 3 {
            slot.record.tos_out |= 3;
            slot.record.marked = true;
        }
        if slot.record.tos_out != slot.record.tos_in {
            set_tos(&mut slot.octets, slot.record.tos_out);
        }
        let impaired = slot.impaired;
        let copy = (impaired && self.duplicate.hits()).then(|| self.duplicate_of(packet.slot));
        if self.wire.send(packet.slot, copy, departure, impaired) {
            self.pool[packet.slot as usize].record.reordered = true;
        }
    }

    /// Turns what the queue has dropped into records.
    fn settle_drops(&mut self) {
        for DroppedPacket { packet, cause, at } in self.dropped.drain(..) {
            let mut record = self.pool[packet.slot as usize].record;
            record.queueing_delay = at.since(packet.arrival);
            record.fate = match cause {
                DropCause::Overflow => Fate::Overflow,
                DropCause::Aqm => Fate::AqmDrop,
            };
            self.lost.push(record);
            self.vacant.push(packet.slot);
        }
    }

    /// Puts a packet into the pool, which grows only while more packets are in the pipe than ever before.
    fn store(&mut self, octets: &[u8], record: Record, impaired: bool) -> u32 {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.pool.push(Slot { octets: Vec::with_capacity(crate::queue::MTU), record, impaired });
            self.pool.len() as u32 - 1
        });
        let slot = &mut self.pool[index as usize];
        slot.octets.clear();
        slot.octets.extend_from_slice(octets);
        slot.record = record;
        slot.impaired = impaired;
        index
    }

    fn duplicate_of(&mut self, original: u32) -> u32 {
        let slot = &mut self.pool[original as usize];
        let (octets, mut record) = (std::mem::take(&mut slot.octets), slot.record);
        record.duplicate = true;
        let copy = self.store(&octets, record, false);
        self.pool[original as usize].octets = octets;
        copy
    }
}

fn policer(direction: &LinkDirection, now: LabTime) -> Option<TokenBucket> {
    direction.police.map(|policer| TokenBucket::new(policer.rate, policer.size, now))
}

#[cfg(test)]
#[path = "pipe_tests.rs"]
mod tests;

//! One direction of the link in virtual time: no clock, no socket, no thread.
//!
//! Whoever drives it tells it the time. All decisions are taken at the *virtual* instants at which a real link would take
//! them: a packet's transmission begins at its arrival or when the packet before it has left, whichever is later, and
//! the queue is asked at exactly that instant. A driver that wakes up late delivers late; the truth stays the same.
//!
//! Where the link has routers, some packets end at one of them. What it answers belongs into the pipe of the other
//! direction: whoever drives both carries it there, as [`crate::VirtualLink`] does.

use std::collections::BTreeMap;

use rrul_model::flow::Direction;
use rrul_model::random::Random;

use crate::line::pool::Pool;
use crate::line::wire::Wire;
use crate::link::rate_schedule::Transmitter;
use crate::link::remark::Remarker;
use crate::link::selection::Selector;
use crate::link::token_bucket::TokenBucket;
use crate::link::way::{Course, Remarking, Way};
use crate::link::{Link, LinkDirection};
use crate::packet::{Header, lower_ttl, set_tos, ttl};
use crate::queue::{DropCause, DroppedPacket, Queue, QueueSpec, QueuedPacket};
use crate::routers::icmp::Notice;
use crate::routers::router::{RouterAnswer, Routers};
use crate::time::LabTime;
use crate::truth::record::{Fate, Record};

/// What the pipe has to say about a packet, once and for all.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// It has arrived at the other host; its octets and its record.
    Delivered(&'a [u8], Record),
    /// It is gone.
    Lost(Record),
}

/// What comes to the queue, or passes it by.
#[derive(Debug)]
enum Coming {
    /// A host's packet, in this place of the pool; and its flow.
    Packet(u32, u64),
    /// An answer out of the other direction's pipe.
    Answer(RouterAnswer),
}

/// One direction of a link, at work.
#[derive(Debug)]
pub struct Pipe {
    seed: u64,
    overhead: u64,
    only: crate::link::filter::PacketFilter,
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
    way: Way,
    routers: Routers,
    pool: Pool,
    dropped: Vec<DroppedPacket>,
    lost: Vec<Record>,
    /// How many of those that wait in the queue do not travel the whole way.
    part_way: usize,
    /// Answers for the other direction's pipe.
    answers: Vec<RouterAnswer>,
    /// What is on its way to the queue, by when it gets there and by the order in which it was told.
    coming: BTreeMap<(LabTime, u64), Coming>,
    told: u64,
    /// When the host's last packet gets there: none that left later is there earlier, whatever the link has become since.
    latest: LabTime,
    /// Until when everything is decided.
    decided: LabTime,
}

impl Pipe {
    /// An empty pipe between neighbours, whose rate schedule begins at `now`. Equal seeds and equal offers give equal
    /// outcomes.
    pub fn new(direction: &LinkDirection, seed: u64, now: LabTime) -> Self {
        Self::over(direction, Way::of_neighbours(direction), Routers::new(None, seed), seed, now)
    }

    /// As [`Pipe::new`], with the routers of the link.
    pub fn of_link(link: &Link, direction: Direction, seed: u64, now: LabTime) -> Self {
        let routers = Routers::new(link.path.as_ref(), seed);
        Self::over(link.direction(direction), Way::new(link, direction), routers, seed, now)
    }

    fn over(direction: &LinkDirection, way: Way, routers: Routers, seed: u64, now: LabTime) -> Self {
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
            wire: Wire::new(direction, way.behind(Course::Through), seed),
            way,
            routers,
            pool: Pool::default(),
            dropped: Vec::new(),
            lost: Vec::new(),
            part_way: 0,
            answers: Vec::new(),
            coming: BTreeMap::new(),
            told: 0,
            latest: now,
            decided: now,
        }
    }

    /// Changes the link at `now`; counts of impairments and the rate schedule begin anew.
    ///
    /// The packet in transmission leaves at the old rate, and what flies arrives as it would have. What waits stays
    /// where it is when the queue's settings are the same; else it is put into the new queue in order of arrival. Which
    /// router a packet ends at is settled as it comes, and what that answers when the packet has left the queue. Routers
    /// remember whom they answered.
    pub fn set(&mut self, link: &Link, direction: Direction, now: LabTime) {
        self.advance(now);
        self.way = Way::new(link, direction);
        self.routers.set(link.path.as_ref());
        let direction = link.direction(direction);
        self.overhead = direction.overhead.0;
        self.only = direction.only.clone();
        self.loss = Selector::new(direction.loss.clone(), Random::new(self.seed, "loss"));
        self.duplicate = Selector::new(direction.duplicate.clone(), Random::new(self.seed, "duplicate"));
        self.remarker = Remarker::new(direction.dscp.clone(), direction.ecn.clone(), Random::new(self.seed, "ecn"));
        self.transmitter = Transmitter::new(&direction.rate, direction.burst, now);
        self.policer = policer(direction, now);
        self.wire.set(direction, self.way.behind(Course::Through), self.seed);
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
        let course = self.way.course(ttl(octets), octets.len());
        let impaired = self.only.matches(&header, octets.len());
        if impaired && self.loss.hits() {
            record.fate = if self.loss.is_exact() { Fate::ExactLoss } else { Fate::RandomLoss };
            self.lost.push(record);
            return;
        }
        if impaired {
            if self.way.remarking(course) == Remarking::BeforeQueue {
                remark(&mut record, &mut self.remarker);
            }
            if self.policer.as_mut().is_some_and(|bucket| !bucket.take(octets.len() as u64, now)) {
                record.fate = Fate::Policed;
                self.lost.push(record);
                return;
            }
        }
        let slot = self.pool.take_in(octets, record, impaired, course);
        lower_ttl(&mut self.pool[slot].octets, self.way.forwarded(course));
        match self.way.ahead(course) {
            _ if !self.way.meets_queue(course) => self.leave(slot, now),
            0 if self.latest <= now => {
                self.enqueue(slot, header.flow, now);
                self.advance(now);
            }
            ahead => {
                self.latest = self.latest.max(LabTime(now.0.saturating_add(ahead)));
                self.comes(self.latest, Coming::Packet(slot, header.flow));
            }
        }
    }

    /// Takes a router's answer out of the other direction's pipe. It comes when it is due, or at once if that is past.
    pub fn take_in(&mut self, answer: RouterAnswer) {
        let ahead = self.way.ahead(Course::AnswerOf { hop: answer.hop });
        self.comes(LabTime(answer.due.0.saturating_add(ahead)), Coming::Answer(answer));
    }

    /// Something is on its way that comes to the queue then.
    fn comes(&mut self, at: LabTime, what: Coming) {
        self.told += 1;
        self.coming.insert((at, self.told), what);
    }

    /// What routers have answered, for [`Pipe::take_in`] of the other direction's pipe. To be asked for after each call
    /// that takes a time.
    pub fn answers(&mut self) -> Vec<RouterAnswer> {
        std::mem::take(&mut self.answers)
    }

    fn enqueue(&mut self, index: u32, flow: u64, now: LabTime) {
        let slot = &self.pool[index];
        let packet = QueuedPacket {
            slot: index,
            length: slot.octets.len() as u32,
            arrival: now,
            flow,
            dscp: slot.record.tos_out >> 2,
            ecn_capable: slot.record.tos_out & 3 != 0,
            marked: false,
        };
        self.part_way += usize::from(slot.course != Course::Through);
        if self.queue.packets() == 0 && self.link_free <= now {
            self.transmitter.idle();
            self.link_free = now;
        }
        self.queue.enqueue(packet, now, &mut self.dropped);
        self.settle_drops();
    }

    /// When [`Pipe::poll`] next has something to hand out, or may have; `None` when the pipe is empty.
    ///
    /// Never later than the next delivery. Waking at departures is not needed: they are caught up with.
    pub fn next_event(&self) -> Option<LabTime> {
        let waiting = self.queue.packets() > 0;
        let travel = if self.part_way > 0 { self.way.least_travel() } else { self.wire.least_delay() };
        let earliest = waiting.then(|| LabTime(self.link_free.0.saturating_add(travel)));
        let lost = (!self.lost.is_empty()).then_some(LabTime(0));
        let coming = self.coming.keys().next().map(|(due, _)| LabTime(due.0.saturating_add(self.way.least_travel())));
        self.wire.next_arrival().into_iter().chain(earliest).chain(lost).chain(coming).min()
    }

    /// When it next has something to decide: that a transmission begins, or that an answer comes. `None` when nothing waits.
    pub(crate) fn next_decision(&self) -> Option<LabTime> {
        self.next_start().into_iter().chain(self.next_coming()).min()
    }

    fn next_start(&self) -> Option<LabTime> {
        (self.queue.packets() > 0).then_some(self.link_free)
    }

    fn next_coming(&self) -> Option<LabTime> {
        self.coming.keys().next().map(|(due, _)| (*due).max(self.decided))
    }

    /// Hands out everything that is settled by `now`: deliveries in order of their time, losses as they were decided.
    pub fn poll(&mut self, now: LabTime, mut hand_out: impl FnMut(Outcome<'_>)) {
        self.advance(now);
        for record in self.lost.drain(..) {
            hand_out(Outcome::Lost(record));
        }
        while let Some((index, delivery)) = self.wire.arrive(now) {
            let slot = &mut self.pool[index];
            slot.record.delivered(delivery);
            hand_out(Outcome::Delivered(&slot.octets, slot.record));
            self.pool.give_back(index);
        }
    }

    /// Begins every transmission and lets in everything whose time has come by `now`, each at its own instant.
    pub(crate) fn advance(&mut self, now: LabTime) {
        loop {
            match (self.next_start(), self.next_coming()) {
                (Some(start), coming) if start <= now && coming.is_none_or(|coming| start <= coming) => {
                    let packet = self.queue.dequeue(start, &mut self.dropped);
                    self.settle_drops();
                    if let Some(packet) = packet {
                        self.transmit(packet, start);
                    }
                }
                (_, Some(coming)) if coming <= now => self.let_in(coming),
                _ => break,
            }
        }
        self.decided = self.decided.max(now);
    }

    /// Lets in what comes first. An answer meets the queue, but no impairment and no remarking.
    fn let_in(&mut self, now: LabTime) {
        let RouterAnswer { hop, due, octets } = match self.coming.pop_first() {
            Some((_, Coming::Answer(answer))) => answer,
            Some((_, Coming::Packet(slot, flow))) => return self.enqueue(slot, flow, now),
            None => return,
        };
        let header = Header::parse(&octets).expect("a router writes whole IP headers");
        let course = Course::AnswerOf { hop };
        let queues = self.way.meets_queue(course);
        // What meets no queue changes nothing for others, and so is not late when it is told late.
        let arrival = if queues { LabTime(now.0.saturating_sub(self.way.ahead(course))).max(due) } else { due };
        let slot = self.pool.take_in(&octets, Record::arrived(&header, octets.len(), arrival), false, course);
        if queues {
            self.enqueue(slot, header.flow, now);
        } else {
            self.leave(slot, due);
        }
    }

    fn transmit(&mut self, packet: QueuedPacket, start: LabTime) {
        let departure = self.transmitter.finish(start, u64::from(packet.length) + self.overhead);
        self.link_free = departure;
        let slot = &mut self.pool[packet.slot];
        slot.record.queueing_delay = start.since(packet.arrival);
        if packet.marked && slot.record.tos_out & 3 != 3 {
            slot.record.tos_out |= 3;
            slot.record.marked = true;
        }
        self.part_way -= usize::from(slot.course != Course::Through);
        self.leave(packet.slot, departure);
    }

    /// Sends a packet on its way that has left the queue, or does not meet it.
    fn leave(&mut self, index: u32, departure: LabTime) {
        let slot = &mut self.pool[index];
        let (course, impaired) = (slot.course, slot.impaired);
        slot.record.departed(departure);
        if impaired && self.way.remarking(course) == Remarking::BehindQueue {
            remark(&mut slot.record, &mut self.remarker);
        }
        if slot.record.tos_out != slot.record.tos_in {
            set_tos(&mut slot.octets, slot.record.tos_out);
        }
        let copy = (impaired && self.duplicate.hits()).then(|| self.pool.duplicate_of(index));
        let at = LabTime(departure.0.saturating_add(self.way.behind(course)));
        match course {
            Course::Through => {
                self.pool[index].record.reordered = self.wire.send(index, copy, departure, impaired);
            }
            Course::AnswerOf { .. } => self.wire.send_apart(index, at),
            Course::EndsAt { hop, fate } => {
                let held = self.wire.hold_apart(impaired);
                self.pool[index].record.reordered = held.is_some();
                self.end(index, hop, fate, LabTime(at.0.saturating_add(held.unwrap_or(0))));
                if let Some(copy) = copy {
                    self.end(copy, hop, fate, at);
                }
            }
        }
    }

    /// Ends a packet at a router, which it reaches at `at`, and keeps what that answers.
    fn end(&mut self, index: u32, hop: u8, fate: Fate, at: LabTime) {
        let slot = &mut self.pool[index];
        slot.record.fate = fate;
        self.lost.push(slot.record);
        let notice = match fate {
            Fate::TooBig => Notice::TooBig { octets: self.way.narrow_octets() },
            _ => Notice::TimeExceeded,
        };
        let forwarded = self.way.forwarded(slot.course);
        self.answers.extend(self.routers.answer(hop, forwarded, notice, &slot.octets, at));
        self.pool.give_back(index);
    }

    /// Turns what the queue has dropped into records.
    fn settle_drops(&mut self) {
        for DroppedPacket { packet, cause, at } in self.dropped.drain(..) {
            let mut record = self.pool[packet.slot].record;
            record.queueing_delay = at.since(packet.arrival);
            record.fate = match cause {
                DropCause::Overflow => Fate::Overflow,
                DropCause::Aqm => Fate::AqmDrop,
            };
            self.lost.push(record);
            self.part_way -= usize::from(self.pool[packet.slot].course != Course::Through);
            self.pool.give_back(packet.slot);
        }
    }
}

fn remark(record: &mut Record, remarker: &mut Remarker) {
    record.tos_out = remarker.apply(record.tos_out);
    record.marked = record.tos_out & 3 == 3 && record.tos_in & 3 != 3;
}

fn policer(direction: &LinkDirection, now: LabTime) -> Option<TokenBucket> {
    direction.police.map(|policer| TokenBucket::new(policer.rate, policer.size, now))
}

#[cfg(test)]
#[path = "pipe_tests.rs"]
mod tests;

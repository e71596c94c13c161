//! One direction of the link in virtual time: no clock, no socket, no thread.
//!
//! The caller passes it the time. All decisions are taken at the *virtual* instants at which a real link would take
//! them: a packet's transmission begins at its arrival or when the packet before it has left, whichever is later, and
//! the queue is asked at exactly that instant. A driver that wakes up late delivers late; the truth stays the same.
//!
//! Where the link has routers, some packets end at one of them. What it answers belongs into the pipe of the other
//! direction: whoever drives both carries it there, as [`crate::VirtualLink`] does.

use std::collections::BTreeMap;

use rrul_model::flow::Direction;
use rrul_model::random::Random;

use crate::line::bottleneck::Bottleneck;
use crate::line::counters::DirectionCounters;
use crate::line::pool::Pool;
use crate::line::wire::Wire;
use crate::link::directed_path::{Course, DirectedPath, Remarking};
use crate::link::remark::Remarker;
use crate::link::selection::Selector;
use crate::link::shaper::Shaper;
use crate::link::token_bucket::TokenBucket;
use crate::link::{Link, LinkDirection};
use crate::packet::{Header, lower_ttl, set_tos, ttl};
use crate::queue::{DropCause, DroppedPacket, QueuedPacket};
use crate::routers::icmp::Notice;
use crate::routers::router::{RouterAnswer, Routers};
use crate::time::LabTime;
use crate::truth::record::{Fate, Record};

/// What the pipe has to say about a packet, once and for all.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// It has arrived at the other host; its bytes and its record.
    Delivered(&'a [u8], Record),
    /// It is gone.
    Lost(Record),
}

/// What enters the queue, or passes it by.
#[derive(Debug)]
enum Coming {
    /// A host's packet, in this place of the pool; and its hashes.
    Packet(u32, Hashes),
    /// An answer out of the other direction's pipe.
    Answer(RouterAnswer),
}

/// Hashes over a packet's header, for queues that distinguish flows and hosts.
#[derive(Debug, Clone, Copy)]
struct Hashes {
    flow: u64,
    source: u64,
    destination: u64,
}

impl Hashes {
    fn new(header: &Header) -> Self {
        Self { flow: header.flow, source: header.source, destination: header.destination }
    }
}

/// The two queues that a packet may meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Shaper,
    Line,
}

/// One direction of a link, at work.
#[derive(Debug)]
pub struct Pipe {
    direction: Direction,
    seed: u64,
    only: crate::link::filter::PacketFilter,
    loss: Selector,
    duplicate: Selector,
    remarker: Remarker,
    line: Bottleneck,
    shaper: Option<Bottleneck>,
    /// The packet on its way from the line to the shaper behind it, and when it gets there.
    in_between: Option<(LabTime, QueuedPacket)>,
    policer: Option<TokenBucket>,
    wire: Wire,
    path: DirectedPath,
    routers: Routers,
    pool: Pool,
    lost: Vec<Record>,
    /// How many of those that wait in the queues do not travel the whole way.
    partial_transits: usize,
    /// Answers for the other direction's pipe.
    answers: Vec<RouterAnswer>,
    /// What is on its way to the queue, by when it gets there and by the order in which it was added.
    coming: BTreeMap<(LabTime, u64), Coming>,
    added: u64,
    /// When the host's last packet gets there: none that left later is there earlier, whatever the link has become since.
    latest: LabTime,
    /// Until when everything is decided.
    decided: LabTime,
}

impl Pipe {
    /// An empty pipe upward between adjacent hosts, whose rate schedule begins at `now`. Equal seeds and equal offers give equal
    /// outcomes.
    pub fn new(direction: &LinkDirection, seed: u64, now: LabTime) -> Self {
        Self::over(
            direction,
            Direction::Up,
            DirectedPath::of_adjacent_hosts(direction),
            Routers::new(None, seed),
            seed,
            now,
        )
    }

    /// As [`Pipe::new`], with the routers of the link.
    pub fn of_link(link: &Link, direction: Direction, seed: u64, now: LabTime) -> Self {
        let routers = Routers::new(link.path.as_ref(), seed);
        Self::over(link.direction(direction), direction, DirectedPath::new(link, direction), routers, seed, now)
    }

    fn over(
        direction: &LinkDirection,
        which: Direction,
        path: DirectedPath,
        routers: Routers,
        seed: u64,
        now: LabTime,
    ) -> Self {
        Self {
            direction: which,
            seed,
            only: direction.only.clone(),
            loss: Selector::new(direction.loss.clone(), Random::new(seed, "loss")),
            duplicate: Selector::new(direction.duplicate.clone(), Random::new(seed, "duplicate")),
            remarker: Remarker::new(direction.dscp.clone(), direction.ecn.clone(), Random::new(seed, "ecn")),
            line: Bottleneck::line(direction, seed, now),
            shaper: direction.shaper.as_ref().map(|shaper| Bottleneck::shaper(shaper, shaper_seed(seed), now)),
            in_between: None,
            policer: policer(direction, now),
            wire: Wire::new(direction, path.behind(Course::Through), seed),
            path,
            routers,
            pool: Pool::default(),
            lost: Vec::new(),
            partial_transits: 0,
            answers: Vec::new(),
            coming: BTreeMap::new(),
            added: 0,
            latest: now,
            decided: now,
        }
    }

    /// Changes the link at `now`; counts of impairments and the rate schedule begin anew.
    ///
    /// The packet in transmission leaves at the old rate, and what flies arrives as it would have. What waits stays
    /// where it is when the queue's settings are the same; else it is put into the new queue in order of arrival. Which
    /// router a packet ends at is settled as it comes, and what that answers when the packet has left the queue. Routers
    /// remember which hosts they answered.
    pub fn set(&mut self, link: &Link, direction: Direction, now: LabTime) {
        self.advance(now);
        self.path = DirectedPath::new(link, direction);
        self.routers.set(link.path.as_ref());
        let direction = link.direction(direction);
        self.only = direction.only.clone();
        self.loss = Selector::new(direction.loss.clone(), Random::new(self.seed, "loss"));
        self.duplicate = Selector::new(direction.duplicate.clone(), Random::new(self.seed, "duplicate"));
        self.remarker = Remarker::new(direction.dscp.clone(), direction.ecn.clone(), Random::new(self.seed, "ecn"));
        self.policer = policer(direction, now);
        self.wire.set(direction, self.path.behind(Course::Through), self.seed);
        self.line.set_line(direction, now);
        self.settle_drops(Place::Line);
        self.change_shaper(direction.shaper.as_ref(), now);
    }

    /// Changes the shaper alone at `now`, or adds or removes it. Nothing else begins anew.
    ///
    /// What waits in it stays where it is when the queue's settings are the same; otherwise it is put into the new queue. What
    /// waits in a shaper that is removed goes on at once.
    pub fn set_shaper(&mut self, shaper: Option<&Shaper>, now: LabTime) {
        self.advance(now);
        self.change_shaper(shaper, now);
        self.advance(now);
    }

    fn change_shaper(&mut self, shaper: Option<&Shaper>, now: LabTime) {
        match (&mut self.shaper, shaper) {
            (Some(old), Some(new)) => old.set_shaper(new, now),
            (None, Some(new)) => self.shaper = Some(Bottleneck::shaper(new, shaper_seed(self.seed), now)),
            (Some(_), None) => {
                let waiting = self.shaper.take().map(|mut old| old.drain()).unwrap_or_default();
                for packet in waiting {
                    self.waited(Place::Shaper, &packet, now);
                    self.pass_shaper(packet, now);
                }
            }
            (None, None) => {}
        }
        self.settle_drops(Place::Shaper);
    }

    /// Counters of its queues.
    pub fn counters(&self) -> DirectionCounters {
        DirectionCounters { line: self.line.counters(), shaper: self.shaper.as_ref().map(Bottleneck::counters) }
    }

    /// Takes a packet that arrives at `now`; times must not fall from one call to the next.
    ///
    /// What is no IP packet, or is addressed to one link only and so forwarded by no router, is ignored and gets no
    /// record.
    pub fn offer(&mut self, octets: &[u8], now: LabTime) {
        let Some(header) = Header::parse(octets).filter(|header| !header.link_local) else { return };
        self.advance(now);
        let mut record = Record::arrived(&header, octets.len(), now);
        let course = self.path.course(ttl(octets), octets.len());
        let impaired = self.only.matches(&header, octets.len());
        if impaired && self.loss.hits() {
            record.fate = if self.loss.is_exact() { Fate::ExactLoss } else { Fate::RandomLoss };
            self.lost.push(record);
            return;
        }
        if impaired && self.path.remarking(course) == Remarking::BeforeQueue {
            remark(&mut record, &mut self.remarker);
        }
        let slot = self.pool.take_in(octets, record, impaired, course);
        lower_ttl(&mut self.pool[slot].octets, self.path.forwarded(course));
        match self.path.ahead(course) {
            _ if !self.path.meets_queue(course) => self.leave(slot, now),
            0 if self.latest <= now => {
                self.enqueue(slot, Hashes::new(&header), now);
                self.advance(now);
            }
            ahead => {
                self.latest = self.latest.max(LabTime(now.0.saturating_add(ahead)));
                self.schedule(self.latest, Coming::Packet(slot, Hashes::new(&header)));
            }
        }
    }

    /// Takes a router's answer out of the other direction's pipe. It comes when it is due, or at once if that is past.
    pub fn take_in(&mut self, answer: RouterAnswer) {
        let ahead = self.path.ahead(Course::AnswerOf { hop: answer.hop });
        self.schedule(LabTime(answer.due.0.saturating_add(ahead)), Coming::Answer(answer));
    }

    /// Schedules what enters the queue at this time.
    fn schedule(&mut self, at: LabTime, what: Coming) {
        self.added += 1;
        self.coming.insert((at, self.added), what);
    }

    /// What routers have answered, for [`Pipe::take_in`] of the other direction's pipe. To be asked for after each call
    /// that takes a time.
    pub fn answers(&mut self) -> Vec<RouterAnswer> {
        std::mem::take(&mut self.answers)
    }

    /// Puts a packet into the first of the queues.
    fn enqueue(&mut self, index: u32, hashes: Hashes, now: LabTime) {
        let slot = &self.pool[index];
        let Hashes { flow, source, destination } = hashes;
        let packet = QueuedPacket {
            slot: index,
            length: slot.octets.len() as u32,
            link_octets: 0,
            arrival: now,
            flow,
            source,
            destination,
            dscp: slot.record.tos_out >> 2,
            ecn_capable: slot.record.tos_out & 3 != 0,
            marked: false,
        };
        self.partial_transits += usize::from(slot.course != Course::Through);
        let shaped = self.direction == Direction::Up && self.shaper.is_some();
        self.enqueue_at(if shaped { Place::Shaper } else { Place::Line }, packet, now);
    }

    fn enqueue_at(&mut self, place: Place, packet: QueuedPacket, now: LabTime) {
        let enters_line = place == Place::Line || self.shaper.is_none();
        if enters_line && self.is_policed(&packet, now) {
            self.drop_policed(packet.slot);
            return;
        }
        let family = self.pool[packet.slot].record.family;
        match (place, &mut self.shaper) {
            (Place::Shaper, Some(shaper)) => shaper.enqueue(packet, family, now),
            _ => self.line.enqueue(packet, family, now),
        }
        self.settle_drops(place);
    }

    /// Whether the policer at the line's entrance drops a packet.
    fn is_policed(&mut self, packet: &QueuedPacket, now: LabTime) -> bool {
        let impaired = self.pool[packet.slot].impaired;
        impaired && self.policer.as_mut().is_some_and(|bucket| !bucket.take(u64::from(packet.length), now))
    }

    fn drop_policed(&mut self, slot: u32) {
        let mut record = self.pool[slot].record;
        record.fate = Fate::Policed;
        self.lost.push(record);
        self.partial_transits -= usize::from(self.pool[slot].course != Course::Through);
        self.pool.give_back(slot);
    }

    /// When [`Pipe::poll`] next has something to hand out, or may have; `None` when the pipe is empty.
    ///
    /// Never later than the next delivery. Waking at departures is not needed: they are caught up with.
    pub fn next_event(&self) -> Option<LabTime> {
        let travel = if self.partial_transits > 0 { self.path.least_travel() } else { self.wire.least_delay() };
        let earliest = self.next_step().map(|(at, _)| LabTime(at.0.saturating_add(travel)));
        let lost = (!self.lost.is_empty()).then_some(LabTime(0));
        let coming = self.coming.keys().next().map(|(due, _)| LabTime(due.0.saturating_add(self.path.least_travel())));
        self.wire.next_arrival().into_iter().chain(earliest).chain(lost).chain(coming).min()
    }

    /// When it next has something to decide: that a transmission begins, or that an answer comes. `None` when nothing waits.
    pub(crate) fn next_decision(&self) -> Option<LabTime> {
        self.next_start().into_iter().chain(self.next_coming()).min()
    }

    fn next_start(&self) -> Option<LabTime> {
        self.next_step().map(|(at, _)| at)
    }

    /// When something happens next at the queues, and at which: that a packet begins there, or that one enters the shaper
    /// from the line. At the same instant what comes is before what begins, and the shaper before the line.
    fn next_step(&self) -> Option<(LabTime, Step)> {
        let arrival = self.in_between.as_ref().map(|(at, _)| (*at, Step::Arrive));
        let start = |place, queue: Option<&Bottleneck>| Some((queue?.next_start()?, Step::Begin(place)));
        let starts = [start(Place::Shaper, self.shaper.as_ref()), start(Place::Line, Some(&self.line))];
        arrival.into_iter().chain(starts.into_iter().flatten()).min_by_key(|(at, _)| *at)
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
            match (self.next_step(), self.next_coming()) {
                (Some((at, step)), coming) if at <= now && coming.is_none_or(|coming| at <= coming) => match step {
                    Step::Begin(place) => self.begin(place, at),
                    Step::Arrive => {
                        if let Some((_, packet)) = self.in_between.take() {
                            self.come_to_shaper(packet, at);
                        }
                    }
                },
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
            Some((_, Coming::Packet(slot, hashes))) => return self.enqueue(slot, hashes, now),
            None => return,
        };
        let header = Header::parse(&octets).expect("a router writes whole IP headers");
        let course = Course::AnswerOf { hop };
        let queues = self.path.meets_queue(course);
        // What meets no queue changes nothing for others, and so is not late when it is added late.
        let arrival = if queues { LabTime(now.0.saturating_sub(self.path.ahead(course))).max(due) } else { due };
        let slot = self.pool.take_in(&octets, Record::arrived(&header, octets.len(), arrival), false, course);
        if queues {
            self.enqueue(slot, Hashes::new(&header), now);
        } else {
            self.leave(slot, due);
        }
    }

    /// Begins the next transmission of a queue.
    fn begin(&mut self, place: Place, start: LabTime) {
        let queue = match place {
            Place::Shaper => self.shaper.as_mut(),
            Place::Line => Some(&mut self.line),
        };
        let begun = queue.and_then(|queue| queue.begin(start));
        self.settle_drops(place);
        let Some((packet, end)) = begun else { return };
        self.waited(place, &packet, start);
        match place {
            Place::Shaper => self.pass_shaper(packet, start),
            Place::Line if self.direction == Direction::Down && self.shaper.is_some() => {
                self.in_between = Some((end, packet));
            }
            Place::Line => self.finish(packet, end),
        }
    }

    /// Records how long a packet waited in a queue, and whether it was marked there.
    fn waited(&mut self, place: Place, packet: &QueuedPacket, until: LabTime) {
        let record = &mut self.pool[packet.slot].record;
        let delay = until.since(packet.arrival);
        record.queueing_delay += delay;
        if place == Place::Shaper {
            record.shaper_delay += delay;
        }
        if packet.marked && record.tos_out & 3 != 3 {
            record.tos_out |= 3;
            record.marked = true;
        }
    }

    /// Takes a packet to what follows the shaper.
    fn pass_shaper(&mut self, packet: QueuedPacket, now: LabTime) {
        match self.direction {
            Direction::Up => self.enqueue_at(Place::Line, packet, now),
            Direction::Down => self.finish(packet, now),
        }
    }

    /// Takes a packet from the line to the shaper behind it, or past it if it has been removed meanwhile.
    fn come_to_shaper(&mut self, packet: QueuedPacket, now: LabTime) {
        if self.shaper.is_some() {
            self.enqueue_at(Place::Shaper, packet, now);
        } else {
            self.finish(packet, now);
        }
    }

    /// Sends a packet on that has left the last queue.
    fn finish(&mut self, packet: QueuedPacket, departure: LabTime) {
        self.partial_transits -= usize::from(self.pool[packet.slot].course != Course::Through);
        self.leave(packet.slot, departure);
    }

    /// Sends a packet on its way that has left the queue, or does not meet it.
    fn leave(&mut self, index: u32, departure: LabTime) {
        let slot = &mut self.pool[index];
        let (course, impaired) = (slot.course, slot.impaired);
        slot.record.departed(departure);
        if impaired && self.path.remarking(course) == Remarking::BehindQueue {
            remark(&mut slot.record, &mut self.remarker);
        }
        if slot.record.tos_out != slot.record.tos_in {
            set_tos(&mut slot.octets, slot.record.tos_out);
        }
        let copy = (impaired && self.duplicate.hits()).then(|| self.pool.duplicate_of(index));
        let at = LabTime(departure.0.saturating_add(self.path.behind(course)));
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
            Fate::TooBig => Notice::TooBig { octets: self.path.narrow_octets() },
            _ => Notice::TimeExceeded,
        };
        let forwarded = self.path.forwarded(slot.course);
        self.answers.extend(self.routers.answer(hop, forwarded, notice, &slot.octets, at));
        self.pool.give_back(index);
    }

    /// Turns what a queue has dropped into records.
    fn settle_drops(&mut self, place: Place) {
        let dropped = match place {
            Place::Shaper => self.shaper.as_mut().map(Bottleneck::take_drops).unwrap_or_default(),
            Place::Line => self.line.take_drops(),
        };
        for DroppedPacket { packet, cause, at } in dropped {
            let mut record = self.pool[packet.slot].record;
            let delay = at.since(packet.arrival);
            record.queueing_delay += delay;
            if place == Place::Shaper {
                record.shaper_delay += delay;
            }
            record.fate = match (place, cause) {
                (Place::Line, DropCause::Overflow) => Fate::Overflow,
                (Place::Line, DropCause::Aqm) => Fate::AqmDrop,
                (Place::Shaper, DropCause::Overflow) => Fate::ShaperOverflow,
                (Place::Shaper, DropCause::Aqm) => Fate::ShaperAqmDrop,
            };
            self.lost.push(record);
            self.partial_transits -= usize::from(self.pool[packet.slot].course != Course::Through);
            self.pool.give_back(packet.slot);
        }
    }
}

/// What happens at the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A packet enters the shaper from the line.
    Arrive,
    /// A transmission begins.
    Begin(Place),
}

/// The seed of a shaper's queue, so that it does not collide as the line's does.
fn shaper_seed(seed: u64) -> u64 {
    Random::new(seed, "shaper").next()
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

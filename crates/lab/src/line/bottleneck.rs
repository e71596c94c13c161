//! A queue with what empties it at a rate: the line itself, or a shaper in series with it.

use rrul_model::flow::AddressFamily;
use rrul_model::link_layer::LinkLayer;
use rrul_model::units::BitRate;

use crate::line::counters::QueueCounters;
use crate::link::LinkDirection;
use crate::link::rate_schedule::{RateSchedule, Transmitter};
use crate::link::shaper::Shaper;
use crate::queue::{DropCause, DroppedPacket, Queue, QueueSpec, QueuedPacket, transmission_time};
use crate::time::LabTime;

/// Bytes of a packet on the link.
#[derive(Debug, Clone, PartialEq)]
struct Framing {
    layer: LinkLayer,
    /// Added to what the link layer takes.
    overhead: u64,
}

impl Framing {
    fn octets(&self, family: AddressFamily, length: u32) -> u64 {
        self.layer.octets(family, u64::from(length)).saturating_add(self.overhead)
    }
}

/// A queue and its rate, at work.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    seed: u64,
    framing: Framing,
    spec: QueueSpec,
    queue: Box<dyn Queue>,
    transmitter: Transmitter,
    /// The rate that the queue knows.
    rate: BitRate,
    /// When the next packet may begin, if one waits.
    free: LabTime,
    /// Where dropped packets count: when the next packet may begin at the latest, however many were dropped. The packets sent
    /// alone, at two thirds of the rate.
    latest: LabTime,
    dropped: Vec<DroppedPacket>,
    counters: QueueCounters,
}

impl Bottleneck {
    /// The line of a direction.
    pub(crate) fn line(direction: &LinkDirection, seed: u64, now: LabTime) -> Self {
        let transmitter = Transmitter::new(&direction.rate, direction.burst, now);
        Self::new(line_framing(direction), &direction.queue, transmitter, seed, now)
    }

    pub(crate) fn shaper(shaper: &Shaper, seed: u64, now: LabTime) -> Self {
        let transmitter = Transmitter::new(&RateSchedule::constant(shaper.rate), None, now);
        Self::new(shaper_framing(shaper), &shaper.queue, transmitter, seed, now)
    }

    fn new(framing: Framing, spec: &QueueSpec, transmitter: Transmitter, seed: u64, now: LabTime) -> Self {
        let mut bottleneck = Self {
            seed,
            framing,
            spec: spec.clone(),
            queue: spec.build(seed),
            rate: transmitter.rate_at(now),
            transmitter,
            free: now,
            latest: now,
            dropped: Vec::new(),
            counters: QueueCounters::default(),
        };
        bottleneck.queue.set_rate(bottleneck.rate);
        bottleneck
    }

    /// Takes over the settings of a line at `now`; its rate schedule begins anew.
    pub(crate) fn set_line(&mut self, direction: &LinkDirection, now: LabTime) {
        let transmitter = Transmitter::new(&direction.rate, direction.burst, now);
        self.set(line_framing(direction), &direction.queue, transmitter, now);
    }

    /// Takes over the settings of a shaper at `now`.
    pub(crate) fn set_shaper(&mut self, shaper: &Shaper, now: LabTime) {
        let transmitter = Transmitter::new(&RateSchedule::constant(shaper.rate), None, now);
        self.set(shaper_framing(shaper), &shaper.queue, transmitter, now);
    }

    /// What waits stays where it is when the queue's settings are the same; otherwise it goes into the new queue in order of
    /// arrival.
    fn set(&mut self, framing: Framing, spec: &QueueSpec, transmitter: Transmitter, now: LabTime) {
        self.framing = framing;
        self.transmitter = transmitter;
        if self.spec == *spec {
            self.follow_rate(now);
            return;
        }
        self.spec = spec.clone();
        let waiting = self.queue.drain();
        self.queue = spec.build(self.seed);
        self.rate = self.transmitter.rate_at(now);
        self.queue.set_rate(self.rate);
        for packet in waiting {
            self.queue.enqueue(packet, now, &mut self.dropped);
        }
        self.count_drops(0);
    }

    fn follow_rate(&mut self, now: LabTime) {
        let rate = self.transmitter.rate_at(now);
        if rate != self.rate {
            self.rate = rate;
            self.queue.set_rate(rate);
        }
    }

    /// Takes a packet that arrives at `now`.
    pub(crate) fn enqueue(&mut self, packet: QueuedPacket, family: AddressFamily, now: LabTime) {
        if self.queue.packets() == 0 && self.free <= now {
            self.transmitter.idle();
            self.free = now;
            self.latest = now;
        }
        let link_octets = self.framing.octets(family, packet.length) as u32;
        let before = self.dropped.len();
        let packet = QueuedPacket { arrival: now, link_octets, marked: false, ..packet };
        self.counters.backlog.0 += u64::from(packet.length);
        self.queue.enqueue(packet, now, &mut self.dropped);
        let charged = self.count_drops(before);
        if charged > 0 {
            self.free = self.transmitter.finish(self.free.max(now), charged);
        }
    }

    /// When the next packet begins; `None` when none waits.
    pub(crate) fn next_start(&self) -> Option<LabTime> {
        let start = if self.queue.charges_drops() { self.free.min(self.latest) } else { self.free };
        (self.queue.packets() > 0).then_some(start)
    }

    /// The packet that begins at `start`, and when its last bit leaves.
    pub(crate) fn begin(&mut self, start: LabTime) -> Option<(QueuedPacket, LabTime)> {
        self.follow_rate(start);
        let before = self.dropped.len();
        let packet = self.queue.dequeue(start, &mut self.dropped);
        let charged = self.count_drops(before);
        let own = packet.as_ref().map_or(0, |packet| u64::from(packet.link_octets));
        self.latest = LabTime(self.latest.0.saturating_add(transmission_time(own, self.rate) * 3 / 2));
        if charged + own > 0 {
            self.free = self.transmitter.finish(self.free.max(start), charged + own);
        }
        let packet = packet?;
        self.counters.packets += 1;
        self.counters.octets.0 += u64::from(packet.length);
        self.counters.backlog.0 -= u64::from(packet.length);
        self.counters.link_octets.0 += own + charged;
        self.counters.marks += u64::from(packet.marked);
        Some((packet, self.free))
    }

    /// What was dropped since this was last asked.
    pub(crate) fn take_drops(&mut self) -> Vec<DroppedPacket> {
        std::mem::take(&mut self.dropped)
    }

    /// Takes out everything that waits.
    pub(crate) fn drain(&mut self) -> Vec<QueuedPacket> {
        self.queue.drain()
    }

    /// Counters since it was made.
    pub(crate) fn counters(&self) -> QueueCounters {
        QueueCounters {
            rate: self.rate,
            discipline: self.spec.discipline().name,
            backlog_packets: self.queue.packets() as u64,
            classes: self.queue.classes(),
            ..self.counters.clone()
        }
    }

    /// Counts the drops from this one on; returns the bytes that they take on the link.
    fn count_drops(&mut self, from: usize) -> u64 {
        let mut octets = 0;
        for drop in &self.dropped[from..] {
            match drop.cause {
                DropCause::Overflow => self.counters.overflows += 1,
                DropCause::Aqm => self.counters.aqm_drops += 1,
            }
            self.counters.backlog.0 -= u64::from(drop.packet.length);
            octets += u64::from(drop.packet.link_octets);
        }
        if self.queue.charges_drops() { octets } else { 0 }
    }
}

fn line_framing(direction: &LinkDirection) -> Framing {
    Framing { layer: direction.link_layer.clone(), overhead: direction.overhead.0 }
}

fn shaper_framing(shaper: &Shaper) -> Framing {
    Framing { layer: shaper.link_layer.clone(), overhead: 0 }
}

//! `cake`: Common Applications Kept Enhanced: priority tins, fair flows and hosts, COBALT.
//!
//! After "Piece of CAKE" (arXiv 1804.07617), tc-cake(8) and the behavior of Linux 6.1, with which `tests/kernel.rs` compares it. The
//! rate itself is kept by the link behind it, packet by packet and so without a burst; here it sets the tins' thresholds and
//! the settings derived from them.
//!
//! A tin has a clock that runs ahead by the transmission time of its packets at its threshold. The last tin whose clock is not
//! ahead of the time goes first; when all are ahead, the one that is least so. A tin below its threshold therefore has
//! priority, one above it gets what others leave, and alone it gets everything.
//!
//! Not modeled: `ack-filter`, `autorate-ingress`, `wash`, `nat`, `precedence`, `fwmark`, the splitting of super-packets.

mod cobalt;
mod flows;
mod tins;

use rrul_model::random::Random;
use rrul_model::units::{BitRate, ByteCount};

use self::cobalt::CobaltParameters;
use self::flows::{Flows, Served};
use self::tins::TinKind;
use crate::queue::{
    ClassCounters, Discipline, DropCause, DroppedPacket, FlowIsolation, Limit, Queue, QueueError, QueueOptions,
    QueuedPacket, TinLayout, transmission_time,
};
use crate::time::{LabTime, nanoseconds};

/// Bytes of a full packet with an Ethernet header, of which Linux derives quanta and targets.
const FULL_PACKET: u64 = 1514;
const LEAST_QUANTUM: u64 = 300;
/// Memory that Linux counts for a packet of up to the MTU.
const PACKET_MEMORY: u64 = 2304;
const LEAST_MEMORY: u64 = 4 << 20;
const DEFAULT_RTT: u64 = 100_000_000;
/// The target is this part of the round-trip time.
const TARGETS_IN_RTT: u64 = 20;
/// The rate before the link has set its own.
const NO_RATE: BitRate = BitRate(1_000_000_000);

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "cake",
    about: "CAKE (tins diffserv3, flow_isolation triple-isolate, rtt 100ms, ingress false, limit 4 MiB of memory or 4 rtt)",
    options: &["limit", "tins", "flow_isolation", "rtt", "ingress"],
    build: |options, seed| Ok(Box::new(Cake::new(options, seed)?)),
};

#[derive(Debug)]
struct Tin {
    kind: TinKind,
    threshold: BitRate,
    quantum: u64,
    parameters: CobaltParameters,
    /// Its clock, in nanoseconds.
    clock: u64,
    flows: Flows,
    counters: ClassCounters,
}

impl Tin {
    /// Charges a packet to the tin. Its clock goes no further ahead of the time than by this packet.
    fn charge(&mut self, link_octets: u32, now: LabTime) {
        let duration = transmission_time(u64::from(link_octets), self.threshold);
        let advanced = self.clock.saturating_add(duration);
        self.clock = if self.clock < now.0 { advanced } else { self.clock.max(now.0.saturating_add(duration)) };
    }

    fn drop(&mut self, packet: QueuedPacket, cause: DropCause, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        self.counters.drops += 1;
        dropped.push(DroppedPacket { packet, cause, at: now });
    }
}

#[derive(Debug)]
struct Cake {
    layout: TinLayout,
    tins: Vec<Tin>,
    target: u64,
    interval: u64,
    ingress: bool,
    /// Memory that packets may take, as asked for and as it follows from the rate.
    limit: Option<u64>,
    memory: u64,
    random: Random,
}

impl Cake {
    fn new(options: &QueueOptions, seed: u64) -> Result<Self, QueueError> {
        let layout = options.tins.unwrap_or(TinLayout::Diffserv3);
        let isolation = options.flow_isolation.unwrap_or(FlowIsolation::TripleIsolate);
        let interval = options.rtt.map_or(DEFAULT_RTT, nanoseconds);
        if !(100_000..=3_600_000_000_000).contains(&interval) {
            return Err(QueueError::Rtt);
        }
        let limit = match options.limit {
            None => None,
            Some(Limit::Octets(octets)) => Some(octets.0),
            Some(Limit::Packets(_)) => return Err(QueueError::CountsOctets),
        };
        let tin = |(number, kind): (usize, &TinKind)| Tin {
            kind: *kind,
            threshold: NO_RATE,
            quantum: FULL_PACKET,
            parameters: CobaltParameters { target: 0, interval, packet_time: 0 },
            clock: 0,
            flows: Flows::new(isolation, seed ^ number as u64),
            counters: ClassCounters {
                name: kind.name,
                threshold: NO_RATE,
                packets: 0,
                octets: ByteCount(0),
                drops: 0,
                marks: 0,
                backlog: ByteCount(0),
            },
        };
        let mut cake = Self {
            layout,
            tins: tins::kinds(layout).iter().enumerate().map(tin).collect(),
            target: interval / TARGETS_IN_RTT,
            interval,
            ingress: options.ingress.unwrap_or(false),
            limit,
            memory: LEAST_MEMORY,
            random: Random::new(seed, "cake"),
        };
        cake.set_rate(NO_RATE);
        Ok(cake)
    }

    /// The tin to be served at `now`.
    fn choose(&self, now: LabTime) -> Option<usize> {
        let active = || self.tins.iter().enumerate().filter(|(_, tin)| tin.flows.packets > 0);
        let below_threshold = active().rfind(|(_, tin)| tin.clock <= now.0);
        let least_ahead = || active().rev().min_by_key(|(_, tin)| tin.clock);
        below_threshold.or_else(least_ahead).map(|(index, _)| index)
    }

    /// Drops from the longest queue of all until the rest fits.
    fn make_room(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        while self.packets() as u64 * PACKET_MEMORY > self.memory {
            let Some(tin) = self.tins.iter_mut().max_by_key(|tin| tin.flows.longest()) else { return };
            let Some(packet) = tin.flows.drop_from_longest(&tin.parameters, now) else { return };
            if self.ingress {
                tin.charge(packet.link_octets, now);
            }
            tin.drop(packet, DropCause::Overflow, now, dropped);
        }
    }
}

impl Queue for Cake {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        let tin = &mut self.tins[tins::tin_of(self.layout, packet.dscp)];
        if tin.flows.packets == 0 {
            // What a tin did not use while it was idle is lost to it.
            tin.clock = tin.clock.max(now.0);
        }
        tin.flows.enqueue(packet, tin.quantum);
        self.make_room(now, dropped);
    }

    fn dequeue(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        loop {
            let index = self.choose(now)?;
            let tin = &mut self.tins[index];
            match tin.flows.serve(&tin.parameters, tin.quantum, self.ingress, now, &mut self.random) {
                Served::Sent(packet) => {
                    tin.charge(packet.link_octets, now);
                    tin.counters.packets += 1;
                    tin.counters.octets.0 += u64::from(packet.length);
                    tin.counters.marks += u64::from(packet.marked);
                    return Some(packet);
                }
                Served::Dropped(packet) => {
                    if self.ingress {
                        tin.charge(packet.link_octets, now);
                    }
                    tin.drop(packet, DropCause::Aqm, now, dropped);
                }
                Served::Nothing => return None,
            }
        }
    }

    fn packets(&self) -> usize {
        self.tins.iter().map(|tin| tin.flows.packets).sum()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        let mut all: Vec<QueuedPacket> = self.tins.iter_mut().flat_map(|tin| tin.flows.drain()).collect();
        all.sort_by_key(|packet| packet.arrival);
        all
    }

    fn set_rate(&mut self, rate: BitRate) {
        for tin in &mut self.tins {
            tin.threshold = tin.kind.threshold(rate);
            tin.quantum = ((tin.threshold.0 / 8) >> 12).clamp(LEAST_QUANTUM, FULL_PACKET);
            let packet_time = transmission_time(FULL_PACKET, tin.threshold);
            let target = self.target.max(packet_time + packet_time / 2);
            let interval = (self.interval + target - self.target).max(2 * target);
            tin.parameters = CobaltParameters { target, interval, packet_time };
        }
        let in_four_round_trips = u128::from(rate.0 / 8) * u128::from(self.interval) * 4 / 1_000_000_000;
        self.memory = self.limit.unwrap_or_else(|| (in_four_round_trips as u64).max(LEAST_MEMORY));
    }

    fn charges_drops(&self) -> bool {
        self.ingress
    }

    fn classes(&self) -> Vec<ClassCounters> {
        let mut tins: Vec<&Tin> = self.tins.iter().collect();
        tins.sort_by_key(|tin| tin.kind.place);
        let counters = |tin: &Tin| ClassCounters {
            threshold: tin.threshold,
            backlog: ByteCount(tin.flows.octets),
            ..tin.counters
        };
        tins.into_iter().map(counters).collect()
    }
}

#[cfg(test)]
#[path = "cake/cake_tests.rs"]
mod tests;

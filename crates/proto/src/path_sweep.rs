//! The sending end of a path trace, without a socket: which packet leaves next, with which hop limit, and which was answered.
//!
//! Once in every interval a packet is sent to each hop: with hop limit 1 to the first router, 2 to the second, and one
//! that may pass all of them to the destination, which reports the hop limit with which it arrived. That gives the
//! number of routers, at every moment, so that no packet is sent for hops that are not there and a change of route is
//! seen at once.
//!
//! Addresses and ports of a trace stay the same, so that load balancers treat its packets alike; the packet of an
//! answer is known by its number, and where a router quotes less than that, by its length.

use std::time::Duration;

use rrul_model::observation::FULL_HOP_LIMIT;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;

use crate::path_mtu::PathMtuSearch;
use crate::test_packet::LEAST_OCTETS;
use rrul_model::random::Random;

/// No path is followed further than this.
pub const MOST_HOPS: u8 = 30;

/// Answers are waited for this long: a bloated queue may hold several seconds.
const WAITING: i64 = 10_000_000_000;

/// Packets of one round at most: one to every router, to the destination, and of the search for the path MTU.
pub const MOST_PACKETS: u8 = MOST_HOPS + 2;

/// However short its rounds are, a trace waits for no more packets than this at a time.
const MOST_PLACES: usize = 1 << 16;

/// Lengths that tell packets apart whose number a router does not quote.
const LENGTHS: u32 = 32;

/// Rounds that bear the second marking: two in the beginning, while the line is idle, and then one in so many.
const MARKED_FIRST: [u32; 2] = [1, 3];
const MARKED_EVERY: u32 = 10;

/// Bits of a packet, or of an answer that quotes it whole, with IPv6.
const BITS: u64 = 200 * 8;

/// What is overdue by no more than this is sent even where slots are shorter: no host wakes much more precisely under load.
const LEAST_LATENESS: i64 = 5_000_000;

/// While the length of the path is unknown, each round goes this much further than the one before.
const STRIDE: u8 = 3;

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPacket {
    pub sequence: u32,
    /// How many hops it may pass.
    pub hop_limit: u8,
    /// Traffic-class octet.
    pub octet: u8,
    /// Octets of UDP payload.
    pub payload: usize,
    pub sent: TestTime,
}

/// How a trace sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepSettings {
    pub window: Window,
    /// One packet to every hop in each, or in a longer one where that would be more than the rate below.
    pub interval: Duration,
    /// What its packets, or the answers to them, may take of either direction; `None` for as much as they do.
    pub rate: Option<BitRate>,
    /// Traffic-class octet of its packets.
    pub octet: u8,
    /// That of some rounds, where quoted headers can be read: its fate shows which hop remarks it.
    pub marked: Option<u8>,
    /// Octets of IP and UDP header.
    pub headers: u16,
}

/// The packets of one trace.
#[derive(Debug)]
pub struct PathSweep {
    settings: SweepSettings,
    round: u32,
    round_begins: i64,
    /// The next router of this round; past the last one it is the destination's turn, and then the search for the path
    /// MTU.
    turn: u8,
    /// Routers between both ends, once the destination has reported them.
    routers: Option<u8>,
    /// How far rounds go while it has not.
    reach: u8,
    sequence: u32,
    waiting: Vec<Option<SweepPacket>>,
    mtu: PathMtuSearch,
}

impl PathSweep {
    /// A trace that has not sent anything. The seed places its rounds within the interval.
    pub fn new(settings: SweepSettings, seed: u64) -> Self {
        let interval = nanoseconds(settings.interval);
        let phase = (u128::from(Random(seed).next()) * u128::from(interval.cast_unsigned())) >> 64;
        Self {
            settings,
            round: 0,
            // Within a fifth of the interval: what begins late has little of the idle line.
            round_begins: settings.window.from.0.saturating_add(phase as i64 / 5),
            turn: 1,
            routers: None,
            reach: STRIDE,
            sequence: 0,
            waiting: vec![None; places(interval)],
            mtu: PathMtuSearch::default(),
        }
    }

    /// Routers between both ends, as far as is known.
    pub fn routers(&self) -> Option<u8> {
        self.routers
    }

    /// When the next packet is due; `None` when all are sent.
    pub fn due(&self) -> Option<TestTime> {
        let slots = i64::from(self.last_turn());
        let interval = self.interval();
        let into = interval.saturating_mul(i64::from(self.turn) - 1) / slots.max(1);
        let due = TestTime(self.round_begins.saturating_add(into));
        (due < self.settings.window.to).then_some(due)
    }

    /// From one round to the next.
    fn interval(&self) -> i64 {
        // The few long ones of the search for the path MTU are not counted: rounds would become too few to know the idle line.
        let bits = u64::from(self.last_turn()) * BITS;
        let least = |rate: BitRate| i64::try_from(bits * 1_000_000_000 / rate.0.max(1)).unwrap_or(i64::MAX);
        nanoseconds(self.settings.interval).max(self.settings.rate.map_or(0, least))
    }

    /// How late a packet may leave: by a slot. Two that are later would leave closer together than they are meant to.
    fn most_lateness(&self) -> i64 {
        (self.interval() / i64::from(self.last_turn())).max(LEAST_LATENESS)
    }

    /// Routers of this round, then the destination, then one packet of the search for the path MTU.
    fn last_turn(&self) -> u8 {
        self.last_router() + 2
    }

    fn last_router(&self) -> u8 {
        self.routers.unwrap_or(self.reach)
    }

    /// The packet that is due at `now`, if one is; what was due long before is left out.
    pub fn send(&mut self, now: TestTime) -> Option<SweepPacket> {
        self.send_granted(now, || true)
    }

    /// The same, asking before each packet: one that is not granted is left out and takes no number, so that it is not
    /// taken for lost.
    pub fn send_granted(&mut self, now: TestTime, mut granted: impl FnMut() -> bool) -> Option<SweepPacket> {
        loop {
            let due = self.due().filter(|due| *due <= now)?;
            let (turn, last_router) = (self.turn, self.last_router());
            let (octet, most_lateness) = (self.octet(), self.most_lateness());
            self.step();
            // A host that stalled does not make up for it: the packets would be a burst.
            if now.since(due).0 > most_lateness {
                continue;
            }
            let payload = LEAST_OCTETS + (self.sequence % LENGTHS) as usize;
            if turn <= last_router + 1 {
                if !granted() {
                    continue;
                }
                let hop_limit = if turn <= last_router { turn } else { FULL_HOP_LIMIT };
                return Some(self.leaves(now, hop_limit, octet, payload));
            }
            if let Some(length) = self.mtu.next(now).filter(|_| granted()) {
                let payload = usize::from(length.saturating_sub(self.settings.headers)).max(LEAST_OCTETS);
                let packet = self.leaves(now, FULL_HOP_LIMIT, self.settings.octet, payload);
                self.mtu.sent(packet.sequence, length, now);
                return Some(packet);
            }
        }
    }

    fn octet(&self) -> u8 {
        let round = self.round;
        let marked = MARKED_FIRST.contains(&round) || round % MARKED_EVERY == MARKED_EVERY - 1;
        self.settings.marked.filter(|_| marked).unwrap_or(self.settings.octet)
    }

    fn step(&mut self) {
        self.turn += 1;
        if self.turn > self.last_turn() {
            self.turn = 1;
            self.round += 1;
            self.round_begins = self.round_begins.saturating_add(self.interval());
            if self.routers.is_none() {
                self.reach = self.reach.saturating_add(STRIDE).min(MOST_HOPS);
            }
        }
    }

    fn leaves(&mut self, now: TestTime, hop_limit: u8, octet: u8, payload: usize) -> SweepPacket {
        let packet = SweepPacket { sequence: self.sequence, hop_limit, octet, payload, sent: now };
        self.sequence = self.sequence.wrapping_add(1);
        let place = packet.sequence as usize % self.waiting.len();
        self.waiting[place] = Some(packet);
        packet
    }

    /// Octets of the IP packet that it makes.
    pub fn length(&self, packet: &SweepPacket) -> u16 {
        u16::try_from(packet.payload).unwrap_or(u16::MAX).saturating_add(self.settings.headers)
    }

    /// The packet that an answer of `now` is about, by its number; each is answered once, and not after ten seconds.
    pub fn answered(&mut self, sequence: u32, now: TestTime) -> Option<SweepPacket> {
        let place = sequence as usize % self.waiting.len();
        let place = &mut self.waiting[place];
        let packet = place.filter(|packet| packet.sequence == sequence && waits(packet, now))?;
        *place = None;
        Some(packet)
    }

    /// The same, of a packet whose length alone is known: only where that leaves no doubt.
    pub fn answered_by_length(&mut self, payload: usize, now: TestTime) -> Option<SweepPacket> {
        let mut alike = self.waiting.iter().flatten().filter(|packet| packet.payload == payload && waits(packet, now));
        let found = *alike.next()?;
        if alike.next().is_some() { None } else { self.answered(found.sequence, now) }
    }

    /// The destination has answered this packet, which reached it with this hop limit; `None` where that is not known.
    pub fn far_end(&mut self, packet: &SweepPacket, left: Option<u8>) {
        self.mtu.passed(packet.sequence);
        match left {
            Some(left) if left > 0 && left <= packet.hop_limit && packet.hop_limit - left <= MOST_HOPS => {
                self.routers = Some(packet.hop_limit - left);
            }
            // A packet that was meant for a router has got through: routers are fewer.
            _ if packet.hop_limit <= MOST_HOPS => self.routers = Some(packet.hop_limit - 1),
            _ => {}
        }
    }

    /// A host on the way will not pass this packet on, as it is longer than this MTU; 0 where it names none.
    pub fn too_big(&mut self, packet: &SweepPacket, mtu: u32) {
        self.mtu.too_big(packet.sequence, mtu);
    }
}

/// Packets that may be waited for at a time: all that rounds of this interval send meanwhile, so that none takes the place of
/// one that may still be answered. Bounded, as the interval is anybody's choice.
fn places(interval: i64) -> usize {
    let rounds = WAITING / interval.max(1) + 2;
    usize::try_from(rounds * i64::from(MOST_PACKETS)).map_or(MOST_PLACES, |places| places.min(MOST_PLACES))
}

fn waits(packet: &SweepPacket, now: TestTime) -> bool {
    (0..=WAITING).contains(&now.since(packet.sent).0)
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX).max(1_000_000)
}

#[cfg(test)]
mod tests;

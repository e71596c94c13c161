//! The sending end of a path trace, without a socket: which packet leaves next, with which hop limit, and which was answered.
//!
//! Once in every interval a packet is sent to each hop: with hop limit 1 to the first router, 2 to the second, and one that
//! may pass all of them to the far end, which tells with what hop limit it arrived. That says how many routers there are, at
//! every moment, so that no packet is sent for hops that are not there and a change of route is seen at once.
//!
//! Addresses and ports of a trace stay the same, so that load balancers treat its packets alike; which packet an answer is
//! about is told by its number, and where a router quotes less than that, by its length.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;

use crate::path_mtu::PathMtuSearch;
use crate::send_schedule::Random;
use crate::test_packet::LEAST_OCTETS;

/// No path is followed further than this.
pub const MOST_HOPS: u8 = 30;

/// The hop limit of a packet that is to reach the far end.
pub const FULL_HOP_LIMIT: u8 = 64;

/// Answers are waited for this long: a bloated queue may hold several seconds.
const WAITING: i64 = 10_000_000_000;

/// Packets that may be waited for at a time.
const PLACES: usize = 512;

/// Lengths that tell packets apart whose number a router does not quote.
const LENGTHS: u32 = 32;

/// Rounds that bear the second marking: two in the beginning, while the line is idle, and then one in so many.
const MARKED_FIRST: [u32; 2] = [1, 3];
const MARKED_EVERY: u32 = 10;

/// Bits of a packet, or of an answer that quotes it whole, with IPv6.
const BITS: u64 = 200 * 8;

/// While nobody has told how long the path is, each round goes this much further than the one before.
const STRIDE: u8 = 3;

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepPacket {
    /// Its number.
    pub sequence: u32,
    /// How many hops it may pass.
    pub hop_limit: u8,
    /// Traffic-class octet.
    pub octet: u8,
    /// Octets of UDP payload.
    pub payload: usize,
    /// When it left.
    pub sent: TestTime,
}

/// How a trace sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepSettings {
    /// While it does.
    pub window: Window,
    /// One packet to every hop in each, or in a longer one where that would be more than the rate below.
    pub interval: Duration,
    /// What its packets, or the answers to them, may take of either direction; `None` for as much as they do.
    pub rate: Option<BitRate>,
    /// Traffic-class octet of its packets.
    pub octet: u8,
    /// That of some rounds, where quoted headers can be read: what becomes of it shows who rewrites markings.
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
    /// The next router of this round; past the last one it is the far end's turn, and then the search for the path MTU.
    turn: u8,
    /// Routers between both ends, once the far end has told.
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
            waiting: vec![None; PLACES],
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
        let packets = u64::from(self.last_turn());
        let least = |rate: BitRate| i64::try_from(packets * BITS * 1_000_000_000 / rate.0.max(1)).unwrap_or(i64::MAX);
        nanoseconds(self.settings.interval).max(self.settings.rate.map_or(0, least))
    }

    /// Routers of this round, then the far end, then one packet of the search for the path MTU.
    fn last_turn(&self) -> u8 {
        self.last_router() + 2
    }

    fn last_router(&self) -> u8 {
        self.routers.unwrap_or(self.reach)
    }

    /// The packet that is due at `now`, if one is; what was due long before is left out.
    pub fn send(&mut self, now: TestTime) -> Option<SweepPacket> {
        loop {
            let due = self.due().filter(|due| *due <= now)?;
            let (turn, last_router) = (self.turn, self.last_router());
            let octet = self.octet();
            self.step();
            // A host that stalled does not make up for it: the packets would be a burst.
            if now.since(due).0 > self.interval() {
                continue;
            }
            let payload = LEAST_OCTETS + (self.sequence % LENGTHS) as usize;
            if turn <= last_router {
                return Some(self.leaves(now, turn, octet, payload));
            }
            if turn == last_router + 1 {
                return Some(self.leaves(now, FULL_HOP_LIMIT, octet, payload));
            }
            if let Some(length) = self.mtu.next(now) {
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
        let place = packet.sequence as usize % PLACES;
        self.waiting[place] = Some(packet);
        packet
    }

    /// Octets of the IP packet that it makes.
    pub fn length(&self, packet: &SweepPacket) -> u16 {
        u16::try_from(packet.payload).unwrap_or(u16::MAX).saturating_add(self.settings.headers)
    }

    /// The packet that an answer of `now` is about, by its number; each is answered once, and not after ten seconds.
    pub fn answered(&mut self, sequence: u32, now: TestTime) -> Option<SweepPacket> {
        let place = &mut self.waiting[sequence as usize % PLACES];
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

    /// The far end has answered this packet, which reached it with this hop limit; `None` where that is not known.
    pub fn far_end(&mut self, packet: &SweepPacket, left: Option<u8>) {
        self.mtu.passed(packet.sequence);
        match left {
            Some(left) if left > 0 && left <= packet.hop_limit && packet.hop_limit - left <= MOST_HOPS => {
                self.routers = Some(packet.hop_limit - left);
            }
            // A packet that was meant for a router has got through: there are fewer.
            _ if packet.hop_limit <= MOST_HOPS => self.routers = Some(packet.hop_limit - 1),
            _ => {}
        }
    }

    /// A host on the way will not pass this packet on, as it is longer than this MTU; 0 where it names none.
    pub fn too_big(&mut self, packet: &SweepPacket, mtu: u32) {
        self.mtu.too_big(packet.sequence, mtu);
    }
}

fn waits(packet: &SweepPacket, now: TestTime) -> bool {
    (0..=WAITING).contains(&now.since(packet.sent).0)
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX).max(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const MS: i64 = 1_000_000;

    fn sweep(marked: Option<u8>) -> PathSweep {
        let settings = SweepSettings {
            window: Window { from: TestTime(0), to: TestTime(20 * SECOND) },
            interval: Duration::from_secs(1),
            rate: None,
            octet: 0,
            marked,
            headers: 28,
        };
        PathSweep::new(settings, 7)
    }

    /// Runs a whole sweep over a path of so many routers, at which each packet is answered after `delay`.
    fn over(sweep: &mut PathSweep, routers: impl Fn(i64) -> u8, delay: i64, mtu: u16) -> Vec<SweepPacket> {
        let (mut sent, mut answers): (Vec<SweepPacket>, Vec<(i64, SweepPacket)>) = (Vec::new(), Vec::new());
        while let Some(due) = sweep.due() {
            while let Some(place) = answers.iter().position(|(at, _)| *at <= due.0) {
                let (at, packet) = answers.remove(place);
                assert_eq!(sweep.answered(packet.sequence, TestTime(at)), Some(packet));
                assert_eq!(sweep.answered(packet.sequence, TestTime(at)), None, "each is answered once");
                let routers = routers(packet.sent.0);
                if packet.hop_limit > routers {
                    sweep.far_end(&packet, Some(packet.hop_limit - routers));
                }
            }
            if let Some(packet) = sweep.send(due) {
                sent.push(packet);
                if sweep.length(&packet) <= mtu {
                    answers.push((due.0 + delay, packet));
                }
            }
        }
        sent
    }

    #[test]
    fn every_hop_gets_one_packet_a_second_and_none_is_sent_for_hops_that_are_not_there() {
        let sent = over(&mut sweep(None), |_| 4, 20 * MS, 1500);
        for second in 1..19 {
            let limits: Vec<u8> = sent
                .iter()
                .filter(|packet| packet.payload < 200 && packet.sent.0 / SECOND == second)
                .map(|packet| packet.hop_limit)
                .collect();
            let mut sorted = limits.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [1, 2, 3, 4, FULL_HOP_LIMIT], "second {second}: {limits:?}");
        }
    }

    #[test]
    fn a_slow_line_gets_packets_less_often() {
        let mut sweep = sweep(None);
        sweep.settings.rate = Some(BitRate(4_000));
        let sent = over(&mut sweep, |_| 3, 20 * MS, 1500);
        // Five packets a round, 200 octets each, at 500 octets a second.
        let begins: Vec<i64> = sent.iter().filter(|packet| packet.hop_limit == 1).map(|packet| packet.sent.0).collect();
        assert!(begins.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 2 * SECOND), "{begins:?}");
        sweep.settings.rate = Some(BitRate(0));
        assert!(sweep.interval() > 0, "no rate at all is no reason to panic");
    }

    #[test]
    fn a_route_that_changes_is_followed_from_the_next_round_on() {
        let sent = over(&mut sweep(None), |at| if at < 10 * SECOND { 2 } else { 6 }, 20 * MS, 1500);
        let furthest = |range: std::ops::Range<i64>| {
            let within = sent.iter().filter(|packet| range.contains(&(packet.sent.0 / SECOND)));
            within.map(|packet| packet.hop_limit).filter(|limit| *limit < FULL_HOP_LIMIT).max()
        };
        assert_eq!((furthest(2..10), furthest(12..20)), (Some(2), Some(6)));
    }

    #[test]
    fn a_far_end_that_never_answers_is_searched_for_in_growing_circles_up_to_thirty_hops() {
        let mut sweep = sweep(None);
        let mut furthest = Vec::new();
        while let Some(due) = sweep.due() {
            if let Some(packet) = sweep.send(due).filter(|packet| packet.hop_limit < FULL_HOP_LIMIT) {
                furthest.resize(1 + (due.0 / SECOND) as usize, 0);
                let last = furthest.last_mut().unwrap();
                *last = packet.hop_limit.max(*last);
            }
        }
        assert_eq!((furthest[0], furthest[3], *furthest.last().unwrap()), (3, 12, MOST_HOPS));
    }

    #[test]
    fn some_rounds_bear_the_second_marking() {
        let sent = over(&mut sweep(Some(0xb9)), |_| 3, 20 * MS, 1500);
        let marked: Vec<i64> =
            sent.iter().filter(|packet| packet.octet == 0xb9).map(|packet| packet.sent.0 / SECOND).collect();
        assert_eq!(marked.iter().filter(|second| **second == 1).count(), 4);
        assert_eq!(marked.iter().filter(|second| **second == 3).count(), 4);
        assert!((4..9).all(|second| !marked.contains(&second)));
    }

    #[test]
    fn lengths_tell_packets_apart_and_what_is_in_doubt_is_nobodys() {
        let mut sweep = sweep(None);
        let mut sent = Vec::new();
        while sent.len() < 40 {
            let due = sweep.due().unwrap();
            sent.extend(sweep.send(due));
        }
        let now = sent.last().unwrap().sent;
        assert_eq!(sweep.answered_by_length(sent[20].payload, now), Some(sent[20]));
        assert_eq!(sent[0].payload, sent[32].payload);
        assert_eq!(sweep.answered_by_length(sent[0].payload, now), None, "two bear this length");
        sweep.answered(0, now);
        assert_eq!(sweep.answered_by_length(sent[32].payload, now), Some(sent[32]));
        assert_eq!(sweep.answered_by_length(7, now), None);
    }

    #[test]
    fn late_answers_and_foreign_numbers_are_nobodys() {
        let mut sweep = sweep(None);
        let packet = sweep.send(sweep.due().unwrap()).unwrap();
        assert_eq!(sweep.answered(77, packet.sent), None);
        assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 - 1)), None, "before it was sent");
        assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 + WAITING + 1)), None);
        assert_eq!(sweep.answered(packet.sequence, TestTime(packet.sent.0 + WAITING)), Some(packet));
    }

    #[test]
    fn a_host_that_stalled_leaves_out_what_was_due() {
        let mut sweep = sweep(None);
        let first = sweep.send(TestTime(10 * SECOND)).unwrap();
        assert!(first.sent == TestTime(10 * SECOND) && first.sequence == 0);
        let mut more = 0;
        while sweep.send(TestTime(10 * SECOND)).is_some() {
            more += 1;
        }
        assert!(more < 2 * usize::from(MOST_HOPS), "{more} at once");
    }

    #[test]
    fn the_path_mtu_is_found_within_a_few_seconds() {
        let mut sweep = sweep(None);
        let sent = over(&mut sweep, |_| 3, 20 * MS, 1420);
        let long: Vec<(i64, u16)> = sent
            .iter()
            .filter(|packet| packet.payload > 200)
            .map(|packet| (packet.sent.0 / SECOND, sweep.length(packet)))
            .collect();
        assert_eq!(long[0].1, 1500);
        assert!(long.iter().any(|(_, length)| *length == 1420), "{long:?}");
    }
}

//! A load that fills a queue and lets it drain, as a window of TCP does: it grows with what is acknowledged and shrinks at a
//! loss, and now and then by chance, so that the queues of both directions rise and fall on schedules of their own.

use rrul_model::flow::Direction;
use rrul_model::random::Random;
use rrul_model::time::TestTime;

use crate::{MS, SECOND, between};

/// Bytes of UDP payload in a packet of data, with IPv4 one of 1500 bytes; and in an acknowledgment.
const DATA: usize = 1472;
const ACKNOWLEDGEMENT: usize = 32;

const FIRST_WINDOW: f64 = 10.0;
const SMALLEST_WINDOW: f64 = 2.0;

/// Packets that the window grows by in a second, as CUBIC's does by time and not by round trip; and what loss leaves of it
/// (RFC 9438 section 4.6), and what chance does.
const GROWTH: f64 = 40.0;
const AFTER_LOSS: f64 = 0.7;
const AFTER_CUT: f64 = 0.6;

/// Without news for this long everything on its way counts as lost.
const TIMEOUT: i64 = 1000 * MS;

/// When packets leave that the window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Spread over the round trip, as a host that paces does: a little faster than one window in each, twice as fast in
    /// the beginning.
    Even,
    /// At once. As acknowledgments come in bunches out of the other direction's queue, so does data.
    Bursts,
}

/// Both ends of the load in one direction.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) direction: Direction,
    pace: Pace,
    from: TestTime,
    until: TestTime,
    random: Random,
    window: f64,
    /// It doubles with every round trip until the first loss.
    doubles: bool,
    /// The next packet's number.
    next: u32,
    /// Before this no packet leaves.
    not_before: TestTime,
    /// Nanoseconds, smoothed.
    round_trip: f64,
    /// What the receiver has said: packets below this number have arrived or are lost, so many of them lost.
    settled: u32,
    lost: u32,
    /// Loss below this number is that of a window that has shrunk already.
    shrunk_until: u32,
    news: TestTime,
    next_cut: TestTime,
    /// What the receiver knows.
    arrived: u32,
    highest: u32,
}

impl Load {
    pub(crate) fn new(direction: Direction, pace: Pace, (from, until): (TestTime, TestTime), seed: u64) -> Self {
        let mut random = Random(seed);
        let from = TestTime(from.0 + between(&mut random, 0, 400 * MS));
        let next_cut = TestTime(from.0 + cut_after(&mut random));
        Self {
            direction,
            pace,
            from,
            until,
            random,
            window: FIRST_WINDOW,
            doubles: true,
            next: 0,
            not_before: from,
            round_trip: 20e6,
            settled: 0,
            lost: 0,
            shrunk_until: 0,
            news: from,
            next_cut,
            arrived: 0,
            highest: 0,
        }
    }

    /// When [`Load::send`] is to be asked without anything having arrived.
    pub(crate) fn due(&self, now: TestTime) -> Option<TestTime> {
        let timer = self.next_cut.min(TestTime(self.news.0 + TIMEOUT));
        let due = match (now < self.from, self.has_room()) {
            (true, _) => self.from,
            (false, true) => self.not_before.min(timer),
            (false, false) => timer,
        };
        (due.max(now) < self.until).then_some(due)
    }

    fn has_room(&self) -> bool {
        f64::from(self.next - self.settled) < self.window
    }

    /// The payload that leaves now, if one does; to be asked for until none does.
    pub(crate) fn send(&mut self, now: TestTime) -> Option<Vec<u8>> {
        if now < self.from || now >= self.until {
            return None;
        }
        if now.0 >= self.news.0 + TIMEOUT {
            (self.settled, self.news) = (self.next, now);
            self.shrink(AFTER_CUT);
        }
        if now >= self.next_cut {
            self.next_cut = TestTime(now.0 + cut_after(&mut self.random));
            self.shrink(AFTER_CUT);
        }
        if !self.has_room() || now < self.not_before {
            return None;
        }
        if self.pace == Pace::Even {
            let faster = if self.doubles { 2.0 } else { 1.2 };
            self.not_before = TestTime(now.0 + (self.round_trip / self.window / faster) as i64);
        }
        let mut payload = vec![0; DATA];
        payload[..4].copy_from_slice(&self.next.to_be_bytes());
        payload[4..12].copy_from_slice(&now.0.to_be_bytes());
        self.next += 1;
        Some(payload)
    }

    fn shrink(&mut self, to: f64) {
        self.window = (self.window * to).max(SMALLEST_WINDOW);
        self.doubles = false;
        self.shrunk_until = self.next;
    }

    /// The receiver's answer to a packet of data.
    pub(crate) fn arrives(&mut self, payload: &[u8]) -> Vec<u8> {
        self.arrived += 1;
        self.highest = self.highest.max(number(payload, 0));
        let mut answer = payload[..ACKNOWLEDGEMENT].to_vec();
        answer[..4].copy_from_slice(&self.highest.to_be_bytes());
        answer[12..16].copy_from_slice(&self.arrived.to_be_bytes());
        answer
    }

    /// What the sender makes of that.
    pub(crate) fn acknowledged(&mut self, payload: &[u8], now: TestTime) {
        let (settled, arrived) = (number(payload, 0) + 1, number(payload, 12));
        let sent = i64::from(number(payload, 4)) << 32 | i64::from(number(payload, 8));
        let since = (now.0 - self.news.0) as f64 / SECOND as f64;
        self.news = now;
        self.round_trip += ((now.0 - sent) as f64 - self.round_trip) / 8.0;
        if settled <= self.settled {
            return;
        }
        self.window += if self.doubles { f64::from(settled - self.settled) } else { GROWTH * since };
        let lost = settled - arrived;
        if lost > self.lost && settled > self.shrunk_until {
            self.shrink(AFTER_LOSS);
        }
        (self.settled, self.lost) = (settled, lost.max(self.lost));
    }
}

fn cut_after(random: &mut Random) -> i64 {
    between(random, 1500 * MS, 5000 * MS)
}

fn number(payload: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([payload[at], payload[at + 1], payload[at + 2], payload[at + 3]])
}

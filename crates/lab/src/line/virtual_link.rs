//! Both directions of a link in virtual time, with the routers' answers going from one to the other.

use rrul_model::flow::Direction;
use rrul_model::random::Random;

use crate::line::counters::LinkCounters;
use crate::line::pipe::{Outcome, Pipe};
use crate::link::Link;
use crate::link::shaper::Shaper;
use crate::time::LabTime;

/// The seed of one direction's pipe, from the seed of the whole.
pub(crate) fn seed_of(direction: Direction, seed: u64) -> u64 {
    Random::new(seed, direction.name()).next()
}

/// A link in virtual time: no clock, no socket, no thread. What a [`crate::Lab`] does to packets, for tests.
///
/// ```
/// use rrul_lab::{LabTime, Link, VirtualLink, line::pipe::Outcome};
/// use rrul_model::flow::Direction;
///
/// let text = "rtt = \"20ms\"\n[up]\nrate = \"8Mbit/s\"\n[down]\nrate = \"20Mbit/s\"\n[path]\nhops = 4\n";
/// let mut link = VirtualLink::new(&Link::from_toml("line.toml", text)?, 1, LabTime(0));
/// // An IPv6 packet without anything in it, from fd78::1 to fd78::2, that the second router is not to forward.
/// let mut packet = [0; 40];
/// (packet[0], packet[6], packet[7]) = (0x60, 59, 2);
/// packet[8..10].copy_from_slice(&[0xfd, 0x78]);
/// packet[24..26].copy_from_slice(&[0xfd, 0x78]);
/// (packet[23], packet[39]) = (1, 2);
/// link.offer(Direction::Up, &packet, LabTime(0));
/// link.poll(LabTime(1_000_000_000), |direction, outcome| match outcome {
///     Outcome::Lost(record) => assert_eq!((direction, record.fate.name()), (Direction::Up, "expired")),
///     Outcome::Delivered(bytes, record) => {
///         assert_eq!((direction, bytes[40], record.protocol), (Direction::Down, 3, 58), "time exceeded");
///     }
/// });
/// # Ok::<(), rrul_lab::Error>(())
/// ```
#[derive(Debug)]
pub struct VirtualLink {
    up: Pipe,
    down: Pipe,
}

impl VirtualLink {
    /// An idle link whose rate schedules begin at `now`. Equal seeds and equal offers give equal outcomes, and those of a
    /// lab with this seed.
    pub fn new(link: &Link, seed: u64, now: LabTime) -> Self {
        let pipe = |direction| Pipe::of_link(link, direction, seed_of(direction, seed), now);
        Self { up: pipe(Direction::Up), down: pipe(Direction::Down) }
    }

    /// Changes the link at `now`; see [`Pipe::set`].
    pub fn set(&mut self, link: &Link, now: LabTime) {
        self.advance(now);
        self.up.set(link, Direction::Up, now);
        self.down.set(link, Direction::Down, now);
    }

    /// Changes the shaper of one direction at `now`; see [`Pipe::set_shaper`].
    pub fn set_shaper(&mut self, direction: Direction, shaper: Option<&Shaper>, now: LabTime) {
        self.advance(now);
        match direction {
            Direction::Up => self.up.set_shaper(shaper, now),
            Direction::Down => self.down.set_shaper(shaper, now),
        }
        self.exchange();
    }

    /// Counters of its queues.
    pub fn counters(&self) -> LinkCounters {
        LinkCounters { up: self.up.counters(), down: self.down.counters() }
    }

    /// Takes a packet from the client ([`Direction::Up`]) or from the server at `now`; see [`Pipe::offer`]. Times must not
    /// fall from one call to the next, whatever is called.
    pub fn offer(&mut self, direction: Direction, octets: &[u8], now: LabTime) {
        self.advance(now);
        match direction {
            Direction::Up => self.up.offer(octets, now),
            Direction::Down => self.down.offer(octets, now),
        }
        self.exchange();
    }

    /// When [`VirtualLink::poll`] next has something to hand out, or may have; `None` when the link is empty.
    pub fn next_event(&self) -> Option<LabTime> {
        self.up.next_event().into_iter().chain(self.down.next_event()).min()
    }

    /// Hands out everything that is settled by `now`, with the direction in which it went: what went up first, each
    /// direction as [`Pipe::poll`] does.
    pub fn poll(&mut self, now: LabTime, mut hand_out: impl FnMut(Direction, Outcome<'_>)) {
        self.advance(now);
        self.up.poll(now, |outcome| hand_out(Direction::Up, outcome));
        self.down.poll(now, |outcome| hand_out(Direction::Down, outcome));
    }

    /// Lets both directions decide everything due by `now`, one instant after the other, so that an answer is in
    /// the other direction before anything is decided there that comes later.
    fn advance(&mut self, now: LabTime) {
        loop {
            let next = self.up.next_decision().into_iter().chain(self.down.next_decision()).min();
            let Some(next) = next.filter(|next| *next <= now) else { break };
            self.up.advance(next);
            self.down.advance(next);
            self.exchange();
        }
    }

    fn exchange(&mut self) {
        self.up.answers().into_iter().for_each(|answer| self.down.take_in(answer));
        self.down.answers().into_iter().for_each(|answer| self.up.take_in(answer));
    }
}

#[cfg(test)]
#[path = "virtual_link_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "shaper_tests.rs"]
mod shaper_tests;

#[cfg(test)]
#[path = "virtual_link_punctuality_tests.rs"]
mod punctuality_tests;

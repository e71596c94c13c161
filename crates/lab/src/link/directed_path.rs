//! A path as the packets of one direction meet it: where each ends, what it passes, and how long it travels.

use rrul_model::flow::AddressFamily;
use rrul_model::flow::Direction;
use std::time::Duration;

use crate::link::path::{MOST_HOPS, ReplyPath};
use crate::link::{Link, LinkDirection};
use crate::time::nanoseconds;
use crate::truth::record::Fate;

/// How far a packet of this direction goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// To the other host.
    Through,
    /// To this router and no further.
    EndsAt { hop: u8, fate: Fate },
    /// From this router, whose answer it is to a packet of the other direction, to the host.
    AnswerOf { hop: u8 },
}

/// Where a direction's remarking takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remarking {
    /// Not on this packet's course.
    Never,
    /// Before the queue, which so sees what remarking has left.
    BeforeQueue,
    /// Once it has left the queue.
    BehindQueue,
}

/// One direction's view of the path.
///
/// A *place* is a router's number in the order in which this direction's packets meet them, from 1.
#[derive(Debug, Clone)]
pub(crate) struct DirectedPath {
    direction: Direction,
    routers: u8,
    /// The place of the router out of which the queue sends.
    queue: u8,
    /// The place of the router that remarks.
    remark: u8,
    /// The router that has to forward over the narrow link, or the last before it; and what the link carries.
    narrow: Option<(u8, u16)>,
    reply_path: ReplyPath,
    delay: u64,
}

impl DirectedPath {
    /// Creates the path between adjacent hosts.
    pub(crate) fn of_adjacent_hosts(direction: &LinkDirection) -> Self {
        Self {
            direction: Direction::Up,
            routers: 0,
            queue: 0,
            remark: 0,
            narrow: None,
            reply_path: ReplyPath::Same,
            delay: nanoseconds(direction.delay),
        }
    }

    pub(crate) fn new(link: &Link, direction: Direction) -> Self {
        let direct = Self { direction, ..Self::of_adjacent_hosts(link.direction(direction)) };
        let Some(path) = &link.path else { return direct };
        let directed = Self { routers: path.hops.min(MOST_HOPS), reply_path: path.reply_path, ..direct };
        let up = direction == Direction::Up;
        let narrow = path.mtu.map(|link| {
            // Downwards the next router forwards over it; behind the last one only the server follows.
            let hop = if up { link.hop } else { link.hop.saturating_add(1).min(path.hops) };
            (directed.place(hop), link.octets)
        });
        Self {
            queue: directed.place(if up { path.up_queue_after } else { path.down_queue_after }),
            remark: directed.place(if up { path.remark_up_at } else { path.remark_down_at }),
            narrow,
            ..directed
        }
    }

    /// The place of the router that has this number from the client. The same turns a place into that number.
    fn place(&self, hop: u8) -> u8 {
        match self.direction {
            Direction::Up => hop,
            Direction::Down => (self.routers + 1).saturating_sub(hop),
        }
    }

    /// How far a packet of so many bytes goes that is sent with this TTL. A router looks at the TTL first.
    pub(crate) fn course(&self, ttl: u8, length: usize) -> Course {
        let expires_at = ttl.max(1);
        let too_big = self.narrow.filter(|(_, octets)| length > usize::from(*octets));
        match too_big {
            Some((place, _)) if place < expires_at => Course::EndsAt { hop: self.place(place), fate: Fate::TooBig },
            _ if expires_at <= self.routers => Course::EndsAt { hop: self.place(expires_at), fate: Fate::Expired },
            _ => Course::Through,
        }
    }

    /// What the narrow link carries.
    pub(crate) fn narrow_octets(&self) -> u16 {
        self.narrow.map_or(u16::MAX, |(_, octets)| octets)
    }

    /// How many routers forward a packet; answers are made with the TTL that arrives.
    pub(crate) fn forwarded(&self, course: Course) -> u8 {
        match course {
            Course::Through => self.routers,
            Course::EndsAt { hop, .. } => self.place(hop).saturating_sub(1),
            Course::AnswerOf { .. } => 0,
        }
    }

    pub(crate) fn meets_queue(&self, course: Course) -> bool {
        match course {
            Course::Through => true,
            Course::EndsAt { hop, .. } => self.place(hop) > self.queue,
            Course::AnswerOf { hop } => self.reply_path == ReplyPath::Same && self.place(hop) <= self.queue,
        }
    }

    pub(crate) fn remarking(&self, course: Course) -> Remarking {
        let forwards = match course {
            Course::Through => true,
            Course::EndsAt { hop, .. } => self.place(hop) > self.remark,
            Course::AnswerOf { .. } => false,
        };
        match (forwards, self.remark > self.queue) {
            (false, _) => Remarking::Never,
            (true, false) => Remarking::BeforeQueue,
            (true, true) => Remarking::BehindQueue,
        }
    }

    /// Nanoseconds of propagation. The direction's delay is spread evenly over the segments, one more than routers.
    pub(crate) fn propagation(&self, course: Course) -> u64 {
        let segments = self.routers + 1;
        match course {
            Course::Through => self.delay,
            Course::EndsAt { hop, .. } => self.share(self.place(hop)),
            Course::AnswerOf { hop } => self.share(segments.saturating_sub(self.place(hop))),
        }
    }

    /// Those of them behind the queue; all where it is not met.
    pub(crate) fn behind(&self, course: Course) -> u64 {
        self.propagation(course).saturating_sub(self.ahead(course))
    }

    /// Those up to the queue; none where it is not met.
    pub(crate) fn ahead(&self, course: Course) -> u64 {
        match course {
            _ if !self.meets_queue(course) => 0,
            Course::Through | Course::EndsAt { .. } => self.share(self.queue),
            Course::AnswerOf { hop } => self.share(self.queue).saturating_sub(self.share(self.place(hop))),
        }
    }

    /// Nanoseconds over the shortest course that anything has.
    pub(crate) fn least_travel(&self) -> u64 {
        self.share(1)
    }

    fn share(&self, segments: u8) -> u64 {
        let all = self.routers + 1;
        (u128::from(self.delay) * u128::from(segments.min(all)) / u128::from(all)) as u64
    }
}

impl Link {
    /// The round-trip delay from a host to router `hop`, counted from the client, and back: propagation alone, without
    /// transmission times and a slow router's extra. `trace` is the way that the packets take which the router answers:
    /// [`Direction::Up`] means from the client. `None` without a router of this number.
    pub fn hop_round_trip(&self, trace: Direction, hop: u8) -> Option<Duration> {
        self.hop_address(AddressFamily::Ipv4, hop)?;
        let (there, back) = (DirectedPath::new(self, trace), DirectedPath::new(self, trace.opposite()));
        let there = there.propagation(Course::EndsAt { hop, fate: Fate::Expired });
        Some(Duration::from_nanos(there + back.propagation(Course::AnswerOf { hop })))
    }
}

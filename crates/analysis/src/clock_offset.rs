//! How far the server's clock is ahead of the client's, at every instant of the test.

use rrul_model::flow::Direction;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::leg::Leg;

/// The server's clock less the client's.
///
/// Only the sum of both directions' smallest delays can be known from two hosts, not how it splits; half and half is
/// assumed, and the offset is off by at most half of that sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    offset: Delay,
    bound: Delay,
}

impl ClockOffset {
    /// From the fastest packet of each direction; `None` unless there is one in both.
    pub(crate) fn estimate(_recording: &Recording, legs: &[Leg<'_>]) -> Option<Self> {
        let fastest = |direction| {
            let of_direction = legs.iter().filter(|leg| leg.direction == direction);
            of_direction.flat_map(|leg| &leg.journeys).filter_map(|one| Some(one.received?.since(one.sent))).min()
        };
        let (up, down) = (fastest(Direction::Up)?, fastest(Direction::Down)?);
        Some(Self { offset: Delay(up.0.saturating_sub(down.0) / 2), bound: Delay(i64::midpoint(up.0, down.0)) })
    }

    /// The client's time when the server's clock showed this.
    pub(crate) fn client_time(&self, server: TestTime) -> TestTime {
        TestTime(server.0.saturating_sub(self.offset.0))
    }

    /// One-way delay of a packet that took this leg, from its two stamps.
    pub(crate) fn one_way_delay(&self, direction: Direction, sent: TestTime, received: TestTime) -> Delay {
        match direction {
            Direction::Up => self.client_time(received).since(sent),
            Direction::Down => received.since(self.client_time(sent)),
        }
    }

    /// Why the drift of one clock against the other is not known well enough to tell queueing by direction; `None` when
    /// it is.
    pub fn uncertain(&self) -> Option<&str> {
        None
    }

    /// By how much the offset, and every one-way delay with it, may be off.
    pub fn bound(&self) -> Delay {
        self.bound
    }
}

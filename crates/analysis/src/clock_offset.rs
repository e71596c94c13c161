//! How far the server's clock is ahead of the client's, at every instant of the test, and what that means for delays.
//!
//! Two hosts' clocks share no origin and drift apart. An apparent delay, the receiver's stamp less the sender's, is the
//! true one plus the offset on the way up and less it on the way down; in the round trip the offset cancels. From two
//! hosts can be known:
//!
//! - the drift: the slope of the line beneath the delays of the idle line, before the load and after it, both directions
//!   together (`part.rs`);
//! - so the queueing delay of every packet, in its direction: how far it lies above that line;
//! - not how the smallest round trip splits: half and half is assumed, and every absolute one-way delay is off by up to
//!   half of it ([`ClockOffset::bound`]).
//!
//! Clocks that step and routes that change split the test into segments (`stretch.rs`, `locate.rs`). A floor that is higher
//! after the load is a queue that has not drained, unless something beside it shows a route change (`route_change.rs`).
//! Then the drift is bounded instead of measured (`bounded.rs`). [`ClockOffset::unknown`] gives the reason where the error is
//! not small beside the queueing delay of a direction.

mod bounded;
mod estimate;
mod locate;
mod part;
mod route_change;
mod stretch;
mod tracks;
pub(crate) mod wall_clock;

use foldhash::HashMap;
use rrul_model::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use crate::by_direction::ByDirection;
use crate::clock_offset::wall_clock::Steps;
use crate::packets::one_way_flow::OneWayFlow;
use crate::series::RatePoint;
use locate::Place;
use tracks::Tracks;

/// What drift may add to delays over the test without being known, nanoseconds.
pub(crate) const ALLOWED_ERROR: f64 = 2_000_000.0;

/// The server's clock less the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockOffset {
    /// Roughly that, nanoseconds; what follows is less it.
    reference: i64,
    /// How much the server's clock gains, of its own time.
    slope: f64,
    slope_error: Option<f64>,
    floor_spread: Option<f64>,
    uncertain: Option<String>,
    /// Why the queueing delay of one direction alone is unknown.
    unknown: ByDirection<Option<String>>,
    /// By how much drift may shift queueing delays by the end of the load, nanoseconds.
    drift_error: Option<f64>,
    /// The kind of each flow's packets.
    kinds: HashMap<FlowId, usize>,
    segments: Vec<Segment>,
    /// Of either host's wall clock.
    wall_clocks: [Steps; 2],
    /// Stamps in these windows of either host's clock may be from before or after a step of that clock.
    clock_steps: [Vec<Window>; 2],
}

/// A stretch of the test in which neither clock stepped and no route changed.
#[derive(Debug, Clone, PartialEq)]
struct Segment {
    /// Where it begins, and why; `None` of the first.
    begin: Option<Begin>,
    /// The offset less the reference at the server's time 0, nanoseconds.
    offset: f64,
    /// By how much it may be off.
    bound: f64,
    /// By kind: the smallest apparent delay, less drift.
    levels: Vec<ByDirection<Option<f64>>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Begin {
    place: Place,
    changes: Vec<Change>,
}

/// What made a new segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    ClockStep {
        host: ObservationPoint,
        by: Delay,
    },
    /// The smallest delay changed in one direction alone.
    RouteChange {
        family: AddressFamily,
        direction: Direction,
        /// How much longer it became.
        by: Delay,
    },
}

/// A segment as it is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetSegment {
    /// Its first instant, on the client's clock; `None` of the first segment.
    pub from: Option<TestTime>,
    /// Why it begins there; empty of the first segment.
    pub changes: Vec<Change>,
    /// The server's clock less the client's when the segment begins, or at T0.
    pub offset: Delay,
    /// By how much that may be off.
    pub bound: Delay,
}

impl ClockOffset {
    /// From the packets of UDP flows in both directions; `None` unless some arrived either way.
    ///
    /// O(n log n) in the number of packets.
    ///
    /// `carried` is the rate of the link over time.
    pub(crate) fn estimate(
        recording: &Recording,
        one_way_flows: &[OneWayFlow<'_>],
        carried: ByDirection<&[RatePoint]>,
    ) -> Option<Self> {
        let points = [ObservationPoint::Client, ObservationPoint::Server];
        let wall_clocks = points.map(|point| Steps::from_recording(recording, point));
        let tracks = Tracks::new(one_way_flows, &wall_clocks)?;
        Some(estimate::estimate(recording, &tracks, carried))
    }

    /// Returns why the queueing delay is unknown in both directions; `None` when it is known in one of them.
    pub fn uncertain(&self) -> Option<&str> {
        self.uncertain.as_deref()
    }

    /// Returns why the queueing delay of this direction is unknown; `None` when it is known.
    pub fn unknown(&self, direction: Direction) -> Option<&str> {
        self.uncertain().or(self.unknown.get(direction).as_deref())
    }

    /// By how much drift may shift queueing delays by the end of the load; `None` when nothing bounds it.
    pub fn drift_error(&self) -> Option<Delay> {
        self.drift_error.map(nanoseconds)
    }

    /// Whether drift may add more than [`ALLOWED_ERROR`] to delays over the test.
    pub(crate) fn is_drift_uncertain(&self) -> bool {
        self.uncertain.is_some() || self.drift_error.is_none_or(|error| error > ALLOWED_ERROR)
    }

    /// By how much the offset, and every absolute one-way delay with it, may be off: half the smallest round trip. Where
    /// segments differ, the most.
    pub fn bound(&self) -> Delay {
        nanoseconds(self.segments.iter().map(|segment| segment.bound).fold(0.0, f64::max))
    }

    /// How much the server's clock gains on the client's, in a million of the client's time.
    pub fn skew_ppm(&self) -> f64 {
        self.slope / (1.0 - self.slope) * 1e6
    }

    /// By how much that may be off; `None` when too little is known to say.
    pub fn skew_error_ppm(&self) -> Option<f64> {
        self.slope_error.map(|error| error * 1e6)
    }

    /// How far the middle packet of the idle line lies above the smallest delay of its kind: the noise of hosts and path.
    pub fn floor_spread(&self) -> Option<Delay> {
        self.floor_spread.map(nanoseconds)
    }

    /// The segments in order; at least one.
    pub fn segments(&self) -> Vec<OffsetSegment> {
        let segment_of = |segment: &Segment| {
            let from = segment.begin.as_ref().map(|begin| begin.place);
            let server = from.map_or(0, |_| self.begins_at_server(segment));
            let offset = self.ahead(segment, server);
            OffsetSegment {
                from: from.map(|_| TestTime(server.saturating_sub(offset))),
                changes: segment.begin.as_ref().map_or_else(Vec::new, |begin| begin.changes.clone()),
                offset: Delay(offset),
                bound: nanoseconds(segment.bound),
            }
        };
        self.segments.iter().map(segment_of).collect()
    }

    /// The client's time when the server's clock showed this.
    ///
    /// In the moments that a server's clock shows twice, as it steps back, the later of the two.
    pub(crate) fn client_time(&self, server: TestTime) -> TestTime {
        let begun = |segment: &&Segment| segment.begin.is_none() || self.begins_at_server(segment) <= server.0;
        let segment = self.segments.iter().rev().find(begun);
        TestTime(server.0.saturating_sub(segment.map_or(self.reference, |segment| self.ahead(segment, server.0))))
    }

    /// One-way delay of a packet from its two stamps, as if the smallest round trip were the same both ways.
    ///
    /// Off by up to [`Self::bound`], and equally so for every packet of its direction. What drift adds where it is
    /// [uncertain](Self::uncertain) comes on top.
    pub(crate) fn one_way_delay(&self, direction: Direction, sent: TestTime, received: TestTime) -> Delay {
        let (server, client) = stamps(direction, sent, received);
        let ahead = self.ahead(self.segment(direction, server, client), server);
        match direction {
            Direction::Up => received.since(sent) - Delay(ahead),
            Direction::Down => received.since(sent) + Delay(ahead),
        }
    }

    /// How much longer a packet took than the fastest of its kind and direction on the idle line (RFC 7679, as a
    /// difference): the queueing delay. No assumption on how the round trip splits is in it.
    ///
    /// Slightly negative when the packet was faster than any on the idle line. `None` where the drift is uncertain, or
    /// nothing of the kind crossed the idle line.
    pub(crate) fn queueing_delay(
        &self,
        flow: &FlowSpec,
        direction: Direction,
        sent: TestTime,
        received: TestTime,
    ) -> Option<Delay> {
        if self.unknown(direction).is_some() {
            return None;
        }
        let (server, client) = stamps(direction, sent, received);
        let kind = *self.kinds.get(&flow.id)?;
        self.above_level(kind, direction, server, client).map(nanoseconds)
    }

    /// Which kind a flow is of and in which segment both ways of a probe lie; `None` when a step lies between.
    pub(crate) fn same_segment(
        &self,
        flow: &FlowSpec,
        up: (TestTime, TestTime),
        down: (TestTime, TestTime),
    ) -> Option<(usize, usize)> {
        let kind = *self.kinds.get(&flow.id)?;
        let [there, back] = [(Direction::Up, up), (Direction::Down, down)].map(|(direction, (sent, received))| {
            let (server, client) = stamps(direction, sent, received);
            self.segment_index(direction, server, client)
        });
        (there == back).then_some((kind, there))
    }

    /// Whether one of a packet's stamps was taken around a step of that host's clock, or of its wall clock, by which kernel
    /// stamps are carried over.
    pub(crate) fn is_misstamped(&self, direction: Direction, sent: TestTime, received: Option<TestTime>) -> bool {
        let [at_client, at_server] = &self.wall_clocks;
        let (server, client) = match direction {
            Direction::Up => (received, Some(sent)),
            Direction::Down => (Some(sent), received),
        };
        let [client_steps, server_steps] = &self.clock_steps;
        let within = |windows: &[Window], at: TestTime| windows.iter().any(|window| window.contains(at));
        server.is_some_and(|at| at_server.are_around(at) || within(server_steps, at))
            || client.is_some_and(|at| at_client.are_around(at) || within(client_steps, at))
    }

    /// When either host's stamps may be from before or after a step of its clock.
    fn clock_steps(segments: &[Segment], wall_clocks: &[Steps; 2]) -> [Vec<Window>; 2] {
        let changes = || segments.iter().filter_map(|segment| segment.begin.as_ref()).flat_map(|begin| &begin.changes);
        [ObservationPoint::Client, ObservationPoint::Server].map(|point| {
            let of = |change: &Change| match change {
                Change::ClockStep { host, by } if *host == point => {
                    wall_clocks[point as usize].around_clock_step(by.0 as f64)
                }
                _ => None,
            };
            changes().filter_map(of).collect()
        })
    }

    /// How often the wall clock of either host stepped.
    pub fn wall_clock_steps(&self) -> usize {
        self.wall_clocks.iter().map(Steps::count).sum()
    }

    /// How far a packet lies above the smallest delay of its kind, nanoseconds.
    fn above_level(&self, kind: usize, direction: Direction, server: i64, client: i64) -> Option<f64> {
        let segment = self.segment(direction, server, client);
        let level = (*segment.levels.get(kind)?.get(direction))?;
        let ahead = i128::from(server) - i128::from(client) - i128::from(self.reference);
        let (apparent, x) = match direction {
            Direction::Up => (ahead as f64, server as f64),
            Direction::Down => (-ahead as f64, -(server as f64)),
        };
        Some(apparent - level - self.slope * x)
    }

    /// The server's clock less the client's, in this segment.
    fn ahead(&self, segment: &Segment, server: i64) -> i64 {
        self.reference.saturating_add((segment.offset + self.slope * server as f64).round() as i64)
    }

    /// When the server's clock began to show the times of this segment.
    fn begins_at_server(&self, segment: &Segment) -> i64 {
        match segment.begin.as_ref().map(|begin| begin.place) {
            None => i64::MIN,
            Some(Place { stepped: ObservationPoint::Client, at }) => at as i64,
            Some(Place { stepped: ObservationPoint::Server, at }) => {
                let roughly = (at as i64).saturating_add(self.ahead(segment, at as i64));
                (at as i64).saturating_add(self.ahead(segment, roughly))
            }
        }
    }

    /// The segment in which a packet was stamped by the host whose clock stepped.
    fn segment(&self, direction: Direction, server: i64, client: i64) -> &Segment {
        &self.segments[self.segment_index(direction, server, client)]
    }

    fn segment_index(&self, direction: Direction, server: i64, client: i64) -> usize {
        let steps = self.segments.windows(2).take_while(|pair| {
            let begin = pair[1].begin.as_ref();
            begin.is_some_and(|begin| self.is_after(begin.place, [&pair[0], &pair[1]], direction, server, client))
        });
        steps.count()
    }

    /// Whether the stamp of the host whose clock stepped is from after the step, by the other host's clock.
    fn is_after(&self, place: Place, segments: [&Segment; 2], direction: Direction, server: i64, client: i64) -> bool {
        let ahead = segments.map(|segment| self.ahead(segment, server) as f64);
        let sends = if direction == Direction::Up { ObservationPoint::Client } else { ObservationPoint::Server };
        let (stamps, other) = match place.stepped {
            ObservationPoint::Server => (ahead.map(|ahead| server as f64 - ahead), client as f64),
            ObservationPoint::Client => (ahead.map(|ahead| client as f64 + ahead), server as f64),
        };
        let [before, after] = stamps;
        match (before < place.at, after >= place.at) {
            (true, false) => false,
            (false, true) => true,
            // A time that a clock stepping forward never showed.
            (false, false) => place.at - after < before - place.at,
            // A time that a clock stepping back showed twice: a packet takes at least about its share of the round trip.
            (true, true) => {
                let took = |stamp: f64| if sends == place.stepped { other - stamp } else { stamp - other };
                took(before) < segments[0].bound / 2.0 && took(after) >= segments[1].bound / 2.0
            }
        }
    }
}

/// The stamp at the server, and that at the client.
fn stamps(direction: Direction, sent: TestTime, received: TestTime) -> (i64, i64) {
    match direction {
        Direction::Up => (received.0, sent.0),
        Direction::Down => (sent.0, received.0),
    }
}

fn nanoseconds(value: f64) -> Delay {
    Delay(value.round() as i64)
}

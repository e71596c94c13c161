//! A few numbers about the last second, while the test runs; [`Course`] has all seconds until then.

mod arrivals;
mod cell;
mod course;
mod probe_tally;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::observation::{ObservationPoint, receiver};
use rrul_model::recording::{Frame, Header};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::packets::recorded_time::last_observation;
use crate::statistics::counter::Counter;
use crate::statistics::percentile::percentile;
use arrivals::Arrivals;
pub use cell::{DelayCell, DelaySecond};
pub use course::{Course, RateCourse};
pub use probe_tally::{KnownProbe, ProbeTally};
use waiting::{Answer, Waiting};

const SECOND: Duration = Duration::from_secs(1);
/// How long readings are kept: the last full second, the part of one that follows, and one to interpolate from.
const KEPT: Duration = Duration::from_secs(4);
/// How far what one host has said may be behind the other's: later, it says nothing of the last second.
const STALE: Duration = Duration::from_secs(8);

/// What happened in the last full second.
///
/// For the eye, while the test runs; [`analyze`](crate::analyze::analyze) has the numbers. Rates are segments that arrived
/// times their usual size, and delays lack stamps that arrive late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveSnapshot {
    /// Goodput of all load flows together, client to server; `None` while the server's observations do not arrive.
    pub up: Option<BitRate>,
    /// Goodput of all load flows together, server to client; `None` while the client's do not.
    pub down: Option<BitRate>,
    /// Median round-trip delay of the probes whose reply came in that second; `None` when none did.
    pub delay: Option<Delay>,
    /// Probes whose waiting time ran out in that second: 3 s, or twice the longest delay so far if
    /// that is longer.
    pub lost_last_second: u64,
}

/// Follows a test frame by frame and remembers a few seconds of it.
///
/// A second is a whole one of the test's clock, and the last full one is the last that the observing host has left
/// behind; the two hosts may be a second apart.
#[derive(Debug, Clone)]
pub struct Live {
    /// In the order of flows, so that sums come out the same each time.
    octets: BTreeMap<FlowId, VecDeque<(TestTime, u64)>>,
    arrivals: Arrivals,
    waiting: Waiting,
    answered: VecDeque<Answer>,
    client: Option<TestTime>,
    server: Option<TestTime>,
}

impl Live {
    /// A view on the test that begins with this header.
    ///
    /// Delay is that of the probes that are pooled, by what was sent so far: see [`crate::packets::probe_pool`].
    pub fn new(header: &Header) -> Self {
        Self {
            octets: BTreeMap::new(),
            arrivals: Arrivals::new(header),
            waiting: Waiting::new(header),
            answered: VecDeque::new(),
            client: None,
            server: None,
        }
    }

    pub fn push(&mut self, frame: &Frame) {
        let last = last_observation(&frame.tables);
        match frame.point {
            ObservationPoint::Client => self.client = self.client.max(last),
            ObservationPoint::Server => self.server = self.server.max(last),
        }
        for (flow, at, octets) in self.arrivals.readings(frame) {
            self.octets.entry(flow).or_default().push_back((at, octets));
        }
        if frame.point == ObservationPoint::Client {
            let (_, answers) = self.waiting.take_in(&frame.tables);
            self.answered.extend(answers);
        }
        self.forget();
    }

    /// Drops what no later snapshot can need.
    fn forget(&mut self) {
        for (flow, readings) in &mut self.octets {
            let now = match self.arrivals.counted_at(*flow) {
                Some(ObservationPoint::Client) => self.client,
                _ => self.server,
            };
            let Some(now) = now else { continue };
            // The last reading before the stretch stays, to interpolate from.
            while readings.get(1).is_some_and(|(at, _)| *at < now - KEPT) {
                readings.pop_front();
            }
        }
        let Some(now) = self.client else { return };
        self.answered.retain(|answer| answer.received >= now - KEPT);
        self.waiting.give_up(now - KEPT);
    }

    /// The last full second.
    pub fn snapshot(&self) -> LiveSnapshot {
        let rate = |direction| match receiver(direction) {
            ObservationPoint::Client => self.rate(direction, self.client),
            ObservationPoint::Server => self.rate(direction, self.server),
        };
        let mut snapshot =
            LiveSnapshot { up: rate(Direction::Up), down: rate(Direction::Down), ..LiveSnapshot::default() };
        if let Some(second) = self.client.map(last_full_second) {
            let inside = self.answered.iter().filter(|answer| second.contains(answer.received));
            let pooled = inside.filter(|answer| self.waiting.is_pooled(answer.flow));
            let mut delays: Vec<Delay> = pooled.map(|answer| answer.delay).collect();
            delays.sort_unstable();
            snapshot.delay = percentile(&delays, 0, 500);
            let given_up = self.waiting.sent().filter(|sent| second.contains(self.waiting.given_up(**sent)));
            snapshot.lost_last_second = given_up.count() as u64;
        }
        snapshot
    }

    fn rate(&self, direction: Direction, now: Option<TestTime>) -> Option<BitRate> {
        let Some(now) = now else { return Some(BitRate(0)) };
        if self.client.max(self.server) > Some(now + STALE) {
            return None;
        }
        let second = last_full_second(now);
        let flows = self.octets.iter().filter(|(flow, _)| self.arrivals.direction(**flow) == Some(direction));
        let octets: f64 = flows
            .map(|(_, readings)| {
                let counter = Counter::new(readings.iter().copied().collect());
                counter.at(second.to) - counter.at(second.from)
            })
            .sum();
        Some(ByteCount(octets.round() as u64).per(SECOND))
    }
}

/// The last whole second of the test's clock that is over at `now`.
fn last_full_second(now: TestTime) -> Window {
    let to = TestTime(now.0.div_euclid(1_000_000_000).saturating_mul(1_000_000_000));
    Window { from: to - SECOND, to }
}

/// The flows that load the line.
fn load(header: &Header) -> impl Iterator<Item = &FlowSpec> {
    header.flows.iter().filter(|flow| flow.is_load_stream())
}

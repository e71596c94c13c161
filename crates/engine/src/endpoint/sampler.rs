//! The sampler: one thread an end that reads the counters of every connection, and of the host, while the test runs.
//!
//! Load is read on the plan's grid. Connections that carry little are read once a second: what they do is reported
//! elsewhere, and only their segments are to be counted.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::{ClockSample, OctetsReceived};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::ByteCount;

use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock, wall_now};
use crate::endpoint::test_course::TestCourse;
use crate::host_health::HostHealth;
use crate::observer::{ObservationSink, Observer};
use crate::{scheduling, tcp_info};

/// Host counters, and connections that carry little, are read this often.
pub(crate) const SLOW_INTERVAL: i64 = 1_000_000_000;

/// After the end of a stream that loads, its receiver is read this often until the stream ends: how long a queue takes to
/// drain is to be known to a few milliseconds.
const DRAIN_INTERVAL: i64 = 5_000_000;

/// For at most this long.
const DRAINING: Duration = Duration::from_secs(1);

/// Seconds between two collections, and twice over.
const SECONDS: f64 = 3.0;

/// Streams under observation.
#[derive(Debug)]
pub struct Sampler {
    interval: Duration,
    streams: Mutex<Vec<Sampled>>,
}

#[derive(Debug)]
struct Sampled {
    flow: FlowId,
    window: Window,
    /// `None` for a flow of many streams, each of which has its own rows.
    stream: Option<Arc<TcpStream>>,
    received: Option<Arc<AtomicU64>>,
    pace: Pace,
}

/// How often a connection is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Grid,
    /// Once a second.
    Slow,
}

impl Sampled {
    /// Whether what its sender had sent by the end of its window may still arrive.
    fn is_draining(&self, course: &TestCourse, now: TestTime) -> bool {
        let ended = course.ends(self.window.to);
        self.received.is_some() && now >= ended && now < ended + DRAINING
    }

    /// Rows of so many readings of the grid, and of those while the stream drains.
    fn rows(&self, readings: usize) -> usize {
        let draining = DRAINING.as_nanos() as usize / DRAIN_INTERVAL as usize;
        match (self.pace, self.received.is_some()) {
            (Pace::Slow, _) => SECONDS.ceil() as usize + 1,
            (Pace::Grid, false) => readings,
            (Pace::Grid, true) => 2 * (readings + draining),
        }
    }

    fn sample(&self, clock: TestClock, sink: &mut ObservationSink<'_>) {
        if let Some(received) = &self.received {
            let octets = ByteCount(received.load(Ordering::Relaxed));
            sink.note(OctetsReceived { flow: self.flow, at: clock.now(), octets });
        }
        let read = |stream: &Arc<TcpStream>| tcp_info::read(&**stream, self.flow, clock.now());
        if let Some(row) = self.stream.as_ref().and_then(read) {
            sink.note(row);
        }
    }
}

/// The wall clock less the raw clock when a test began to be sampled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallReference(i64);

impl WallReference {
    /// As it is now.
    pub(crate) fn new() -> Self {
        Self(WallClock::new().raw(0).since(RawTime(0)).saturating_neg())
    }

    /// What the wall clock shows at a time of the test, as if it and the raw clock had begun together.
    pub(crate) fn sample(self, wall: i64, at: TestTime, clock: TestClock) -> ClockSample {
        ClockSample { at, realtime: wall - self.0 - clock.origin.0 }
    }
}

impl Sampler {
    /// A sampler that reads this often.
    pub fn new(interval: Duration) -> Self {
        Self { interval, streams: Mutex::default() }
    }

    /// How often it reads.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Observes a stream, and at its receiver the count of bytes.
    pub fn watch(&self, flow: FlowId, window: Window, stream: &Arc<TcpStream>, received: Option<&Arc<AtomicU64>>) {
        let (stream, received) = (Some(Arc::clone(stream)), received.cloned());
        self.add(Sampled { flow, window, stream, received, pace: Pace::Grid });
    }

    /// Returns the count of bytes that the streams of one flow receive together; it is read as that of one stream is.
    pub fn count(&self, flow: FlowId, window: Window) -> Arc<AtomicU64> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let known = streams.iter().filter(|sampled| sampled.flow == flow).find_map(|sampled| sampled.received.clone());
        known.unwrap_or_else(|| {
            let received = Arc::default();
            let counted = Some(Arc::clone(&received));
            streams.push(Sampled { flow, window, stream: None, received: counted, pace: Pace::Grid });
            received
        })
    }

    /// Observes a connection that carries little.
    pub fn watch_slowly(&self, flow: FlowId, window: Window, stream: &Arc<TcpStream>) {
        self.add(Sampled { flow, window, stream: Some(Arc::clone(stream)), received: None, pace: Pace::Slow });
    }

    fn add(&self, sampled: Sampled) {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(sampled);
    }

    /// Room for the rows of each stream and one of the clock at each reading, and for the host's rows.
    fn rows_between_collections(&self, health: &HostHealth) -> usize {
        let readings = (SECONDS / self.interval.as_secs_f64().max(1e-3)).ceil() as usize;
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let rows: usize = streams.iter().map(|sampled| sampled.rows(readings)).sum();
        rows + readings + health.rows_in(SECONDS)
    }

    /// Reads the receivers whose queues drain; whether any exists.
    fn read_draining(&self, course: &TestCourse, clock: TestClock, sink: &mut ObservationSink<'_>) -> bool {
        let now = clock.now();
        let mut any = false;
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for sampled in streams.iter().filter(|sampled| sampled.is_draining(course, now)) {
            sampled.sample(clock, sink);
            any = true;
        }
        any
    }

    /// Reads a stream a last time and lets it go, so that its owner can close it.
    pub fn finish(&self, course: &TestCourse, observer: &Observer, flow: FlowId) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = streams.iter().position(|sampled| sampled.flow == flow) {
            let sampled = streams.swap_remove(place);
            if let Some(clock) = course.clock() {
                sampled.sample(clock, &mut observer.sink(4));
            }
        }
    }

    /// Reads on a grid from T0, and a little before, until the test time `until`. Runs on a thread of its own.
    pub fn run(&self, course: &TestCourse, observer: &Observer, host: &HostHealth, until: TestTime) {
        let Some(clock) = course.wait_for_begin() else { return };
        scheduling::prompt_timers();
        let mut sink = observer.sink(self.rows_between_collections(host));
        let mut health = host.reader();
        let wall = WallReference::new();
        let interval = i64::try_from(self.interval.as_nanos()).unwrap_or(100_000_000);
        let first = clock.now().0.div_euclid(interval);
        let mut slow_due = i64::MIN;
        let mut draining = false;
        for tick in first.. {
            let due = TestTime(tick.saturating_mul(interval));
            while draining {
                let next = clock.now().0.div_euclid(DRAIN_INTERVAL).saturating_add(1).saturating_mul(DRAIN_INTERVAL);
                if next >= due.0 {
                    break;
                }
                if !course.sleep_until(clock, TestTime(next)) {
                    return;
                }
                draining = self.read_draining(course, clock, &mut sink);
            }
            if due > until || !course.sleep_until(clock, due) {
                return;
            }
            let now = clock.now();
            if now.0 > due.0 + interval {
                continue;
            }
            let slow = now.0 >= slow_due;
            if slow {
                slow_due = now.0.div_euclid(SLOW_INTERVAL).saturating_add(1).saturating_mul(SLOW_INTERVAL);
            }
            let near = Window { from: now - self.interval, to: now + self.interval };
            for sampled in self.streams.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let watched = Window { from: sampled.window.from, to: sampled.window.to + DRAINING };
                if watched.overlaps(&near) && (slow || sampled.pace == Pace::Grid) {
                    sampled.sample(clock, &mut sink);
                }
                draining |= sampled.is_draining(course, now);
            }
            sink.note(wall.sample(wall_now(), clock.now(), clock));
            if slow {
                health.each_second(clock, |row| sink.note(row));
            }
            health.often(clock, |row| sink.note(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::host_clock::HostClock;
    use rrul_model::observation::ObservationPoint;

    #[test]
    fn the_streams_of_one_flow_are_counted_together() {
        let sampler = Sampler::new(Duration::from_millis(100));
        let window = Window { from: TestTime(0), to: TestTime(10) };
        for octets in [3, 4] {
            sampler.count(FlowId(7), window).fetch_add(octets, Ordering::Relaxed);
        }
        sampler.count(FlowId(8), window).fetch_add(1, Ordering::Relaxed);
        let course = TestCourse::new(TestTime(10));
        let clock = TestClock { origin: RawTime(0), host: HostClock::TRUE };
        course.begin(clock, 0);
        let observer = Observer::new(ObservationPoint::Server);
        sampler.finish(&course, &observer, FlowId(7));
        let frames = observer.collect(clock);
        let rows: Vec<_> = frames[0].tables.octets_received.rows().map(|row| (row.flow.0, row.octets.0)).collect();
        assert_eq!((rows, frames[0].tables.tcp_info.len()), (vec![(7, 7)], 0));
    }
}

//! Watches the round trip after the load, and says when it is back at what it was on the idle line.
//!
//! Delay by direction is read from a line that is idle before the load and after it, so phase `after` lasts until the queues
//! have drained and a little longer. Whether they have is seen here while the test runs; every figure of the result is
//! computed later from the recording.

use std::collections::HashMap;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::{LoadEnd, Phase, PhaseWindow};
use rrul_model::recording::Frame;
use rrul_model::time::{TestTime, Window};

/// The round trip is to be back for this long: the drift of the clocks is read from that stretch.
const BACK_FOR: i64 = 3;
const SECOND: Duration = Duration::from_secs(1);

/// How far above the idle line it may be.
const MARGIN: i64 = 2_000_000;

/// Fewer answers in a second say nothing of it.
const LEAST_ANSWERS: usize = 3;

/// A frame contains what was observed until it was collected: answers of the last moments are missing.
const COLLECTING: Duration = Duration::from_millis(300);

/// What is known of the round trip, from the frames of the client.
pub(super) struct DrainWatch {
    idle: Window,
    after: Window,
    /// Phase `after` lasts at least until then.
    least: TestTime,
    sent: HashMap<(FlowId, u32), TestTime>,
    idle_trips: Vec<i64>,
    /// Round trips of packets sent in phase `after`, by the second in which each was sent.
    seconds: Vec<Vec<i64>>,
}

impl DrainWatch {
    /// A watch over these phases, of which the last lasts at least `least`; `None` where it has a fixed length or no
    /// idle line to compare with exists.
    pub(super) fn new(phases: &[PhaseWindow], least: Duration) -> Option<Self> {
        let of = |phase| phases.iter().find(|entry| entry.phase == phase).map(|entry| entry.window);
        let (idle, after) = (of(Phase::Idle)?, of(Phase::After)?);
        let loaded = phases.iter().any(|entry| entry.phase.is_loaded());
        (loaded && least < after.length()).then(|| Self {
            idle,
            after,
            least: after.from + least,
            sent: HashMap::new(),
            idle_trips: Vec::new(),
            seconds: Vec::new(),
        })
    }

    /// Phase `after` begins earlier than planned, as the load has ended.
    pub(super) fn load_ended(&mut self, end: LoadEnd) {
        self.after = Window { from: end.moved(self.after.from), to: end.moved(self.after.to) };
        self.least = end.moved(self.least);
    }

    /// Reads what the client observed of test packets and echoes.
    pub(super) fn read(&mut self, frame: &Frame) {
        if frame.point != ObservationPoint::Client {
            return;
        }
        let tables = &frame.tables;
        for row in tables.probe_sent.rows() {
            if self.idle.contains(row.sent) || self.after.contains(row.sent) {
                self.sent.insert((row.flow, row.sequence), row.sent);
            }
        }
        for row in tables.probe_received.rows() {
            let held = row.reflector_sent.since(row.reflector_received).0;
            self.answered(row.flow, row.sequence, row.received, held);
        }
        for row in tables.echo_received.rows() {
            self.answered(row.flow, row.sequence, row.received, 0);
        }
    }

    fn answered(&mut self, flow: FlowId, sequence: u32, received: TestTime, held: i64) {
        let Some(sent) = self.sent.remove(&(flow, sequence)) else { return };
        let trip = received.since(sent).0 - held;
        if self.idle.contains(sent) {
            self.idle_trips.push(trip);
            return;
        }
        let second = (sent.since(self.after.from).0 / SECOND.as_nanos() as i64).max(0) as usize;
        if self.seconds.len() <= second {
            self.seconds.resize_with(second + 1, Vec::new);
        }
        self.seconds[second].push(trip);
    }

    /// Whether phase `after` may end: its least time is over, and in each of the last seconds that are wholly observed
    /// half of the packets were as quick as 19 of 20 were on the idle line, give or take 2 ms.
    pub(super) fn is_drained(&mut self, now: TestTime) -> bool {
        if now < self.least {
            return false;
        }
        let Some(idle) = quantile(&mut self.idle_trips, 0.95) else { return true };
        let whole = (now - COLLECTING).since(self.after.from).0 / SECOND.as_nanos() as i64;
        (whole - BACK_FOR..whole).all(|second| {
            let trips = usize::try_from(second).ok().and_then(|second| self.seconds.get_mut(second));
            let back = |trips: &mut Vec<i64>| quantile(trips, 0.5).is_some_and(|median| median <= idle + MARGIN);
            trips.is_some_and(|trips| trips.len() >= LEAST_ANSWERS && back(trips))
        })
    }
}

fn quantile(values: &mut [i64], share: f64) -> Option<i64> {
    let place = (values.len() as f64 * share) as usize;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place.min(values.len() - 1)).1)
}

#[cfg(test)]
mod tests {
    use rrul_model::observation::{ProbeReceived, ProbeSent, Tables};

    use super::*;

    const MS: i64 = 1_000_000;

    fn at(ms: i64) -> TestTime {
        TestTime(ms * MS)
    }

    fn phases() -> Vec<PhaseWindow> {
        [(Phase::Idle, 0, 5_000), (Phase::Load, 5_000, 10_000), (Phase::After, 10_000, 30_000)]
            .map(|(phase, from, to)| PhaseWindow { phase, window: Window { from: at(from), to: at(to) } })
            .to_vec()
    }

    /// The first moment at which a line that takes this long for a packet sent then is taken to be drained, ms.
    fn drained(trip: impl Fn(i64) -> i64) -> Option<i64> {
        let mut watch = DrainWatch::new(&phases(), Duration::from_secs(5)).unwrap();
        for second in 0..30 {
            let mut tables = Tables::default();
            for (sequence, sent) in (0..).zip((second * 1000..(second + 1) * 1000).step_by(20)) {
                let sequence = sequence + 50 * second as u32;
                let nothing = TestTime::ZERO;
                tables.push(ProbeSent { flow: FlowId(0), sequence, scheduled: at(sent), sent: at(sent) }.into());
                let received = at(sent + trip(sent));
                let row = ProbeReceived {
                    flow: FlowId(0),
                    sequence,
                    received,
                    read: received,
                    reflector_received: nothing,
                    reflector_sent: nothing,
                    reflector_octet: 0,
                    octet: 0,
                    reflector_count: 0,
                };
                tables.push(row.into());
            }
            let frame = Frame { point: ObservationPoint::Client, number: 0, dropped: 0, tables, events: Vec::new() };
            watch.read(&frame);
            let now = (second + 1) * 1000;
            if now >= 10_000 && watch.is_drained(at(now)) {
                return Some(now);
            }
        }
        None
    }

    #[test]
    fn a_line_without_a_queue_is_done_at_once_and_a_bloated_one_three_seconds_after_it_drained() {
        assert_eq!(drained(|_| 30), Some(15_000));
        // 400 ms of queue that drain within 4 s: seconds 4, 5 and 6 are wholly back.
        let draining = |sent: i64| 30 + ((14_000 - sent) / 10).clamp(0, 400);
        let bloated = |sent: i64| if sent < 5_000 { 30 } else { draining(sent) };
        assert_eq!(drained(bloated), Some(18_000));
        assert_eq!(drained(|sent| if sent < 5_000 { 30 } else { 90 }), None, "never back");
    }

    #[test]
    fn a_fixed_length_and_a_plan_without_load_are_not_watched() {
        assert!(DrainWatch::new(&phases(), Duration::from_secs(20)).is_none());
        assert!(DrainWatch::new(&phases()[..1], Duration::ZERO).is_none());
    }
}

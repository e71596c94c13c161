//! What the server reports of a test: observations while it runs, and the state of its host.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use rrul_model::environment::HostState;
use rrul_model::flow::FlowId;
use rrul_model::frame::Frame;
use rrul_model::observation::{Observation, PacketReceived, SocketDrops};
use rrul_model::time::TestTime;
use rrul_proto::admission::session_lease::SILENCE_TIME;
use rrul_proto::arrival_log::LoggedArrival;
use rrul_proto::control::{ControlError, ServerMessage};
use rrul_proto::limits::OBSERVATIONS_WAITING;

use super::session::Session;
use super::traffic::TrafficMeter;
use crate::clock::test_clock::TestClock;
use crate::control_link::{self, Compression, ControlStream, LinkError, Outbox};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::{FRAME_INTERVAL, PATIENCE};

/// How often what was observed is sent where counters are read no more often than once a second: who watches a line for months pays for every frame.
const SLOW_FRAME_INTERVAL: Duration = Duration::from_secs(5);

/// How long after the last phase test packets are still noted, unless the client says sooner that it waits for none:
/// longer than a client waits for a reply.
pub(super) const LISTENING: Duration = Duration::from_secs(4);

/// What is reported of a running test, from one time to the next.
pub(super) struct Reports<'a> {
    clock: TestClock,
    /// T0 on the session clock.
    origin: i64,
    unsent: Unsent,
    meter: TrafficMeter<'a>,
}

impl<'a> Reports<'a> {
    /// Of a test that has reported nothing.
    pub(super) fn new(clock: TestClock, origin: i64, meter: TrafficMeter<'a>) -> Self {
        Self { clock, origin, unsent: Unsent::default(), meter }
    }

    /// Makes frames of what was observed since the last time, of these arrivals and of what was noted elsewhere. Ends a test that may
    /// not go on after so many bytes.
    pub(super) fn collect(
        &mut self,
        (session, end): (&Session, &Endpoint),
        arrivals: impl Iterator<Item = LoggedArrival>,
        noted: impl Iterator<Item = Observation>,
        may_go_on: impl Fn(u64) -> bool,
    ) -> Vec<Frame> {
        let (clock, origin) = (self.clock, self.origin);
        let arrived = arrivals.map(|arrival| {
            Observation::PacketReceived(PacketReceived {
                flow: FlowId(arrival.flow),
                sequence: arrival.sequence,
                received: TestTime(arrival.received.saturating_sub(origin)),
                octet: arrival.octet,
            })
        });
        let unsent = self.unsent.rows(session.unsent(), clock.now());
        let others = self.meter.others(clock.now());
        let frames = end.observer.collect_with(clock, arrived.chain(unsent).chain(noted).chain([others]));
        if !may_go_on(self.meter.count(&session.moved, &frames)) {
            end.stop();
        }
        frames
    }
}

/// How often what was observed of a test of probes alone is sent.
pub(super) fn frame_interval(end: &Endpoint) -> Duration {
    if end.sample_interval() < Duration::from_secs(1) { FRAME_INTERVAL } else { SLOW_FRAME_INTERVAL }
}

/// Where reports wait while the load starves the control connection. How long they do is for the session's lease.
pub(super) fn outbox() -> Outbox {
    Outbox::new(OBSERVATIONS_WAITING, Duration::MAX)
}

/// Sends what is observed, again and again, and at the end. What a starved connection does not take waits.
pub(super) fn report(
    (out, outbox): (&ControlStream, &mut Outbox),
    session: &Session,
    end: &Endpoint,
    clock: TestClock,
    may_go_on: impl Fn(u64) -> bool,
    mut reports: Reports<'_>,
) -> Result<(), LinkError> {
    let until = end.length() + LISTENING;
    let mut arrivals = session.reflector().arrivals.like();
    let mut due = clock.now();
    loop {
        due = (due + FRAME_INTERVAL).min(until);
        let going_on = end.sleep_until(clock, due);
        if !going_on {
            // Threads notice the stop within their patience; what they note last belongs in the last frame.
            std::thread::sleep(PATIENCE);
        }
        session.reflector().arrivals.exchange(&mut arrivals);
        end.observer.dropped(arrivals.take_dropped());
        for frame in reports.collect((session, end), arrivals.drain(), std::iter::empty(), &may_go_on) {
            outbox.post(out, &ServerMessage::Observed(Box::new(frame)))?;
        }
        outbox.flush(out)?;
        if !going_on || due >= until {
            return Ok(());
        }
    }
}

/// Replies that this host had no room for, as the packets that a socket has dropped.
#[derive(Default)]
struct Unsent(BTreeMap<u16, u32>);

impl Unsent {
    /// Rows of the flows whose count has grown; the first says that it was 0.
    fn rows(&mut self, counts: BTreeMap<u16, u32>, at: TestTime) -> Vec<Observation> {
        let mut rows = Vec::new();
        for (flow, dropped) in counts {
            let before = self.0.insert(flow, dropped);
            let row = |at, dropped| Observation::from(SocketDrops { flow: FlowId(flow), at, dropped });
            if before.is_none() {
                rows.push(row(TestTime::ZERO, 0));
            }
            if before != Some(dropped) {
                rows.push(row(at, dropped));
            }
        }
        rows
    }
}

/// Says something with the host's state in it, or without where that is too long for a frame.
pub(super) fn send_with_state(
    mut send: impl FnMut(&ServerMessage) -> Result<(), LinkError>,
    state: HostState,
    message: impl Fn(Option<Box<HostState>>) -> ServerMessage,
) -> Result<(), LinkError> {
    match send(&message(Some(Box::new(state)))) {
        Err(LinkError::Message(ControlError::TooLong(_))) => send(&message(None)),
        other => other,
    }
}

/// Says something, within the time that a client may be silent.
pub(super) fn send(stream: &ControlStream, message: &ServerMessage) -> Result<(), LinkError> {
    let deadline = Instant::now() + SILENCE_TIME;
    control_link::write(&mut WriteUntil { stream, deadline }, message, Compression::Allowed)
}

/// Writes before a deadline, however little the other end takes at a time.
struct WriteUntil<'a> {
    stream: &'a ControlStream,
    deadline: Instant,
}

impl Write for WriteUntil<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.stream.write_until(octets, Some(self.deadline)).map(|()| octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_that_did_not_leave_are_counted_from_none() {
        let mut unsent = Unsent::default();
        assert_eq!(unsent.rows(BTreeMap::new(), TestTime(5)), []);
        let row = |at, dropped| Observation::from(SocketDrops { flow: FlowId(7), at: TestTime(at), dropped });
        assert_eq!(unsent.rows([(7, 3)].into(), TestTime(5)), [row(0, 0), row(5, 3)]);
        assert_eq!(unsent.rows([(7, 3)].into(), TestTime(6)), []);
        assert_eq!(unsent.rows([(7, 4)].into(), TestTime(7)), [row(7, 4)]);
    }
}

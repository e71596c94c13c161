//! What the server reports of a test: observations while it runs, and the state of its host.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::{Duration, Instant};

use rrul_model::environment::HostState;
use rrul_model::flow::FlowId;
use rrul_model::frame::Frame;
use rrul_model::observation::{Observation, PacketReceived, SocketDrops};
use rrul_model::time::TestTime;
use rrul_proto::admission::session_lease::SILENCE_TIME;
use rrul_proto::control::{ControlError, ServerMessage};

use super::session::Session;
use super::traffic::TrafficMeter;
use crate::clock::test_clock::TestClock;
use crate::control_link::{self, Compression, ControlStream, LinkError};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;

/// How often what was observed is sent.
const FRAME_INTERVAL: Duration = Duration::from_secs(1);

/// How long after the last phase test packets are still noted, unless the client says sooner that it waits for none:
/// longer than a client waits for a reply.
const LISTENING: Duration = Duration::from_secs(4);

/// Sends what is observed, once a second and at the end.
pub(super) fn report(
    out: &ControlStream,
    session: &Session,
    end: &Endpoint,
    clock: TestClock,
    origin: i64,
    may_go_on: impl Fn(u64) -> bool,
    mut meter: TrafficMeter<'_>,
) -> Result<(), LinkError> {
    let mut moved = MovedOctets::default();
    let until = end.length() + LISTENING;
    let mut arrivals = session.reflector().arrivals.like();
    let mut due = clock.now();
    let mut unsent = Unsent::default();
    loop {
        due = (due + FRAME_INTERVAL).min(until);
        let going_on = end.sleep_until(clock, due);
        if !going_on {
            // Threads notice the stop within their patience; what they note last belongs in the last frame.
            std::thread::sleep(PATIENCE);
        }
        session.reflector().arrivals.exchange(&mut arrivals);
        end.observer.dropped(arrivals.take_dropped());
        let arrived = arrivals.drain().map(|arrival| {
            Observation::PacketReceived(PacketReceived {
                flow: FlowId(arrival.flow),
                sequence: arrival.sequence,
                received: TestTime(arrival.received.saturating_sub(origin)),
                octet: arrival.octet,
            })
        });
        let unsent = unsent.rows(session.unsent(), clock.now());
        let others = meter.others(clock.now());
        for frame in end.observer.collect_with(clock, arrived.chain(unsent).chain([others])) {
            meter.count(&frame);
            session.has_moved(meter.moved());
            if !may_go_on(moved.take(&frame)) {
                end.stop();
            }
            send(out, &ServerMessage::Observed(Box::new(frame)))?;
        }
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

/// Bytes that the streams of a test have moved in both directions, as this host's kernel counts them.
#[derive(Debug, Default)]
struct MovedOctets(HashMap<FlowId, u64>);

impl MovedOctets {
    /// Those of this frame that were not in one before.
    fn take(&mut self, frame: &Frame) -> u64 {
        let mut new = 0_u64;
        for row in frame.tables.tcp_info.rows() {
            let counted = row.bytes_sent.saturating_add(row.bytes_received);
            let before = self.0.entry(row.flow).or_insert(0);
            new = new.saturating_add(counted.saturating_sub(*before));
            *before = counted.max(*before);
        }
        new
    }
}

/// Says something with the host's state in it, or without where that is too long for a frame.
pub(super) fn send_with_state(
    stream: &ControlStream,
    state: HostState,
    message: impl Fn(Option<Box<HostState>>) -> ServerMessage,
) -> Result<(), LinkError> {
    match send(stream, &message(Some(Box::new(state)))) {
        Err(LinkError::Message(ControlError::TooLong(_))) => send(stream, &message(None)),
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

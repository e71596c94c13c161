//! Sending one-way flows: the loop that both ends run, at real-time priority where allowed.
//!
//! It sleeps until something is due and sends that. A packet that is late by more than its interval, and a millisecond, is
//! left out: sent in a burst with others it would measure them and not the path.

use std::time::Duration;

use rrul_model::flow::{FlowSpec, ParameterKind, ParameterWord};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{ProbeSent, ProbesSkipped};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::turns::turns_of;
use rrul_model::units::ByteCount;
use rrul_proto::one_way_packet::LEAST_OCTETS;
use rrul_proto::one_way_sender::OneWaySender;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::schedule::periodic_schedule::PeriodicSchedule;

use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::observer::ObservationSink;
use crate::scheduling;

/// One voice frame: 10 ms.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);
/// More often than this nothing is sent, whatever a stranger asks for; a flood, which the server must allow, may be faster.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
pub(crate) const SHORTEST_INTERVAL_OF_FLOOD: Duration = Duration::from_micros(125);
/// What is late by less is sent at once, also where the interval is shorter: threads do not wake more exactly.
const CATCHING_UP: Duration = Duration::from_millis(1);
/// 10 ms of G.711 (80 bytes) behind an RTP header (12).
const DEFAULT_OCTETS: u64 = 92;
const MOST_OCTETS: u64 = 1400;

/// How often: a parameter of every one-way flow.
pub(crate) const INTERVAL: ParameterWord = ParameterWord {
    name: "interval",
    kind: ParameterKind::Duration,
    about: "one packet in each, evenly; default 10ms, least 1ms",
};

/// How long: a parameter of every one-way flow.
pub(crate) const LENGTH: ParameterWord = ParameterWord {
    name: "length",
    kind: ParameterKind::Size,
    about: "UDP payload; default 92B (10 ms of G.711 and an RTP header), least 32B, most 1400B",
};

/// Bytes of UDP payload of each packet of a flow.
pub(crate) fn length(spec: &FlowSpec) -> usize {
    spec.parameters.size("length", ByteCount(DEFAULT_OCTETS)).0.clamp(LEAST_OCTETS as u64, MOST_OCTETS) as usize
}

/// How often a flow sends.
pub(crate) fn interval(spec: &FlowSpec) -> Duration {
    let shortest = if spec.kind() == FlowKind::UdpFlood { SHORTEST_INTERVAL_OF_FLOOD } else { SHORTEST_INTERVAL };
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(shortest)
}

/// Where a packet leaves through.
pub(crate) trait Outlet {
    /// Whether one more may leave now.
    fn grants(&mut self) -> bool {
        true
    }
    /// Hands a packet to the kernel; `false` when this host had no room for it, so that it never left. One that fails
    /// otherwise counts as sent, and lost.
    fn send(&mut self, packet: &[u8], row: &ProbeSent) -> bool;
    /// Notes what the kernel has reported of earlier packets.
    fn read_stamps(&mut self, _clock: TestClock, _notebook: &mut ObservationSink<'_>) {}
}

/// One flow, and the packet to fill.
pub(crate) struct OneWayFlow<O> {
    sender: OneWaySender,
    /// When it was planned to end.
    ends: TestTime,
    interval: Duration,
    packet: Vec<u8>,
    outlet: O,
}

impl<O: Outlet> OneWayFlow<O> {
    /// The flow at this place among all that one thread sends: their packets leave evenly spread over the interval.
    pub(crate) fn new(spec: &FlowSpec, seal: impl Into<PacketSeal>, (place, all): (usize, usize), outlet: O) -> Self {
        let interval = interval(spec);
        let phase = interval.mul_f64(place as f64 / all.max(1) as f64);
        let schedule = PeriodicSchedule::new(spec.window, interval, phase, turns_of(spec));
        let sender = OneWaySender::new(spec.id, seal, spec.class.octet(), schedule);
        let mut packet = vec![0; length(spec)];
        Random(u64::from(spec.id.0)).fill(&mut packet);
        Self { sender, ends: spec.window.to, interval, packet, outlet }
    }

    /// When the next packet is due; `None` when the flow has sent all, or its load has ended.
    fn due(&self, end: &Endpoint) -> Option<TestTime> {
        self.sender.due().filter(|due| *due < end.ends(self.ends))
    }

    /// Sends what is due, or leaves it out.
    fn send_due(&mut self, end: &Endpoint, clock: TestClock, sink: &mut ObservationSink<'_>) {
        while let Some(due) = self.due(end) {
            let now = clock.now();
            if due > now {
                return;
            }
            let until = now - self.interval.max(CATCHING_UP);
            let skipped = if due < until {
                self.sender.skip_before(until)
            } else if self.outlet.grants() {
                let Some(row) = self.sender.send(now, &mut self.packet) else { return };
                if self.outlet.send(&self.packet, &row) {
                    sink.note(row);
                    0
                } else {
                    // This host's loss, not the network's.
                    1
                }
            } else {
                self.sender.skip_before(TestTime(due.0.saturating_add(1)))
            };
            if skipped > 0 {
                sink.note(ProbesSkipped { flow: self.sender.flow(), at: now, count: skipped });
            }
        }
    }
}

/// Sends until every flow has sent all, and hands the outlets back. A thread of its own runs it.
pub(crate) fn run<O: Outlet>(end: &Endpoint, clock: TestClock, mut flows: Vec<OneWayFlow<O>>) -> Vec<O> {
    // Without the right to it the schedule is kept less well, which every packet's lateness shows.
    let _ = scheduling::run_as_probe();
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(rows_between_collections(&flows));
    while let Some(due) = flows.iter().filter_map(|flow| flow.due(end)).min() {
        if !end.sleep_until(clock, due) {
            break;
        }
        for flow in &mut flows {
            flow.send_due(end, clock, &mut sink);
            flow.outlet.read_stamps(clock, &mut sink);
        }
    }
    // The last packets' stamps come a moment after they have left.
    std::thread::sleep(PATIENCE);
    for flow in &mut flows {
        flow.outlet.read_stamps(clock, &mut sink);
    }
    flows.into_iter().map(|flow| flow.outlet).collect()
}

/// Room for what these flows note between two collections, and twice that: none of it may be lost.
fn rows_between_collections<O>(flows: &[OneWayFlow<O>]) -> usize {
    const ROWS_A_PACKET: usize = 2;
    packets_between_collections(flows.iter().map(|flow| flow.interval)) * ROWS_A_PACKET
}

/// Packets that flows of these intervals send between two collections, and three times that.
pub(crate) fn packets_between_collections(intervals: impl Iterator<Item = Duration>) -> usize {
    const SECONDS: f64 = 3.0;
    let packets: f64 = intervals.map(|interval| SECONDS / interval.as_secs_f64()).sum();
    packets as usize + 128
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::observation::ObservationPoint;
    use rrul_model::time::Window;
    use rrul_proto::token::Token;

    use crate::clock::RawTime;
    use crate::clock::host_clock::HostClock;

    /// Takes every other packet.
    struct Full(u32);

    impl Outlet for Full {
        fn send(&mut self, _packet: &[u8], _row: &ProbeSent) -> bool {
            self.0 += 1;
            self.0.is_multiple_of(2)
        }
    }

    #[test]
    fn a_packet_that_this_host_has_no_room_for_is_left_out_and_not_lost_on_the_line() {
        let end = Endpoint::new(ObservationPoint::Server, Duration::from_secs(1), TestTime(200_000_000));
        let clock = TestClock { origin: RawTime::now(), host: HostClock::TRUE };
        end.begin(clock, 0);
        let spec = FlowSpec {
            id: FlowId(3),
            name: "voip/BE/down/ipv4".to_owned(),
            flow_type: "voip".to_owned(),
            component: Component::Realtime,
            direction: Some(Direction::Down),
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(0), to: TestTime(200_000_000) },
            parameters: Parameters::default(),
        };
        let outlets = run(&end, clock, vec![OneWayFlow::new(&spec, Token::NONE, (0, 1), Full(0))]);
        let frames = end.observer.collect(clock);
        let sent: usize = frames.iter().map(|frame| frame.tables.probe_sent.len()).sum();
        let rows = frames.iter().flat_map(|frame| frame.tables.probes_skipped.rows());
        let skipped: u32 = rows.map(|row| row.count).sum();
        assert_eq!(sent as u32, outlets[0].0 / 2);
        assert_eq!(sent as u32 + skipped, 20, "10 ms from one to the next");
    }
}

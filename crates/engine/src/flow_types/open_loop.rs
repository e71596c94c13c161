//! The thread that sends and receives every open-loop probe of one flow type, at real-time priority where allowed.
//!
//! It sleeps until something arrives or something is due, reads arrivals with their kernel stamps, and sends what is
//! due. Delay is taken from stamps, so a late wake-up shows as lateness and never as delay.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowId, FlowSpec};
use rrul_model::observation::{Observation, PacketMarked, ProbeSent, ProbeStamped, ProbesSkipped};
use rrul_model::time::TestTime;
use rrul_proto::session_sender::Arrival;
use socket2::Socket;

use super::icmp_watch::IcmpWatch;
use super::parallel_setup;
use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::{PATIENCE, TestCourse};
use crate::flow_type::Initiation;
use crate::observer::ObservationSink;
use crate::scheduling;
use crate::socket::datagram::Aftermath;
use crate::socket::transmit_numbers::TransmitNumbers;
use crate::socket::{datagram, options, wait::WaitSet};

/// How long replies are waited for (RFC 7680: waiting time). A test ends when every packet of its last three seconds is
/// answered, or has been waited for as long: otherwise late losses would go unseen.
pub(crate) const WAITING: Duration = Duration::from_secs(3);

/// How long before a packet is due the thread wakes, to wait awake: longer than waking takes on a busy host, 99 times in
/// 100. At the default three flows it costs 3 % of one core.
const AWAKE: Duration = Duration::from_micros(200);

/// What a flow sends, and what it makes of a reply.
pub(super) trait Prober: Send {
    /// When the next packet is due; `None` when all are sent.
    fn due(&self) -> Option<TestTime>;
    /// Writes the packet that is due.
    fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent>;
    /// The marking of the packet that was written last, where it is not that of the socket.
    fn marking(&self) -> Option<(AddressFamily, u8)> {
        None
    }
    /// Leaves out what was due before; how many packets that is.
    fn skip_before(&mut self, now: TestTime) -> u32;
    /// Returns what has arrived; `None` when it answers no packet of this flow.
    fn receive(&mut self, octets: &[u8], arrival: Arrival) -> Option<Reply>;
}

/// A packet that has come back.
pub(super) struct Reply {
    /// The number of the packet that it answers.
    pub(super) sequence: u32,
    /// What is to be noted: the reply, and what it says of others.
    pub(super) observations: [Option<Observation>; 3],
}

/// One flow: its prober, its connected socket, and the packet to fill.
pub(super) struct ProbeFlow {
    pub(super) flow: FlowId,
    pub(super) interval: Duration,
    pub(super) socket: Socket,
    pub(super) packet: Vec<u8>,
    /// When it was planned to end.
    ends: TestTime,
    /// Made when T0 is known.
    pub(super) prober: Box<dyn Prober>,
    numbers: TransmitNumbers<u32>,
    unanswered: Unanswered,
    icmp: IcmpWatch,
}

impl AsFd for ProbeFlow {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Which of the latest packets are still without an answer.
struct Unanswered(Vec<Option<(u32, TestTime)>>);

impl Unanswered {
    /// For so many packets: as many as are sent within the waiting time.
    fn for_interval(interval: Duration) -> Self {
        let packets = WAITING.as_nanos() / interval.as_nanos().max(1) + 2;
        Self(vec![None; (packets as usize).min(1 << 16)])
    }

    fn place(&mut self, sequence: u32) -> &mut Option<(u32, TestTime)> {
        let places = self.0.len();
        &mut self.0[sequence as usize % places]
    }

    fn sent(&mut self, sequence: u32, at: TestTime) {
        *self.place(sequence) = Some((sequence, at));
    }

    fn answered(&mut self, sequence: u32) {
        let place = self.place(sequence);
        if place.is_some_and(|(waiting, _)| waiting == sequence) {
            *place = None;
        }
    }

    /// Whether one is still waited for.
    fn any(&self, now: TestTime) -> bool {
        self.0.iter().flatten().any(|(_, sent)| *sent + WAITING > now)
    }
}

impl ProbeFlow {
    pub(super) fn new(
        spec: &FlowSpec,
        interval: Duration,
        socket: Socket,
        packet: Vec<u8>,
        prober: Box<dyn Prober>,
    ) -> Self {
        let (flow, ends) = (spec.id, spec.window.to);
        let (numbers, unanswered) = (TransmitNumbers::default(), Unanswered::for_interval(interval));
        let icmp = IcmpWatch::new(flow, &socket);
        Self { flow, interval, socket, packet, ends, prober, numbers, unanswered, icmp }
    }

    /// When the next packet is due; `None` when the flow has sent all, or the test has been shortened.
    fn due(&self, course: &TestCourse) -> Option<TestTime> {
        self.prober.due().filter(|due| *due < course.asks_until(self.ends))
    }

    /// Sends every packet that is due.
    fn send_due(&mut self, course: &TestCourse, clock: TestClock, sink: &mut ObservationSink<'_>) {
        while let Some(due) = self.due(course) {
            let now = clock.now();
            if due > now {
                return;
            }
            if now.since(due).0 > i64::try_from(self.interval.as_nanos()).unwrap_or(i64::MAX) {
                let count = self.prober.skip_before(now - self.interval);
                sink.note(ProbesSkipped { flow: self.flow, at: now, count });
                continue;
            }
            let Some(sent) = self.prober.send(now, &mut self.packet) else { return };
            sink.note(sent);
            if let Some((_, octet)) = self.prober.marking() {
                sink.note(PacketMarked { flow: self.flow, sequence: sent.sequence, octet });
            }
            self.unanswered.sent(sent.sequence, sent.sent);
            if self.transmit().is_err() {
                // A connected socket reports what ICMP has said of an earlier packet instead of sending: ask once more.
                // The kernel may or may not have counted the attempt, so counting starts anew.
                self.restart_stamps();
                if self.transmit().is_err() {
                    // The packet counts as sent and lost.
                    self.restart_stamps();
                    continue;
                }
            }
            self.numbers.sent(sent.sequence);
        }
    }

    fn transmit(&self) -> std::io::Result<()> {
        match self.prober.marking() {
            None => datagram::send(&self.socket, &self.packet),
            Some((family, octet)) => datagram::send_marked(&self.socket, &self.packet, octet, family),
        }
    }

    fn restart_stamps(&mut self) {
        // If this fails, stamps are missing, and the program's own are used.
        let _ = options::stamp(&self.socket);
        self.numbers.restart();
    }

    /// Reads every stamp and every reply that has arrived.
    fn receive_all(&mut self, clock: TestClock, wall: &WallClock, octets: &mut [u8], sink: &mut ObservationSink<'_>) {
        while let Ok(Some(aftermath)) = datagram::receive_aftermath(&self.socket) {
            match aftermath {
                Aftermath::Left(stamp) => {
                    if let Some(&sequence) = self.numbers.find(stamp.number) {
                        let sent = clock.at(wall.raw(stamp.stamp));
                        sink.note(ProbeStamped { flow: self.flow, sequence, sent });
                    }
                }
                Aftermath::Icmp(report) => self.icmp.take(report, clock.now(), sink),
                Aftermath::Exceeds(_) => {}
            }
        }
        // An error here is what ICMP has said of an earlier packet (refused, unreachable): that packet shows as lost.
        while let Ok(Some(datagram)) = datagram::receive(&self.socket, octets) {
            let read = clock.now();
            let received = datagram.stamp.map_or(read, |stamp| clock.at(wall.raw(stamp)));
            let arrival = Arrival { received, read, octet: datagram.octet.unwrap_or(0) };
            let packet_octets = &octets[..datagram.length.min(octets.len())];
            if let Some(Reply { sequence, observations }) = self.prober.receive(packet_octets, arrival) {
                self.unanswered.answered(sequence);
                observations.into_iter().flatten().for_each(|observation| sink.note(observation));
            }
        }
    }
}

/// Starts the thread that serves all opened flows of one type; `make` builds each when T0 is known, on the server's
/// session clock. If no thread can be created, every flow has failed.
pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    opened: Vec<(FlowSpec, T)>,
    initiation: &Initiation,
    make: impl Fn(&FlowSpec, T, i64, &Initiation) -> ProbeFlow + Send + 'static,
) -> Vec<JoinHandle<()>> {
    let of_thread = initiation.clone();
    parallel_setup::spawn(name, parallel_setup::ids(&opened), initiation, move || {
        let end = &of_thread.end;
        let Some((clock, server_origin)) = end.wait_for_begin().zip(end.server_origin()) else { return };
        let flows = opened.into_iter().map(|(spec, socket)| make(&spec, socket, server_origin, &of_thread));
        run(end, clock, flows.collect());
    })
}

/// Sends and receives until every flow has sent all and waited for replies. The thread's whole life.
fn run(end: &Arc<Endpoint>, clock: TestClock, mut flows: Vec<ProbeFlow>) {
    // Awake before a packet is due only where that cannot be preempted: elsewhere it would burn time for nothing.
    let awake = match scheduling::run_as_probe() {
        Ok(()) => AWAKE,
        Err(_) => Duration::ZERO,
    };
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(rows_between_collections(&flows));
    let mut wall = WallClock::new();
    let mut octets = [0; 2048];
    let mut waiting = WaitSet::new(flows.iter());
    let watched = flows.iter().map(|flow| end.health.watch_while_kept(flow.flow, &flow.socket));
    let _watched: Vec<_> = watched.collect();
    for flow in &mut flows {
        // Greetings have used up numbers: begin at 0 with the first test packet.
        flow.restart_stamps();
    }
    while !end.is_stopped() {
        let now = clock.now();
        let due = flows.iter().filter_map(|flow| flow.due(end)).min();
        if due.is_none() && !flows.iter().any(|flow| flow.unanswered.any(now)) {
            break;
        }
        let patience = due.map_or(PATIENCE, |due| until_then(due, now).saturating_sub(awake).min(PATIENCE));
        waiting.wait_or_pause(patience);
        wall.refresh(RawTime::now());
        for (place, flow) in flows.iter_mut().enumerate() {
            if waiting.ready(place) {
                flow.receive_all(clock, &wall, &mut octets, &mut sink);
            }
        }
        if let Some(due) = due
            && until_then(due, clock.now()) <= awake
        {
            while clock.now() < due {
                std::hint::spin_loop();
            }
        }
        for flow in &mut flows {
            flow.send_due(end, clock, &mut sink);
        }
    }
    for flow in &mut flows {
        flow.icmp.finish(clock.now(), &mut sink);
    }
}

fn until_then(then: TestTime, now: TestTime) -> Duration {
    u64::try_from(then.since(now).0).map_or(Duration::ZERO, Duration::from_nanos)
}

/// Room for what these flows note between two collections, and twice that: none of it may be lost.
fn rows_between_collections(flows: &[ProbeFlow]) -> usize {
    const ROWS_A_PACKET: f64 = 6.0;
    const SECONDS: f64 = 3.0;
    let packets: f64 = flows.iter().map(|flow| SECONDS / flow.interval.as_secs_f64().max(1e-6)).sum();
    (packets * ROWS_A_PACKET) as usize + 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_waited_for_until_answered_or_three_seconds_old() {
        let second = |n: i64| TestTime(n * 1_000_000_000);
        let mut unanswered = Unanswered::for_interval(Duration::from_secs(1));
        for n in 0..10 {
            unanswered.sent(n as u32, second(n));
        }
        assert!(unanswered.any(second(11)), "the last is two seconds old");
        assert!(!unanswered.any(second(12)));
        for sequence in [7, 8, 9] {
            unanswered.answered(sequence);
        }
        assert!(!unanswered.any(second(9)), "older ones have been waited for");
        unanswered.answered(2);
    }
}

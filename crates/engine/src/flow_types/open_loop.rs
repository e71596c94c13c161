//! The thread that sends and receives every open-loop probe of one flow type, at real-time priority where allowed.
//!
//! It sleeps until something arrives or something is due, reads arrivals with their kernel stamps, and sends what is
//! due. Delay is taken from stamps, so a late wake-up shows as lateness and never as delay.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::{Observation, ProbeSent, ProbeStamped};
use rrul_model::time::{TestTime, Window};
use rrul_proto::session_sender::Arrival;
use socket2::Socket;

use crate::clock::{RawTime, TestClock, WallClock};
use crate::observer::Notebook;
use crate::scheduling;
use crate::socket::{datagram, options, wait::WaitSet};
use crate::test_end::{PATIENCE, TestEnd};

/// Observations between two collections: far more than any plan makes, as none may be lost.
const ROWS: usize = 1 << 14;

/// How long replies are waited for after the last packet (RFC 7680: waiting time), cut short when the test ends.
const WAITING: Duration = Duration::from_secs(3);

/// How long before a packet is due the thread wakes, to wait awake: longer than waking takes on a busy host, 99 times in
/// 100. At the default three flows it costs 3 % of one core.
const AWAKE: Duration = Duration::from_micros(200);

/// Transmit stamps that may be outstanding.
const OUTSTANDING: usize = 1024;

/// What a flow sends, and what it makes of a reply.
pub(super) trait Prober: Send {
    /// When the next packet is due; `None` when all are sent.
    fn due(&self) -> Option<TestTime>;
    /// Writes the packet that is due.
    fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent>;
    /// Leaves out what was due before.
    fn skip_before(&mut self, now: TestTime);
    /// Makes observations of what has arrived.
    fn receive(&mut self, octets: &[u8], arrival: Arrival, note: &mut dyn FnMut(Observation));
}

/// One flow: its prober, its connected socket, and the packet to fill.
pub(super) struct ProbeFlow {
    pub(super) flow: FlowId,
    pub(super) window: Window,
    pub(super) interval: Duration,
    pub(super) socket: Socket,
    pub(super) packet: Vec<u8>,
    /// Made when T0 is known.
    pub(super) prober: Box<dyn Prober>,
    stamps: Stamps,
}

impl AsFd for ProbeFlow {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Which packet each numbered stamp of the error queue belongs to.
#[derive(Default)]
struct Stamps {
    /// The number of the oldest packet in `sequences`.
    first: u32,
    sequences: VecDeque<u32>,
}

impl Stamps {
    fn sent(&mut self, sequence: u32) {
        if self.sequences.len() == OUTSTANDING {
            self.sequences.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.sequences.push_back(sequence);
    }

    fn sequence(&self, number: u32) -> Option<u32> {
        self.sequences.get(number.wrapping_sub(self.first) as usize).copied()
    }
}

impl ProbeFlow {
    pub(super) fn new(
        flow: FlowId,
        window: Window,
        interval: Duration,
        socket: Socket,
        packet: Vec<u8>,
        prober: Box<dyn Prober>,
    ) -> Self {
        let stamps = Stamps { first: 0, sequences: VecDeque::with_capacity(OUTSTANDING) };
        Self { flow, window, interval, socket, packet, prober, stamps }
    }

    /// Sends every packet that is due.
    fn send_due(&mut self, clock: TestClock, notebook: &mut Notebook<'_>) {
        while let Some(due) = self.prober.due() {
            let now = clock.now();
            if due > now {
                return;
            }
            if now.since(due).0 > i64::try_from(self.interval.as_nanos()).unwrap_or(i64::MAX) {
                self.prober.skip_before(now - self.interval);
                continue;
            }
            let Some(sent) = self.prober.send(now, &mut self.packet) else { return };
            notebook.note(sent);
            // A connected socket reports what ICMP has said of an earlier packet instead of sending: ask once more.
            let outcome =
                datagram::send(&self.socket, &self.packet).or_else(|_| datagram::send(&self.socket, &self.packet));
            if outcome.is_ok() {
                self.stamps.sent(sent.sequence);
            } else {
                // The packet counts as sent and lost. The kernel may or may not have counted it: start counting anew.
                let _ = options::stamp(&self.socket);
                self.stamps.sequences.clear();
                self.stamps.first = 0;
            }
        }
    }

    /// Reads every stamp and every reply that is there.
    fn receive_all(&mut self, clock: TestClock, wall: &WallClock, octets: &mut [u8], notebook: &mut Notebook<'_>) {
        while let Ok(Some(stamp)) = datagram::receive_transmit_stamp(&self.socket) {
            if let Some(sequence) = self.stamps.sequence(stamp.number) {
                notebook.note(ProbeStamped { flow: self.flow, sequence, sent: clock.at(wall.raw(stamp.stamp)) });
            }
        }
        // Errors here are what ICMP said of an earlier packet (refused, unreachable): that packet shows as lost.
        while let Ok(Some(datagram)) = datagram::receive(&self.socket, octets) {
            let read = clock.now();
            let received = datagram.stamp.map_or(read, |stamp| clock.at(wall.raw(stamp)));
            let arrival = Arrival { received, read, octet: datagram.octet.unwrap_or(0) };
            let kept = &octets[..datagram.length.min(octets.len())];
            self.prober.receive(kept, arrival, &mut |observation| notebook.note(observation));
        }
    }
}

/// Sends and receives until every flow has sent all and waited for replies. The thread's whole life.
pub(super) fn run(end: &Arc<TestEnd>, clock: TestClock, mut flows: Vec<ProbeFlow>, test_end: TestTime) {
    // Awake before a packet is due only where that cannot be preempted: elsewhere it would burn time for nothing.
    let awake = match scheduling::run_as_probe() {
        Ok(()) => AWAKE,
        Err(_) => Duration::ZERO,
    };
    scheduling::prompt_timers();
    let mut notebook = end.observer.notebook(ROWS);
    let mut wall = WallClock::new();
    let mut octets = [0; 2048];
    let mut waiting = WaitSet::new(flows.iter());
    for flow in &flows {
        // Greetings have used up numbers: begin at 0 with the first test packet.
        let _ = options::stamp(&flow.socket);
    }
    let last = flows.iter().map(|flow| flow.window.to).max().unwrap_or(TestTime::ZERO);
    let until = (last + WAITING).min(test_end.max(last));
    while !end.is_stopped() {
        let now = clock.now();
        let due = flows.iter().filter_map(|flow| flow.prober.due()).min();
        if due.is_none() && now >= until {
            return;
        }
        let patience = until_then(due.unwrap_or(until), now).saturating_sub(awake).min(PATIENCE);
        // A wait that fails would fail again at once: without this sleep the thread would hold its core for good.
        if waiting.wait(patience).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        wall.refresh(RawTime::now());
        for (place, flow) in flows.iter_mut().enumerate() {
            if waiting.ready(place) {
                flow.receive_all(clock, &wall, &mut octets, &mut notebook);
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
            flow.send_due(clock, &mut notebook);
        }
    }
}

fn until_then(then: TestTime, now: TestTime) -> Duration {
    u64::try_from(then.since(now).0).map_or(Duration::ZERO, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_finds_its_packet_even_after_numbers_wrapped_and_old_ones_fell_out() {
        let mut stamps = Stamps { first: u32::MAX - 1, sequences: VecDeque::new() };
        for sequence in 100..104 {
            stamps.sent(sequence);
        }
        assert_eq!(stamps.sequence(u32::MAX - 1), Some(100));
        assert_eq!(stamps.sequence(1), Some(103));
        assert_eq!(stamps.sequence(2), None);
        for sequence in 0..OUTSTANDING as u32 {
            stamps.sent(sequence);
        }
        assert_eq!(stamps.sequence(u32::MAX - 1), None, "it is long gone");
        assert_eq!(stamps.sequence(2), Some(0));
    }
}

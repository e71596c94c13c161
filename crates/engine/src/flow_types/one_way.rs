//! One-way flows at the client: packets that are never answered, sent and received over a socket of their own each.
//!
//! A flow's receiver notes every copy that arrives, so loss and delay belong to that direction alone. The client greets the
//! server on each socket beforehand, which opens the way back through a NAT.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::observation::{PacketReceived, ProbeSent, ProbeStamped};
use rrul_model::time::TestTime;
use rrul_proto::admission::consent::GREETING_INTERVAL;
use rrul_proto::one_way_receiver::OneWayReceiver;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::test_packet::{Kind, TestPacket};
use socket2::Socket;

use super::{WAITING, parallel_setup, udp_probe};
use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::Initiation;
use crate::greeting;
use crate::observer::ObservationSink;
use crate::one_way_sending::{self, OneWayFlow, Outlet};
use crate::socket::transmit_numbers::TransmitNumbers;
use crate::socket::wait::{WaitSet, is_not_ready};
use crate::socket::{datagram, options};

/// How long after the first the server is asked again whether all has arrived, once all has been sent. Each pause is twice as
/// long as the one before: a full upload is not filled further by questions that wait in its queue.
const ASKING: Duration = Duration::from_millis(100);
/// More questions than such pauses leave time for.
const MOST_QUESTIONS: usize = 8;

/// Sets up one-way flows of one type and starts their threads: one that sends, one that receives.
pub(super) fn initiate(name: &str, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
    let opened = parallel_setup::open_all(specs, initiation, udp_probe::open);
    let (up, down): (Flows, Flows) = opened.into_iter().partition(|(spec, _)| spec.direction == Some(Direction::Up));
    [("sending", up, send as Work), ("receiving", down, receive as Work)]
        .into_iter()
        .flat_map(|(what, flows, work)| {
            let (end, seal) = (Arc::clone(&initiation.end), initiation.seal.clone());
            parallel_setup::spawn(&format!("{name} {what}"), parallel_setup::ids(&flows), initiation, move || {
                if let Some(clock) = end.wait_for_begin() {
                    work(&end, clock, &seal, flows);
                }
            })
        })
        .collect()
}

type Flows = Vec<(FlowSpec, Socket)>;
type Work = fn(&Endpoint, TestClock, &PacketSeal, Flows);

/// Sends the flows towards the server, then waits until all has arrived or need not be waited for any more.
fn send(end: &Endpoint, clock: TestClock, seal: &PacketSeal, flows: Flows) {
    let all = flows.len();
    let (specs, sockets): (Vec<FlowSpec>, Vec<Socket>) = flows.into_iter().unzip();
    let flow = |(place, (spec, socket)): (usize, (&FlowSpec, Socket))| {
        OneWayFlow::new(spec, seal.clone(), (place, all), OwnSocket::new(socket))
    };
    let outlets = one_way_sending::run(end, clock, specs.iter().zip(sockets).enumerate().map(flow).collect());
    let mut sink = end.observer.sink(specs.len() * MOST_QUESTIONS);
    let deadline = clock.now() + WAITING;
    let (mut next, mut pause) = (clock.now(), ASKING);
    let mut missing: Vec<_> = specs.iter().zip(&outlets).collect();
    while !missing.is_empty() && clock.now() < deadline && !end.is_stopped() {
        missing.retain(|(spec, outlet)| !outlet.has_all_arrived(spec, seal));
        if clock.now() >= next {
            for (spec, outlet) in &missing {
                greeting::send(&outlet.socket, (spec.id, spec.class.octet()), seal, clock, &mut sink);
            }
            next = next + pause;
            pause *= 2;
        }
        std::thread::sleep(ASKING / 2);
    }
}

/// The socket of a flow that the client sends.
struct OwnSocket {
    socket: Socket,
    wall: WallClock,
    numbers: TransmitNumbers<(FlowId, u32)>,
    unstamped: u32,
    /// Packets handed to the kernel.
    sent: u32,
}

impl OwnSocket {
    fn new(socket: Socket) -> Self {
        let mut own =
            Self { socket, wall: WallClock::new(), numbers: TransmitNumbers::default(), unstamped: 0, sent: 0 };
        // Greetings have used up numbers: begin at 0 with the first packet.
        own.restart_stamps();
        own
    }

    fn restart_stamps(&mut self) {
        // If this fails, stamps are missing, and the program's own are used.
        let _ = options::stamp(&self.socket);
        self.numbers.restart();
        self.unstamped = 0;
    }

    /// Whether the server says so, in a reply to a greeting.
    fn has_all_arrived(&self, spec: &FlowSpec, seal: &PacketSeal) -> bool {
        let mut octets = [0; 2048];
        let mut arrived = 0;
        while let Ok(Some(reply)) = datagram::receive(&self.socket, &mut octets) {
            let packet_octets = &octets[..reply.length.min(octets.len())];
            if let Ok(packet) = TestPacket::read(packet_octets)
                && (packet.kind, packet.flow) == (Kind::GreetingReply, spec.id.0)
                && seal.opens(packet_octets)
            {
                arrived = arrived.max(packet.reflector_count);
            }
        }
        arrived >= self.sent
    }
}

impl Outlet for OwnSocket {
    fn send(&mut self, packet: &[u8], row: &ProbeSent) -> bool {
        if datagram::send(&self.socket, packet).is_err() {
            // A connected socket reports what ICMP has said of an earlier packet instead of sending: ask once more.
            // The kernel may or may not have counted the attempt, so counting starts anew.
            self.restart_stamps();
            if let Err(error) = datagram::send(&self.socket, packet) {
                self.restart_stamps();
                let left = !is_not_ready(&error);
                self.sent += u32::from(left);
                return left;
            }
        }
        self.sent += 1;
        self.numbers.sent((row.flow, row.sequence));
        self.unstamped += 1;
        true
    }

    fn read_stamps(&mut self, clock: TestClock, sink: &mut ObservationSink<'_>) {
        if self.unstamped == 0 {
            return;
        }
        self.wall.refresh(RawTime::now());
        while let Ok(Some(stamp)) = datagram::receive_transmit_stamp(&self.socket) {
            if let Some(&(flow, sequence)) = self.numbers.find(stamp.number) {
                let sent = clock.at(self.wall.raw(stamp.stamp));
                sink.note(ProbeStamped { flow, sequence, sent });
                self.unstamped = self.unstamped.saturating_sub(1);
            }
        }
    }
}

/// A flow from the server.
struct Incoming {
    spec: FlowSpec,
    socket: Socket,
    receiver: OneWayReceiver,
}

impl Incoming {
    /// Whether something may still come that counts.
    fn awaits(&self, now: TestTime) -> bool {
        !self.receiver.is_complete() && now < self.spec.window.to + WAITING
    }

    /// Notes every packet that has arrived.
    fn read_all(&mut self, clock: TestClock, wall: &WallClock, octets: &mut [u8], sink: &mut ObservationSink<'_>) {
        // A greeting's transmit stamp would keep the socket ready.
        while let Ok(Some(_)) = datagram::receive_transmit_stamp(&self.socket) {}
        // Errors here are what ICMP said of a greeting.
        while let Ok(Some(datagram)) = datagram::receive(&self.socket, octets) {
            let received = datagram.stamp.map_or_else(|| clock.now(), |stamp| clock.at(wall.raw(stamp)));
            if let Some(packet) = self.receiver.receive(&octets[..datagram.length.min(octets.len())]) {
                let (flow, sequence) = (self.spec.id, packet.sequence);
                sink.note(PacketReceived { flow, sequence, received, octet: datagram.octet.unwrap_or(0) });
            }
        }
    }
}

/// Receives the flows from the server until all has come or need not be waited for any more.
fn receive(end: &Endpoint, clock: TestClock, seal: &PacketSeal, flows: Flows) {
    let incoming = |(spec, socket): (FlowSpec, Socket)| {
        let receiver = OneWayReceiver::new(spec.id.0, seal.clone(), one_way_sending::interval(&spec), WAITING);
        Incoming { spec, socket, receiver }
    };
    let mut flows: Vec<Incoming> = flows.into_iter().map(incoming).collect();
    let mut sink = end.observer.sink(rows_between_collections(&flows));
    let watched = flows.iter().map(|flow| end.health.watch_while_kept(flow.spec.id, &flow.socket));
    let _watched: Vec<_> = watched.collect();
    let mut waiting = WaitSet::new(flows.iter().map(|flow| &flow.socket));
    let (mut wall, mut octets) = (WallClock::new(), [0; 2048]);
    // Setting up others may have taken longer than the first greeting lasts.
    let mut next_greeting = clock.now();
    while !end.is_stopped() {
        let now = clock.now();
        if !flows.iter().any(|flow| flow.awaits(now)) {
            return;
        }
        waiting.wait_or_pause(PATIENCE);
        wall.refresh(RawTime::now());
        for (place, flow) in flows.iter_mut().enumerate() {
            if waiting.ready(place) {
                flow.read_all(clock, &wall, &mut octets, &mut sink);
            }
        }
        if now >= next_greeting {
            for flow in &flows {
                greeting::send(&flow.socket, (flow.spec.id, flow.spec.class.octet()), seal, clock, &mut sink);
            }
            next_greeting = now + GREETING_INTERVAL;
        }
    }
}

/// Room for what these flows note between two collections, and twice that, as a path may double packets.
fn rows_between_collections(flows: &[Incoming]) -> usize {
    const SECONDS: f64 = 6.0;
    let packets: f64 = flows.iter().map(|flow| SECONDS / one_way_sending::interval(&flow.spec).as_secs_f64()).sum();
    packets as usize + 256
}

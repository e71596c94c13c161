//! UDP request-response: the next request leaves when the response is there (spec: Realtime Component).
//!
//! Closed loop, as fast as the round trip allows. It counts transactions; percentiles of delay come from `udp_probe`. Each
//! exchange keeps the stamps of both ends, so that its delay is known in each direction.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{Transaction, TransactionStamped};
use rrul_model::time::TestTime;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::packet_seal::replay_window::{Freshness, ReplayWindow};
use rrul_proto::test_packet::{Kind, TestPacket};
use socket2::Socket;

use super::icmp_watch::IcmpWatch;
use super::{parallel_setup, udp_probe};
use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::observer::ObservationSink;
use crate::server::parts::reflector::Reflected;
use crate::server::session::ServerPart;
use crate::socket::datagram::Aftermath;
use crate::socket::{datagram, options, wait};

pub(super) const DEFAULT_MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Longer than this the measurement budget does not make it.
pub(super) const LONGEST_MIN_INTERVAL: Duration = Duration::from_secs(1);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
/// Transactions between two collections.
pub(super) const ROWS: usize = 1 << 13;

pub(crate) struct UdpRr;

impl FlowType for UdpRr {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "udp_rr",
            about: "UDP request-response, one at a time: transactions per second",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "UDP payload; default and least 80B, most 1400B",
                },
                ParameterWord {
                    name: "min_interval",
                    kind: ParameterKind::Duration,
                    about: "least time from one request to the next; default 1ms",
                },
                ParameterWord {
                    name: "timeout",
                    kind: ParameterKind::Duration,
                    about: "how long a response is waited for; default 1s",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &Reflected
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL).as_secs_f64().recip()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        Footprint::both(
            self.packets_per_second(spec) * udp_probe::packet_bits(spec, udp_probe::packet_for(spec).len() as u64),
        )
    }

    fn pacing(&self) -> Pacing {
        Pacing::ClosedLoop { parameter: "min_interval", default: DEFAULT_MIN_INTERVAL, longest: LONGEST_MIN_INTERVAL }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(udp_probe::packet_for(spec).len())
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, udp_probe::open);
        parallel_setup::spawn_each(opened, initiation, |spec, socket, initiation| exchange(spec, &socket, initiation))
    }
}

fn exchange(spec: &FlowSpec, socket: &Socket, initiation: &Initiation) {
    let end: &Arc<Endpoint> = &initiation.end;
    let Some((clock, server_origin)) = end.wait_for_begin().zip(end.server_origin()) else { return };
    let min_interval = spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL);
    let timeout = spec.parameters.duration("timeout", DEFAULT_TIMEOUT);
    let mut sink = end.observer.sink(ROWS);
    let mut exchanger = Exchanger {
        end,
        socket,
        clock,
        server_origin,
        seal: &initiation.seal,
        wall: WallClock::new(),
        icmp: IcmpWatch::new(spec.id, socket),
        taken: ReplayWindow::default(),
        departures: 0,
        left: None,
        stamped: None,
    };
    exchanger.restart_stamps();
    let mut octets = udp_probe::packet_for(spec);
    let mut next = spec.window.from;
    for sequence in 0.. {
        if next >= end.asks_until(spec.window.to) || !end.sleep_until(clock, next) {
            break;
        }
        let started = clock.now();
        let request =
            TestPacket::request(Kind::Test, spec.id.0, spec.class.octet(), initiation.token, sequence, started.0);
        let written = request.write(&mut octets).is_ok();
        initiation.seal.seal(&mut octets);
        let sent = written && exchanger.send(&octets);
        let deadline = RawTime::now().plus(timeout.as_nanos() as i64);
        let answer = if sent { exchanger.answer(&mut octets, &request, deadline, &mut sink) } else { None };
        if answer.is_none() && end.is_stopped() {
            break;
        }
        let took = clock.now().since(started);
        sink.note(Transaction { flow: spec.id, sequence, started, took, answered: u8::from(answer.is_some()) });
        if let Some(answer) = answer {
            exchanger.stamp(spec, started, &answer, &mut sink);
        }
        // An unanswered request that could not even be sent must not spin.
        next = (started + min_interval).max(if sent { clock.now() } else { started + timeout });
    }
    if let Some(last) = exchanger.stamped {
        sink.note(last);
    }
    exchanger.icmp.finish(clock.now(), &mut sink);
}

/// A response and when it came.
struct Answer {
    packet: TestPacket,
    received: TestTime,
}

/// One end of one flow of exchanges.
struct Exchanger<'a> {
    end: &'a Endpoint,
    socket: &'a Socket,
    clock: TestClock,
    /// T0 on the server's session clock.
    server_origin: i64,
    seal: &'a PacketSeal,
    wall: WallClock,
    icmp: IcmpWatch,
    /// Responses that were taken, where they are sealed.
    taken: ReplayWindow,
    /// Requests that the kernel has numbered since stamps were asked for.
    departures: u32,
    /// The kernel's stamp of the latest request.
    left: Option<TestTime>,
    /// The latest exchange, which waits for the response after it: that one carries the kernel's stamp of this one.
    stamped: Option<TransactionStamped>,
}

impl Exchanger<'_> {
    /// Has the kernel number what is sent from 0.
    fn restart_stamps(&mut self) {
        // If this fails, stamps are missing, and the program's own are used.
        let _ = options::stamp(self.socket);
        self.departures = 0;
    }

    /// Sends a request; whether it left.
    fn send(&mut self, octets: &[u8]) -> bool {
        self.left = None;
        if datagram::send(self.socket, octets).is_ok() {
            self.departures = self.departures.wrapping_add(1);
            return true;
        }
        // The kernel may or may not have counted the attempt.
        self.restart_stamps();
        false
    }

    /// Reads what the kernel says of packets sent.
    fn read_aftermath(&mut self, sink: &mut ObservationSink<'_>) {
        while let Ok(Some(aftermath)) = datagram::receive_aftermath(self.socket) {
            match aftermath {
                Aftermath::Left(stamp) if stamp.number == self.departures.wrapping_sub(1) => {
                    self.left = Some(self.clock.at(self.wall.raw(stamp.stamp)));
                }
                Aftermath::Icmp(report) => self.icmp.take(report, self.clock.now(), sink),
                Aftermath::Left(_) | Aftermath::Exceeds(_) => {}
            }
        }
    }

    /// Waits for the response to this request, and notes what ICMP says meanwhile.
    fn answer(
        &mut self,
        octets: &mut [u8],
        request: &TestPacket,
        deadline: RawTime,
        sink: &mut ObservationSink<'_>,
    ) -> Option<Answer> {
        while let Ok(left) = u64::try_from(deadline.since(RawTime::now())) {
            if self.end.is_stopped() {
                return None;
            }
            let _ = wait::readable(&[self.socket], Duration::from_nanos(left).min(PATIENCE));
            self.wall.refresh(RawTime::now());
            self.read_aftermath(sink);
            match datagram::receive(self.socket, octets) {
                Ok(Some(reply)) => {
                    let read = self.clock.now();
                    let packet_octets = &octets[..reply.length.min(octets.len())];
                    // The seal counts what is forged, whatever number it bears. A number is answered once: of what is repeated the
                    // window takes the first alone.
                    let taken = &mut self.taken;
                    let ours = |packet: &TestPacket| {
                        (packet.kind, packet.flow) == (Kind::Reply, request.flow)
                            && self.seal.opens(packet_octets)
                            && packet.sequence == request.sequence
                            && self.seal.take(taken, packet.sequence) == Freshness::New
                    };
                    if let Some(packet) = TestPacket::read(packet_octets).ok().filter(ours) {
                        // A request leaves before its response comes, but perhaps not before it was looked for.
                        self.read_aftermath(sink);
                        let received = reply.stamp.map_or(read, |stamp| self.clock.at(self.wall.raw(stamp)));
                        return Some(Answer { packet, received });
                    }
                }
                Ok(None) => {}
                // Refused or unreachable: nothing is waited for.
                Err(_) => return None,
            }
        }
        None
    }

    /// Notes the exchange before this one, of which all stamps are known now, and keeps this one.
    fn stamp(&mut self, spec: &FlowSpec, started: TestTime, answer: &Answer, sink: &mut ObservationSink<'_>) {
        let server_time = |stamp: i64| TestTime(stamp.saturating_sub(self.server_origin));
        let Answer { packet, received } = answer;
        if let Some(mut before) = self.stamped.take() {
            let news = packet.follow_up.filter(|news| news.sequence == before.sequence);
            // A stamp from before the server's own belongs to another copy.
            if let Some(stamp) = news.map(|news| server_time(news.sent)).filter(|stamp| *stamp >= before.server_sent) {
                before.server_sent = stamp;
            }
            sink.note(before);
        }
        self.stamped = Some(TransactionStamped {
            flow: spec.id,
            sequence: packet.sequence,
            // No packet leaves before it is sent: such a stamp is of another one.
            sent: self.left.filter(|left| *left >= started).unwrap_or(started),
            server_received: server_time(packet.t2),
            server_sent: server_time(packet.t3),
            received: *received,
        });
    }
}

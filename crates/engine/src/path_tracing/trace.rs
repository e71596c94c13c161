//! One path trace at the end that sends it: its socket, what it sends, and what is answered.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowId, FlowSpec};
use rrul_model::observation::{FlowEventKind, OWN_LINK, PathAnswer, PathProbe, PathQuote, ProbeStamped};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, Delay};
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::path_sweep::{PathSweep, SweepPacket, SweepSettings};
use rrul_proto::test_packet::{Kind, NUMBERED_OCTETS, TestPacket};
use socket2::Socket;

use crate::clock::WallClock;
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::observer::ObservationSink;
use crate::privacy::Privacy;
use crate::setup_error::SetupError;
use crate::socket::datagram::{self, Aftermath};
use crate::socket::options;
use crate::socket::transmit_numbers::TransmitNumbers;

/// Datagrams read from a socket in a row.
pub(super) const BATCH: usize = 64;

/// EF with ECT(1): its fate shows which hop remarks DSCP and which clears or changes ECN.
const MARKED: u8 = 0xb9;

/// Answers of one trace that belong to no packet and are recorded nevertheless.
const STRAYS: u32 = 100;

/// Hosts of one trace that are distinguished.
const SOURCES: usize = 500;

/// One trace: this host sends.
pub(crate) struct Trace {
    pub(super) flow: FlowId,
    pub(super) family: AddressFamily,
    seal: PacketSeal,
    pub(super) until: TestTime,
    socket: Socket,
    local_port: u16,
    remote: SocketAddr,
    sweep: PathSweep,
    pub(super) interval: Duration,
    numbers: TransmitNumbers<u32>,
    sources: Vec<IpAddr>,
    strays: u32,
    /// Whether a raw socket hears what hosts on the way say.
    pub(super) heard: bool,
    octets: Vec<u8>,
    /// What was longer than this host's own link carries; the kernel has yet to report how much that is.
    refused: Option<SweepPacket>,
    grants: Box<dyn Fn() -> bool + Send>,
    privacy: Privacy,
}

/// What a host on the way has said of a packet.
pub(super) struct HopAnswer<'a> {
    pub(super) source: Option<IpAddr>,
    pub(super) stamp: Option<i64>,
    pub(super) kind: u8,
    pub(super) code: u8,
    pub(super) mtu: u32,
    /// As much of the packet as is quoted.
    pub(super) payload: &'a [u8],
    /// Its length, and byte and hop limit as they were there, where the quoted header is seen.
    pub(super) header: Option<(usize, u8, u8)>,
}

impl AsFd for Trace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Trace {
    /// A trace over a connected socket that reports ICMP, stamps, and reports the hop limit of what it receives.
    /// `grants` is asked before each packet.
    ///
    /// # Errors
    /// When fragmentation cannot be disabled on the socket.
    pub(crate) fn new(
        spec: &FlowSpec,
        seal: PacketSeal,
        seed: u64,
        (interval, rate): (Duration, Option<BitRate>),
        socket: Socket,
        grants: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, SetupError> {
        let failed = SetupError::socket("a socket that is unsuitable for a path trace");
        options::never_fragment(&socket, spec.family).map_err(failed)?;
        options::receive_hop_limit(&socket, spec.family).map_err(failed)?;
        options::stamp(&socket).map_err(failed)?;
        let address = |found: std::io::Result<socket2::SockAddr>| found.map_err(failed).map(|found| found.as_socket());
        let (Some(local), Some(remote)) = (address(socket.local_addr())?, address(socket.peer_addr())?) else {
            return Err(SetupError::Unconnected);
        };
        let settings = SweepSettings {
            window: spec.window,
            interval,
            rate,
            octet: spec.class.octet(),
            marked: Some(MARKED),
            headers: spec.family.udp_header_octets(),
        };
        Ok(Self {
            flow: spec.id,
            family: spec.family,
            seal,
            until: spec.window.to,
            socket,
            local_port: local.port(),
            remote,
            sweep: PathSweep::new(settings, seed),
            interval,
            numbers: TransmitNumbers::default(),
            sources: Vec::new(),
            strays: 0,
            heard: false,
            octets: vec![0; 1500],
            refused: None,
            grants: Box::new(grants),
            privacy: Privacy::Open,
        })
    }

    /// The same, of a host that reports the routers of its packets, or does not.
    pub(crate) fn with_privacy(self, privacy: Privacy) -> Self {
        Self { privacy, ..self }
    }

    /// When the next packet is due; `None` when all are sent.
    pub(super) fn due(&self) -> Option<TestTime> {
        self.sweep.due()
    }

    /// Whether its packets leave from this port to there.
    pub(super) fn sends(&self, from: u16, to: SocketAddr) -> bool {
        self.local_port == from && self.remote == to
    }

    pub(super) fn send_due(&mut self, clock: TestClock, sink: &mut ObservationSink<'_>) {
        while let Some(packet) = self.sweep.send_granted(clock.now(), &self.grants) {
            let Some(octets) = self.octets.get_mut(..packet.payload) else { continue };
            let SweepPacket { sequence, hop_limit, octet, sent, .. } = packet;
            let request = TestPacket::request(Kind::Trace, self.flow.0, octet, self.seal.token(), sequence, sent.0);
            if request.write(octets).is_err() {
                continue;
            }
            self.seal.seal(octets);
            let length = self.sweep.length(&packet);
            sink.note(PathProbe { flow: self.flow, sequence, sent, hop_limit, octet, length });
            self.transmit(&packet);
        }
    }

    fn transmit(&mut self, packet: &SweepPacket) {
        // A connected socket reports what ICMP has said of an earlier packet instead of sending: that has been read.
        let _ = self.socket.take_error();
        let send = |trace: &Self| {
            let octets = &trace.octets[..packet.payload];
            datagram::send_limited(&trace.socket, octets, packet.octet, packet.hop_limit, trace.family)
        };
        let mut outcome = send(self);
        if outcome.is_err() {
            // The kernel may or may not have counted the attempt, so counting starts anew.
            self.restart_stamps();
            outcome = send(self);
        }
        match outcome {
            Ok(()) => self.numbers.sent(packet.sequence),
            Err(error) => {
                self.restart_stamps();
                if error.raw_os_error() == Some(libc::EMSGSIZE) {
                    self.refused = Some(*packet);
                }
            }
        }
    }

    fn restart_stamps(&mut self) {
        // If this fails, stamps are missing, and the program's own are used.
        let _ = options::stamp(&self.socket);
        self.numbers.restart();
    }

    /// Reads stamps, the destination's answers and, unless a raw socket hears them, what hosts on the way say; of each
    /// a batch, so that a flood cannot keep the thread from seeing that the test has ended.
    pub(super) fn read_socket(
        &mut self,
        end: &Endpoint,
        clock: TestClock,
        wall: &WallClock,
        sink: &mut ObservationSink<'_>,
    ) {
        let mut octets = [0; 2048];
        for _ in 0..BATCH {
            let found = datagram::receive_aftermath_with(&self.socket, &mut octets);
            let Ok(Some((aftermath, beside))) = found else { break };
            match aftermath {
                Aftermath::Left(stamp) => {
                    if let Some(&sequence) = self.numbers.find(stamp.number) {
                        let sent = clock.at(wall.raw(stamp.stamp));
                        sink.note(ProbeStamped { flow: self.flow, sequence, sent });
                    }
                }
                Aftermath::Icmp(report) if !self.heard => {
                    let answer = HopAnswer {
                        source: report.offender,
                        stamp: beside.stamp,
                        kind: report.kind,
                        code: report.code,
                        mtu: report.mtu,
                        payload: &octets[..beside.length.min(octets.len())],
                        header: None,
                    };
                    self.hop_answered(&answer, end, clock, wall, sink);
                }
                Aftermath::Icmp(_) => {}
                Aftermath::Exceeds(mtu) => {
                    if let Some(packet) = self.refused.take() {
                        self.own_link_refused(&packet, mtu, clock.now(), sink);
                    }
                }
            }
        }
        for _ in 0..BATCH {
            let Ok(Some(datagram)) = datagram::receive(&self.socket, &mut octets) else { break };
            let received = datagram.stamp.map_or_else(|| clock.now(), |stamp| clock.at(wall.raw(stamp)));
            let packet_octets = &octets[..datagram.length.min(octets.len())];
            if let Ok(reply) = TestPacket::read(packet_octets)
                && (reply.kind, reply.flow) == (Kind::TraceReply, self.flow.0)
                && self.seal.opens(packet_octets)
            {
                self.far_end_answered(&reply, received, end, sink);
            }
        }
    }

    fn own_link_refused(&mut self, packet: &SweepPacket, mtu: u32, now: TestTime, sink: &mut ObservationSink<'_>) {
        self.sweep.too_big(packet, mtu);
        let (flow, sequence) = (self.flow, packet.sequence);
        let (kind, held) = (OWN_LINK, Delay(0));
        sink.note(PathAnswer { flow, sequence, received: now, source: 0, kind, code: 0, mtu, held, left: 0 });
    }

    fn far_end_answered(
        &mut self,
        reply: &TestPacket,
        received: TestTime,
        end: &Endpoint,
        sink: &mut ObservationSink<'_>,
    ) {
        let Some(packet) = self.sweep.answered(reply.sequence, received) else { return };
        let left = u8::try_from(reply.reflector_count).unwrap_or(0);
        self.sweep.far_end(&packet, Some(left).filter(|left| *left > 0));
        let (flow, sequence) = (self.flow, packet.sequence);
        let source = self.source(Some(self.remote.ip()), end);
        let held = Delay(reply.t3.saturating_sub(reply.t2).max(0));
        sink.note(PathAnswer { flow, sequence, received, source, kind: 0, code: 0, mtu: 0, held, left });
        sink.note(PathQuote { flow, sequence, octet: reply.octet_received, hop_limit: left });
    }

    /// A host on the way has answered.
    pub(super) fn hop_answered(
        &mut self,
        answer: &HopAnswer<'_>,
        end: &Endpoint,
        clock: TestClock,
        wall: &WallClock,
        sink: &mut ObservationSink<'_>,
    ) {
        let received = answer.stamp.map_or_else(|| clock.now(), |stamp| clock.at(wall.raw(stamp)));
        let number = TestPacket::quoted_sequence(answer.payload, self.flow.0, &self.seal.token());
        let packet = match (number, answer.header) {
            (Some(number), _) => self.sweep.answered(number, received),
            // Too little is quoted to hold the number: the length has to identify it.
            (None, Some((length, ..))) if answer.payload.len() < NUMBERED_OCTETS => {
                self.sweep.answered_by_length(length, received)
            }
            _ => None,
        };
        let HopAnswer { kind, code, mtu, .. } = *answer;
        if packet.is_none() {
            self.strays += 1;
            if self.strays > STRAYS {
                return;
            }
        }
        let (flow, source) = (self.flow, self.source(answer.source, end));
        let sequence = packet.map_or(u32::MAX, |packet| packet.sequence);
        sink.note(PathAnswer { flow, sequence, received, source, kind, code, mtu, held: Delay(0), left: 0 });
        let Some(packet) = packet else { return };
        if let Some((_, octet, hop_limit)) = answer.header {
            sink.note(PathQuote { flow, sequence, octet, hop_limit });
        }
        if is_too_big(self.family, kind, code) {
            self.sweep.too_big(&packet, mtu);
        }
    }

    /// The number of an address, which is recorded when it is seen for the first time, with the address where that is
    /// allowed; 0 of those that are not known.
    fn source(&mut self, address: Option<IpAddr>, end: &Endpoint) -> u16 {
        let Some(address) = address else { return 0 };
        let place = self.sources.iter().position(|known| *known == address).or_else(|| {
            if self.sources.len() >= SOURCES {
                return None;
            }
            self.sources.push(address);
            let number = self.sources.len();
            let text = match self.privacy {
                Privacy::Open => format!("{number} {address}"),
                Privacy::Strict => number.to_string(),
            };
            end.event(self.flow, FlowEventKind::HopAddress, text);
            Some(number - 1)
        });
        place.and_then(|place| u16::try_from(place + 1).ok()).unwrap_or(0)
    }
}

fn is_too_big(family: AddressFamily, kind: u8, code: u8) -> bool {
    match family {
        AddressFamily::Ipv4 => (kind, code) == (3, 4),
        AddressFamily::Ipv6 => kind == 2,
    }
}

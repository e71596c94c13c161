//! One path trace of a run: what the engine's loop does with sockets, done with the bytes of a virtual link.

use std::net::IpAddr;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::observation::{FlowEventKind, ObservationPoint, PathAnswer, PathProbe, PathQuote, ProbeStamped};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use rrul_proto::icmp_error::IcmpError;
use rrul_proto::path_sweep::{PathSweep, SweepPacket, SweepSettings};
use rrul_proto::test_packet::{Kind, NUMBERED_OCTETS, TestPacket};

use crate::notes::Notes;
use crate::packets::{Udp, sender};
use crate::run::TOKEN;

/// The marking of some rounds: EF with ECT(1), as the engine has it.
const MARKED: u8 = 0xb9;
const STRAYS: u32 = 100;

/// A host's own link carries no more.
const OWN_MTU: u16 = 1500;

/// The sending end.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) flow: FlowId,
    pub(crate) family: AddressFamily,
    pub(crate) direction: Direction,
    ports: (u16, u16),
    sweep: PathSweep,
    sources: Vec<IpAddr>,
    strays: u32,
}

impl Trace {
    /// A trace between these ports, the sender's first.
    pub(crate) fn new(
        (flow, family, direction): (FlowId, AddressFamily, Direction),
        ports: (u16, u16),
        window: Window,
        seed: u64,
        notes: &mut Notes,
    ) -> Self {
        let headers = if family == AddressFamily::Ipv4 { 28 } else { 48 };
        let settings = SweepSettings {
            window,
            interval: Duration::from_secs(1),
            rate: None,
            octet: 0,
            marked: Some(MARKED),
            headers,
        };
        let sweep = PathSweep::new(settings, seed);
        let trace = Self { flow, family, direction, ports, sweep, sources: Vec::new(), strays: 0 };
        notes.event(trace.point(), flow, window.from, FlowEventKind::Uses, "quoted headers".to_owned());
        trace
    }

    /// Where its rows are written.
    fn point(&self) -> ObservationPoint {
        if self.direction == Direction::Up { ObservationPoint::Client } else { ObservationPoint::Server }
    }

    pub(crate) fn due(&self) -> Option<TestTime> {
        self.sweep.due()
    }

    /// The next packet that is due, if it leaves the host.
    pub(crate) fn send(&mut self, now: TestTime, notes: &mut Notes) -> Option<Vec<u8>> {
        loop {
            let packet = self.sweep.send(now)?;
            let SweepPacket { sequence, hop_limit, octet, sent, .. } = packet;
            let (flow, point, length) = (self.flow, self.point(), self.sweep.length(&packet));
            notes.observe(point, now, PathProbe { flow, sequence, sent, hop_limit, octet, length });
            if length > OWN_MTU {
                self.sweep.too_big(&packet, 0);
                continue;
            }
            notes.observe(point, now, ProbeStamped { flow, sequence, sent });
            let mut payload = vec![0; packet.payload];
            let request = TestPacket::request(Kind::Trace, flow.0, octet, TOKEN, sequence, sent.0);
            request.write(&mut payload).expect("no packet of a sweep is shorter than a test packet");
            let (family, direction, (source_port, destination_port)) = (self.family, self.direction, self.ports);
            let payload = &payload;
            return Some(Udp { family, direction, source_port, destination_port, octet, hop_limit, payload }.octets());
        }
    }

    /// Whether a message that came to a host is about this trace's packets.
    pub(crate) fn is_about(&self, travelled: Direction, family: AddressFamily, error: &IcmpError<'_>) -> bool {
        let quote = &error.quote;
        travelled == self.direction.opposite()
            && family == self.family
            && (quote.source_port, quote.destination_port) == self.ports
            && quote.destination == sender(family, travelled)
    }

    /// A host on the way has said something of a packet.
    pub(crate) fn hop_answered(&mut self, from: IpAddr, error: &IcmpError<'_>, now: TestTime, notes: &mut Notes) {
        let IcmpError { kind, code, mtu, quote } = *error;
        let packet = match TestPacket::quoted_sequence(quote.payload, self.flow.0, &TOKEN) {
            Some(sequence) => self.sweep.answered(sequence, now),
            None if quote.payload.len() < NUMBERED_OCTETS => self.sweep.answered_by_length(quote.payload_length, now),
            None => None,
        };
        if packet.is_none() {
            self.strays += 1;
            if self.strays > STRAYS {
                return;
            }
        }
        let (flow, source, point) = (self.flow, self.source(from, now, notes), self.point());
        let sequence = packet.map_or(u32::MAX, |packet| packet.sequence);
        let answer = PathAnswer { flow, sequence, received: now, source, kind, code, mtu, held: Delay(0), left: 0 };
        notes.observe(point, now, answer);
        let Some(packet) = packet else { return };
        notes.observe(point, now, PathQuote { flow, sequence, octet: quote.octet, hop_limit: quote.hop_limit });
        if (self.family, kind, code) == (AddressFamily::Ipv4, 3, 4) || (self.family, kind) == (AddressFamily::Ipv6, 2) {
            self.sweep.too_big(&packet, mtu);
        }
    }

    /// The destination has answered.
    pub(crate) fn far_end_answered(&mut self, reply: &TestPacket, now: TestTime, notes: &mut Notes) {
        let Some(packet) = self.sweep.answered(reply.sequence, now) else { return };
        let left = u8::try_from(reply.reflector_count).unwrap_or(0);
        self.sweep.far_end(&packet, Some(left).filter(|left| *left > 0));
        let (flow, sequence, point) = (self.flow, packet.sequence, self.point());
        let source = self.source(sender(self.family, self.direction.opposite()), now, notes);
        let held = Delay((reply.t3 - reply.t2).max(0));
        notes.observe(
            point,
            now,
            PathAnswer { flow, sequence, received: now, source, kind: 0, code: 0, mtu: 0, held, left },
        );
        notes.observe(point, now, PathQuote { flow, sequence, octet: reply.octet_received, hop_limit: left });
    }

    /// The number of an address, which is reported when it is seen for the first time.
    fn source(&mut self, address: IpAddr, now: TestTime, notes: &mut Notes) -> u16 {
        let place = self.sources.iter().position(|known| *known == address).unwrap_or_else(|| {
            self.sources.push(address);
            let number = self.sources.len();
            notes.event(self.point(), self.flow, now, FlowEventKind::HopAddress, format!("{number} {address}"));
            number - 1
        });
        place as u16 + 1
    }
}

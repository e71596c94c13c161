//! UDP probe: one small packet in every interval, whatever becomes of the replies (spec: Realtime Component).
//!
//! Open loop: a sender that waits for replies sends least when the network is worst, and so hides it.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, ProbeSent};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;
use rrul_proto::session_sender::{Answer, Arrival, Identity, SessionSender};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use socket2::{Protocol, Socket, Type};

use super::open_loop::{self, ProbeFlow, Prober, Reply};
use super::parallel_setup;
use crate::clock::RawTime;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::server::parts::reflector::Reflected;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::{datagram, options, wait};

const DEFAULT_INTERVAL: Duration = Duration::from_millis(20);
const MOST_OCTETS: u64 = 1400;

/// How often a greeting is sent before UDP is given up, and how long each is waited for.
const GREETINGS: u32 = 5;
const GREETING_TIME: Duration = Duration::from_millis(400);

pub(crate) struct UdpProbe;

impl FlowType for UdpProbe {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "udp_probe",
            about: "a small UDP packet in every interval, returned by the server: delay, loss, marking",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one packet in each, at a random phase; default 20ms",
                },
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "UDP payload; default and least 80B, most 1400B",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &Reflected
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        spec.parameters.duration("interval", DEFAULT_INTERVAL).as_secs_f64().recip()
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(packet_for(spec).len())
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        Footprint::both(self.packets_per_second(spec) * packet_bits(spec, packet_for(spec).len() as u64))
    }

    fn pacing(&self) -> Pacing {
        // Six flows that each send four packets a second still sample a queue every 42 ms.
        let longest = Duration::from_millis(250);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, open);
        open_loop::spawn("udp_probe", opened, initiation, |spec, socket, server_origin, initiation| {
            let interval = spec.parameters.duration("interval", DEFAULT_INTERVAL);
            let seal = initiation.seal.clone();
            let identity = Identity { flow: spec.id, seal, octet: spec.class.octet(), server_origin };
            let sender = SessionSender::new(identity, spec.window, interval, initiation.seed_for(spec));
            ProbeFlow::new(spec, interval, socket, packet_for(spec), Box::new(sender))
        })
    }
}

impl Prober for SessionSender {
    fn due(&self) -> Option<TestTime> {
        self.due()
    }

    fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent> {
        self.send(now, octets)
    }

    fn skip_before(&mut self, now: TestTime) -> u32 {
        self.skip_before(now)
    }

    fn receive(&mut self, octets: &[u8], arrival: Arrival) -> Option<Reply> {
        let Answer { received, stamped, window } = self.receive(octets, arrival)?;
        let observations = [Some(received.into()), stamped.map(Into::into), window.map(Into::into)];
        Some(Reply { sequence: received.sequence, observations })
    }
}

/// Bits of a packet with this much UDP payload, headers included.
pub(super) fn packet_bits(spec: &FlowSpec, payload: u64) -> f64 {
    ((payload + u64::from(spec.family.udp_header_octets())) * 8) as f64
}

/// A packet of the length asked for, padded with random bytes.
pub(super) fn packet_for(spec: &FlowSpec) -> Vec<u8> {
    let length = spec.parameters.size("length", ByteCount(LEAST_OCTETS as u64)).0;
    let mut octets = vec![0; length.clamp(LEAST_OCTETS as u64, MOST_OCTETS) as usize];
    Random(u64::from(spec.id.0)).fill(&mut octets);
    octets
}

/// A connected socket that has been greeted by the server: marked, stamped, and known to work.
///
/// # Errors
/// When the user stops the test, no socket can be opened, or the server does not reply.
pub(super) fn open(spec: &FlowSpec, initiation: &Initiation) -> Result<Socket, SetupError> {
    let server = initiation.server_for(spec)?;
    let socket = connected(spec, server).map_err(SetupError::socket("no UDP socket towards the server"))?;
    let octet = options::marked(&socket, spec.family).unwrap_or(u32::from(spec.class.octet()));
    initiation.end.event(spec.id, FlowEventKind::Marked, octet.to_string());
    for _ in 0..GREETINGS {
        if initiation.end.is_stopped() {
            return Err(SetupError::Stopped);
        }
        if greet(spec, initiation, &socket) {
            return Ok(socket);
        }
    }
    initiation.end.event(spec.id, FlowEventKind::Unanswered, "");
    Err(SetupError::NoUdpReply(server.port()))
}

fn connected(spec: &FlowSpec, server: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(options::domain(spec.family), Type::DGRAM, Some(Protocol::UDP))?;
    let any: SocketAddr = match spec.family {
        AddressFamily::Ipv4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
        AddressFamily::Ipv6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    options::mark(&socket, spec.family, spec.class)?;
    socket.bind(&any.into())?;
    socket.connect(&server.into())?;
    options::enlarge_receive_buffer(&socket);
    options::receive_marking(&socket, spec.family)?;
    options::report_icmp(&socket, spec.family)?;
    options::stamp(&socket)?;
    Ok(socket)
}

fn greet(spec: &FlowSpec, initiation: &Initiation, socket: &Socket) -> bool {
    let mut octets = packet_for(spec);
    let seal = &initiation.seal;
    if seal.greeting(spec.id.0, spec.class.octet()).write(&mut octets).is_err() {
        return false;
    }
    seal.seal(&mut octets);
    if datagram::send(socket, &octets).is_err() {
        return false;
    }
    let deadline = RawTime::now().plus(GREETING_TIME.as_nanos() as i64);
    while let Ok(left) = u64::try_from(deadline.since(RawTime::now())) {
        let _ = wait::readable(&[socket], Duration::from_nanos(left));
        while let Ok(Some(_)) = datagram::receive_transmit_stamp(socket) {}
        match datagram::receive(socket, &mut octets) {
            Ok(Some(reply)) => {
                let packet_octets = &octets[..reply.length.min(octets.len())];
                let is_reply = |packet: TestPacket| packet.kind == Kind::GreetingReply && packet.flow == spec.id.0;
                if TestPacket::read(packet_octets).is_ok_and(is_reply) && seal.opens(packet_octets) {
                    return true;
                }
            }
            Ok(None) => {}
            Err(_) => return false,
        }
    }
    false
}

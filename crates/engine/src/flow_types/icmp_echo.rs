//! ICMP echo: what `ping` sees, beside what UDP sees (RFC 792, RFC 4443).
//!
//! The spec rules ping out as a method, since ICMP is often treated differently under load; that difference is why it
//! is shown. Ping sockets need no privilege where `net.ipv4.ping_group_range` allows them; raw sockets need
//! CAP_NET_RAW; where neither is to be had the flow is absent, with the reason.

use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowId, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::internet_checksum::checksum;
use rrul_model::observation::{EchoReceived, FlowEventKind, ProbeSent};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;
use rrul_proto::schedule::send_schedule::SendSchedule;
use rrul_proto::session_sender::Arrival;
use socket2::Socket;

use super::open_loop::{self, ProbeFlow, Prober, Reply};
use super::{parallel_setup, udp_probe};
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::setup_error::SetupError;
use crate::socket::icmp::{self, Access};
use crate::socket::options;

const DEFAULT_INTERVAL: Duration = Duration::from_millis(200);
const DEFAULT_OCTETS: u64 = 56;
const MOST_OCTETS: u64 = 1400;
/// Type, code, checksum, identifier, sequence.
const HEADER: usize = 8;
/// Behind the header: the whole sequence number and a mark of this flow, as the header has but 16 bits.
const MARK: usize = 16;

pub(crate) struct IcmpEcho;

impl FlowType for IcmpEcho {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "icmp_echo",
            about: "ICMP echo requests, as ping sends them",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one request in each, at a random phase; default 200ms",
                },
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "ICMP payload; default 56B, least 16B, most 1400B",
                },
            ],
        }
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let rate = spec.parameters.duration("interval", DEFAULT_INTERVAL).as_secs_f64().recip();
        // An ICMP header is as long as a UDP header.
        Footprint::both(rate * udp_probe::packet_bits(spec, length_of(spec) as u64))
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_secs(1);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(length_of(spec))
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, open);
        open_loop::spawn("icmp_echo", opened, initiation, |spec, (socket, access), _, initiation| {
            let interval = spec.parameters.duration("interval", DEFAULT_INTERVAL);
            let seed = initiation.seed_for(spec);
            let sender = EchoSender::new(spec, access, SendSchedule::new(spec.window, interval, seed), seed);
            ProbeFlow::new(spec, interval, socket, packet_for(spec), Box::new(sender))
        })
    }
}

fn open(spec: &FlowSpec, initiation: &Initiation) -> Result<(Socket, Access), SetupError> {
    let server = initiation.server_for(spec)?;
    let (socket, access) = icmp::echo_socket(spec.family).map_err(SetupError::IcmpNotPermitted)?;
    let prepared = || -> io::Result<u32> {
        options::mark(&socket, spec.family, spec.class)?;
        let port_free = SocketAddr::new(server.ip(), 0);
        socket.connect(&port_free.into())?;
        options::receive_marking(&socket, spec.family)?;
        options::report_icmp(&socket, spec.family)?;
        options::stamp(&socket)?;
        options::marked(&socket, spec.family)
    };
    let octet = prepared().map_err(SetupError::socket("no ICMP socket towards the server"))?;
    initiation.end.event(spec.id, FlowEventKind::Marked, octet.to_string());
    Ok((socket, access))
}

fn length_of(spec: &FlowSpec) -> usize {
    spec.parameters.size("length", ByteCount(DEFAULT_OCTETS)).0.clamp(MARK as u64, MOST_OCTETS) as usize
}

fn packet_for(spec: &FlowSpec) -> Vec<u8> {
    let mut octets = vec![0; HEADER + length_of(spec)];
    Random(u64::from(spec.id.0)).fill(&mut octets);
    octets
}

/// Echo requests and what their replies mean, without a socket.
struct EchoSender {
    flow: FlowId,
    family: AddressFamily,
    access: Access,
    schedule: SendSchedule,
    next: Option<TestTime>,
    sequence: u32,
    mark: u64,
}

impl EchoSender {
    fn new(spec: &FlowSpec, access: Access, mut schedule: SendSchedule, seed: u64) -> Self {
        let next = schedule.next();
        let mark = Random(seed).next();
        Self { flow: spec.id, family: spec.family, access, schedule, next, sequence: 0, mark }
    }

    fn types(&self) -> (u8, u8) {
        match self.family {
            AddressFamily::Ipv4 => (8, 0),
            AddressFamily::Ipv6 => (128, 129),
        }
    }
}

impl Prober for EchoSender {
    fn due(&self) -> Option<TestTime> {
        self.next
    }

    fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent> {
        let scheduled = self.next?;
        if octets.len() < HEADER + MARK {
            return None;
        }
        octets[0..4].copy_from_slice(&[self.types().0, 0, 0, 0]);
        octets[4..6].copy_from_slice(&(self.mark as u16).to_be_bytes());
        octets[6..8].copy_from_slice(&(self.sequence as u16).to_be_bytes());
        octets[8..16].copy_from_slice(&self.mark.to_be_bytes());
        octets[16..20].copy_from_slice(&self.sequence.to_be_bytes());
        // The kernel does this for ping sockets and for ICMPv6; only a raw IPv4 socket takes it from here.
        let sum = checksum(octets);
        octets[2..4].copy_from_slice(&sum.to_be_bytes());
        let sent = ProbeSent { flow: self.flow, sequence: self.sequence, scheduled, sent: now };
        self.sequence += 1;
        self.next = self.schedule.next();
        Some(sent)
    }

    fn skip_before(&mut self, now: TestTime) -> u32 {
        let mut skipped = 0;
        while self.next.is_some_and(|due| due < now) {
            self.next = self.schedule.next();
            skipped += 1;
        }
        skipped
    }

    fn receive(&mut self, octets: &[u8], arrival: Arrival) -> Option<Reply> {
        let header = match (self.access, self.family, octets.first()) {
            (Access::Raw, AddressFamily::Ipv4, Some(first)) => usize::from(first & 0x0f) * 4,
            _ => 0,
        };
        let octets = octets.get(header..)?;
        let mark = u64::from_be_bytes(*octets.get(8..16)?.first_chunk()?);
        let sequence = u32::from_be_bytes(*octets.get(16..20)?.first_chunk()?);
        let ours = *octets.first()? == self.types().1 && mark == self.mark && sequence < self.sequence;
        let received = EchoReceived { flow: self.flow, sequence, received: arrival.received, read: arrival.read };
        ours.then(|| Reply { sequence, observations: [Some(received.into()), None, None] })
    }
}

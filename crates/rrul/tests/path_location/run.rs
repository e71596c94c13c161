//! A whole test over a virtual link, in virtual time: both hosts, what they send and what they write down.

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_lab::line::pipe::Outcome;
use rrul_lab::{LabTime, Link, VirtualLink};
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{FULL_HOP_LIMIT, ObservationPoint, PacketReceived};
use rrul_model::random::Random;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_proto::limits::Limits;
use rrul_proto::session_reflector::{Incoming, SessionReflector};
use rrul_proto::session_sender::{Arrival, Identity, SessionSender};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

use crate::load::{Load, Pace};
use crate::notes::Notes;
use crate::packets::{self, Arrived, Udp};
use crate::trace::Trace;
use crate::{ALL, LOAD, MS, between};

/// The session's.
pub(crate) const TOKEN: Token = Token([7; 16]);

/// The reflector's port; the client's is its own for each flow.
const SERVER_PORT: u16 = 7785;
const CLIENT_PORTS: u16 = 40_000;

/// The load's, at both hosts.
const LOAD_PORTS: u16 = 9;

/// A load is one when half of all packets wait for longer than this.
const LEAST_WAIT: u64 = 10_000_000;

const PROBE_INTERVAL: Duration = Duration::from_millis(20);

/// A link, a load and the draws of one run.
#[derive(Debug, Clone)]
pub(crate) struct Bed {
    /// The lines of the link's `[path]`.
    pub(crate) path: String,
    /// What they are from this moment on.
    pub(crate) then: Option<(TestTime, String)>,
    /// The directions that are loaded.
    pub(crate) loaded: Vec<Direction>,
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
}

impl Bed {
    /// Both directions loaded.
    pub(crate) fn new(path: String, seed: u64) -> Self {
        Self { path, then: None, loaded: Direction::ALL.to_vec(), pace: Pace::Even, seed }
    }

    /// 5 Mbit/s up and 8 down, 20 ms, and queues that hold 100 to 200 ms.
    fn link(&self, path: &str) -> Link {
        let mut random = Random(self.seed ^ 0x1111);
        // So many bytes are 100 to 200 ms of the rate.
        let mut limit = |rate: i64| between(&mut random, rate / 80, rate / 40);
        let (up, down) = (limit(5_000_000), limit(8_000_000));
        let text = format!(
            "rtt = \"20ms\"\n\
             [up]\nrate = \"5Mbit/s\"\nqueue = {{ discipline = \"bfifo\", limit = \"{up}B\" }}\n\
             [down]\nrate = \"8Mbit/s\"\nqueue = {{ discipline = \"bfifo\", limit = \"{down}B\" }}\n\
             [path]\n{path}\n"
        );
        Link::from_toml("test.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Runs the test and analyses what both ends wrote down.
    pub(crate) fn analyze(&self) -> Analysis {
        rrul_analysis::analyze(&self.run())
    }

    fn run(&self) -> Recording {
        let mut random = Random(self.seed.wrapping_mul(0x9e37_79b9));
        let link = VirtualLink::new(&self.link(&self.path), random.next(), LabTime(0));
        let mut run = Run::new(link, &self.loaded, self.pace, &mut random);
        if let Some((at, path)) = &self.then {
            run.until(*at);
            run.link.set(&self.link(path), lab(*at));
        }
        run.until(TestTime(ALL.to.0 + 500 * MS));
        for direction in &self.loaded {
            let median = run.median_wait(*direction);
            assert!(median >= LEAST_WAIT, "the {direction} queue is too short to look for: {median} ns, {self:?}");
        }
        run.notes.recording()
    }
}

fn lab(at: TestTime) -> LabTime {
    LabTime(at.0 as u64)
}

/// A run while it lasts.
struct Run {
    link: VirtualLink,
    now: TestTime,
    probes: Vec<(AddressFamily, SessionSender)>,
    reflector: SessionReflector,
    traces: Vec<Trace>,
    loads: Vec<Load>,
    notes: Notes,
    /// What the link knows of packets under load: their direction, and how long each waited.
    waits: Vec<(Direction, u64)>,
}

impl Run {
    fn new(link: VirtualLink, loaded: &[Direction], pace: Pace, random: &mut Random) -> Self {
        let mut notes = Notes::new();
        let mut reflector = SessionReflector::new(TOKEN, &Limits::default());
        let (mut probes, mut traces) = (Vec::new(), Vec::new());
        for family in AddressFamily::ALL {
            let flow = notes.flow("udp_probe", Component::Realtime, None, family);
            let identity = Identity { flow, seal: TOKEN.into(), octet: 0, server_origin: 0 };
            reflector.admit(flow.0, 50.0, None);
            reflector.prove(packets::client(family));
            probes.push((family, SessionSender::new(identity, ALL, PROBE_INTERVAL, random.next())));
        }
        for (family, direction) in AddressFamily::ALL.into_iter().flat_map(|one| Direction::ALL.map(|two| (one, two))) {
            let flow = notes.flow("path_trace", Component::Analysis, Some(direction), family);
            reflector.admit(flow.0, 32.0, None);
            let (client, server) = (CLIENT_PORTS + flow.0, SERVER_PORT);
            let ports = if direction == Direction::Up { (client, server) } else { (server, client) };
            traces.push(Trace::new((flow, family, direction), ports, ALL, random.next(), &mut notes));
        }
        let load = |direction: &Direction| Load::new(*direction, pace, (LOAD.from, LOAD.to), random.next());
        let loads = loaded.iter().map(load).collect();
        Self { link, now: TestTime(0), probes, reflector, traces, loads, notes, waits: Vec::new() }
    }

    /// One instant after the other, up to this one.
    fn until(&mut self, end: TestTime) {
        loop {
            let hosts = self.probes.iter().filter_map(|(_, probe)| probe.due());
            let hosts = hosts.chain(self.traces.iter().filter_map(Trace::due));
            let hosts = hosts.chain(self.loads.iter().filter_map(|load| load.due(self.now)));
            let link = self.link.next_event().map(|at| TestTime(at.0 as i64));
            let next = hosts.chain(link).min().map_or(end, |next| next.max(self.now));
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next;
            self.deliver();
            self.send();
        }
    }

    fn deliver(&mut self) {
        let mut delivered = Vec::new();
        self.link.poll(lab(self.now), |direction, outcome| {
            if let Outcome::Delivered(octets, record) = outcome {
                if LOAD.contains(TestTime(record.arrival.0 as i64)) {
                    self.waits.push((direction, record.queueing_delay));
                }
                delivered.push((direction, octets.to_vec()));
            }
        });
        for (direction, octets) in delivered {
            match packets::read(&octets, direction) {
                Some(Arrived::Icmp { family, source, error }) => {
                    let trace = self.traces.iter_mut().find(|trace| trace.is_about(direction, family, &error));
                    if let Some(trace) = trace {
                        trace.hop_answered(source, &error, self.now, &mut self.notes);
                    }
                }
                Some(Arrived::Udp(udp)) if udp.source_port == LOAD_PORTS => self.load_arrives(&udp),
                Some(Arrived::Udp(udp)) => match direction {
                    Direction::Up => self.server_receives(&udp),
                    Direction::Down => self.client_receives(&udp),
                },
                None => {}
            }
        }
    }

    fn median_wait(&self, direction: Direction) -> u64 {
        let ours = self.waits.iter().filter(|(way, _)| *way == direction);
        let mut waits: Vec<u64> = ours.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() / 2).copied().unwrap_or(0)
    }

    fn load_arrives(&mut self, udp: &Udp<'_>) {
        // Data and acknowledgments go opposite ways; only data is long.
        let is_data = udp.payload.len() > 1000;
        let direction = if is_data { udp.direction } else { udp.direction.opposite() };
        let load = self.loads.iter_mut().find(|load| load.direction == direction).expect("it has sent this");
        if !is_data {
            load.acknowledged(udp.payload, self.now);
            return;
        }
        let payload = load.arrives(udp.payload);
        self.offer(&Udp { direction: udp.direction.opposite(), payload: &payload, ..*udp });
    }

    fn server_receives(&mut self, udp: &Udp<'_>) {
        let Ok(packet) = TestPacket::read(udp.payload) else { return };
        if packet.kind == Kind::TraceReply {
            self.far_end_answered(&packet);
            return;
        }
        if packet.kind == Kind::Test {
            let (flow, sequence, received) = (FlowId(packet.flow), packet.sequence, self.now);
            let row = PacketReceived { flow, sequence, received, octet: udp.octet };
            self.notes.observe(ObservationPoint::Server, received, row);
        }
        let source = packets::client(udp.family);
        let incoming = Incoming { source, received: self.now.0, octet: udp.octet, hop_limit: Some(udp.hop_limit) };
        let mut octets = udp.payload.to_vec();
        let now = self.now.0;
        let Ok(reply) = self.reflector.reflect(&mut octets, incoming, || now) else { return };
        self.back(udp, reply.octet, &octets[..reply.length]);
    }

    fn client_receives(&mut self, udp: &Udp<'_>) {
        let Ok(packet) = TestPacket::read(udp.payload) else { return };
        match packet.kind {
            Kind::TraceReply => self.far_end_answered(&packet),
            Kind::Trace => {
                let mut octets = [0; LEAST_OCTETS];
                let reply = TestPacket {
                    kind: Kind::TraceReply,
                    octet_received: udp.octet,
                    reflector_count: u32::from(udp.hop_limit),
                    t2: self.now.0,
                    t3: self.now.0,
                    ..packet
                };
                reply.write(&mut octets).expect("it is as long as a test packet");
                self.back(udp, 0, &octets);
            }
            _ => {
                let arrival = Arrival { received: self.now, read: self.now, octet: udp.octet };
                let probe = self.probes.iter_mut().find(|(family, _)| *family == udp.family);
                let answer = probe.and_then(|(_, probe)| probe.receive(udp.payload, arrival));
                if let Some(answer) = answer {
                    self.notes.observe(ObservationPoint::Client, self.now, answer.received);
                }
            }
        }
    }

    fn far_end_answered(&mut self, reply: &TestPacket) {
        let trace = self.traces.iter_mut().find(|trace| trace.flow.0 == reply.flow).expect("it has sent this");
        trace.far_end_answered(reply, self.now, &mut self.notes);
    }

    /// Sends an answer to where a packet came from.
    fn back(&mut self, to: &Udp<'_>, octet: u8, payload: &[u8]) {
        self.offer(&Udp {
            direction: to.direction.opposite(),
            source_port: to.destination_port,
            destination_port: to.source_port,
            octet,
            hop_limit: FULL_HOP_LIMIT,
            payload,
            ..*to
        });
    }

    fn offer(&mut self, udp: &Udp<'_>) {
        self.link.offer(udp.direction, &udp.octets(), lab(self.now));
    }

    fn send(&mut self) {
        let now = self.now;
        let mut leaving = Vec::new();
        for (family, probe) in self.probes.iter_mut().filter(|(_, probe)| probe.due().is_some_and(|due| due <= now)) {
            let mut payload = [0; LEAST_OCTETS];
            let Some(sent) = probe.send(now, &mut payload) else { continue };
            self.notes.observe(ObservationPoint::Client, now, sent);
            let (source_port, destination_port) = (CLIENT_PORTS + sent.flow.0, SERVER_PORT);
            let (family, direction, hop_limit) = (*family, Direction::Up, FULL_HOP_LIMIT);
            let payload = &payload;
            let udp = Udp { family, direction, source_port, destination_port, octet: 0, hop_limit, payload };
            leaving.push((direction, udp.octets()));
        }
        for trace in &mut self.traces {
            while let Some(octets) = trace.send(now, &mut self.notes) {
                leaving.push((trace.direction, octets));
            }
        }
        for load in &mut self.loads {
            while let Some(payload) = load.send(now) {
                let udp = Udp {
                    family: AddressFamily::Ipv4,
                    direction: load.direction,
                    source_port: LOAD_PORTS,
                    destination_port: LOAD_PORTS,
                    octet: 0,
                    hop_limit: FULL_HOP_LIMIT,
                    payload: &payload,
                };
                leaving.push((load.direction, udp.octets()));
            }
        }
        for (direction, octets) in leaving {
            self.link.offer(direction, &octets, lab(now));
        }
    }
}

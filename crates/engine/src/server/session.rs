//! Sessions at the server: opened by a control connection, gone when it closes; and what the server does for their flows.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::units::BitRate;
use rrul_proto::admission::consent;
use rrul_proto::admission::session_lease::SILENCE_TIME;
use rrul_proto::control::ClientMessage;
use rrul_proto::limits::{Limits, RateCap};
use rrul_proto::opening::ClientOpening;
use rrul_proto::packet_seal::{PacketSeal, PacketSecrets};
use rrul_proto::session_reflector::SessionReflector;
use rrul_proto::stream_key::{NAMING_OCTETS, StreamKey};
use rrul_proto::token::Token;

use super::client_quota::{CountedConnection, HeldPlace};
use super::datagram_port::{Departing, Sent, StampTaker};
use super::greetings::Greetings;
use super::host::Ways;
use super::pages::connections::PageConnections;
use super::traffic::session_traffic::SessionTraffic;
use crate::clock::RawTime;
use crate::clock::host_clock::HostClock;
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::privacy::Privacy;
use crate::socket::options;

/// Path traces that one session may have sent: each opens a socket of its own, and as many as a session may have flows would
/// use up the server's descriptors.
const MOST_TRACES: usize = 8;

/// Addresses of one session from which connections are no strangers'.
const MOST_HOMES: usize = 8;

/// Bytes that may wait in the kernel for the receivers of one session's streams, and of one stream: enough that a thread is
/// woken a few times a millisecond at most, and no more than a client that reads nothing may take.
const UNSENT: usize = 16 << 20;
const LEAST_UNSENT: usize = 64 << 10;
const MOST_UNSENT: usize = 1 << 20;

/// Every session of a server.
#[derive(Default)]
pub(super) struct Sessions(RwLock<HashMap<[u8; NAMING_OCTETS], Arc<Session>>>);

/// One client's business.
pub(super) struct Session {
    seal: PacketSeal,
    /// What its streams are opened with, where the control connection is encrypted.
    stream_key: Option<StreamKey>,
    peer: SocketAddr,
    /// Addresses that its connections come from. Not asked of the reflector, whose thread must not wait for connections.
    homes: RwLock<Vec<IpAddr>>,
    clock: HostClock,
    /// What the host's clock shows at zero of the session clock.
    epoch: RawTime,
    reflector: Mutex<SessionReflector>,
    /// How packets get to it.
    pub(super) ways: Ways,
    /// How many connections of flows that open many are still granted.
    connections: Mutex<RateCap>,
    pub(super) one_way: Greetings,
    pub(super) pages: PageConnections,
    /// Replies that this host had no room for, by flow.
    unsent: Mutex<BTreeMap<u16, u32>>,
    /// When the client last showed that it is there, on the session clock.
    heard: AtomicI64,
    /// Whether it says that it is there.
    says_alive: AtomicBool,
    /// What it moves, both directions.
    pub(super) moved: Arc<SessionTraffic>,
    test: Mutex<Option<Test>>,
}

/// What a session derives from its encrypted control connection.
pub(super) struct SessionKeys {
    pub(super) streams: StreamKey,
    /// Absent when the client does not seal its packets.
    pub(super) packets: Option<PacketSecrets>,
}

/// The server's part in the flows of a type.
pub(crate) trait ServerPart: Sync {
    /// Takes what a flow needs from what its session may have.
    fn admit(
        &self,
        _spec: &FlowSpec,
        _packets_per_second: f64,
        _session: &mut Admission<'_>,
    ) -> Result<(), FlowRefusal> {
        Ok(())
    }

    /// Which connections belong to a flow.
    fn connections(&self) -> Connections {
        Connections::None
    }

    /// Serves a connection of a flow, on the connection's own thread. `answer` is what the server says first. The connection is
    /// closed when this returns.
    fn serve(&self, _spec: &FlowSpec, _stream: &Arc<TcpStream>, _answer: &[u8], _end: &Endpoint) {}

    /// Returns the key of the thread that sends such flows to the client: flows of one key share a thread.
    fn sender(&self) -> Option<&'static str> {
        None
    }

    /// Sends these flows to the client until their end, on that thread.
    fn send(&self, _sending: &Sending<'_>, _specs: &[FlowSpec]) {}
}

/// The connections of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connections {
    None,
    /// One, which begins with rrul's opening.
    One,
    /// Any number that begin so.
    Many,
    /// Any number that speak HTTP.
    Pages,
}

/// What a part needs to send the flows of a session.
#[derive(Clone, Copy)]
pub(crate) struct Sending<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) end: &'a Endpoint,
    pub(super) clock: TestClock,
    /// T0 on the session clock.
    pub(super) origin: i64,
    pub(super) privacy: Privacy,
}

/// Why the server does not serve a flow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlowRefusal {
    #[error("this server knows no flow type \"{0}\"; update it")]
    UnknownType(String),
    #[error("this server allows no floods; its owner may, with --allow-flood")]
    NoFloods,
    #[error("this server allows floods of {0} in all")]
    Flood(BitRate),
    #[error("this server marks no packet {0}; its owner may, with --dscp")]
    Mark(ServiceClass),
    #[error("this server sends no more than {MOST_TRACES} path traces in a session")]
    PathTraces,
    #[error("this server sends packets only to a client that goes on asking for them; update the client")]
    NoConsent,
    #[error("more packets a second than this server sends; raise its interval")]
    PacketRate,
}

fn naming_half(token: &Token) -> [u8; NAMING_OCTETS] {
    let mut half = [0; NAMING_OCTETS];
    half.copy_from_slice(&token.0[..NAMING_OCTETS]);
    half
}

/// What the flows of a session may still take, while a test is opened.
pub(crate) struct Admission<'a> {
    session: &'a Session,
    packets_per_second: f64,
    traces: usize,
    /// Bytes of each packet of the flow that is admitted now, where all are of one length.
    pub(super) packet_length: Option<usize>,
}

impl Admission<'_> {
    /// The reflector takes this many packets of the flow a second.
    pub(super) fn reserve_replies(&self, spec: &FlowSpec, packets_per_second: f64) {
        self.session.reflector().admit(spec.id.0, packets_per_second, self.packet_length);
    }

    /// The flow has this many packets a second that are not answered. Those to the client go to where its greeting comes from.
    pub(super) fn reserve_packets(&mut self, spec: &FlowSpec, packets_per_second: f64) -> Result<(), FlowRefusal> {
        self.packets_per_second -= packets_per_second;
        if self.packets_per_second < 0.0 {
            return Err(FlowRefusal::PacketRate);
        }
        if spec.direction == Some(Direction::Down) {
            if !self.session.says_alive() {
                return Err(FlowRefusal::NoConsent);
            }
            self.session.one_way.admit(spec.id);
        }
        Ok(())
    }

    /// The flow is a path trace; one to the client takes a socket.
    pub(super) fn reserve_trace(&mut self, spec: &FlowSpec) -> Result<(), FlowRefusal> {
        if spec.direction == Some(Direction::Down) {
            self.traces = self.traces.checked_sub(1).ok_or(FlowRefusal::PathTraces)?;
        }
        Ok(())
    }
}

type Part = &'static dyn ServerPart;

/// Whether a thread of the session sends packets of this flow.
fn is_sent_by_server(spec: &FlowSpec, part: Part) -> bool {
    part.sender().is_some() && spec.direction == Some(Direction::Down)
}

struct Test {
    flows: HashMap<FlowId, (FlowSpec, Part)>,
    /// How many connections are still granted of flows that declare how many they open. Those that take what the path
    /// gives have a turn.
    caps: HashMap<FlowId, RateCap>,
    end: Arc<Endpoint>,
    /// Bytes that may wait in each stream of a flow that has one.
    unsent: usize,
    is_reflected: bool,
}

/// What a connection has come for.
pub(super) enum Attached {
    Flow(AttachedFlow),
    /// A flow, which has opened more connections than are granted in this second.
    TooMany,
}

/// A flow of which a connection has arrived.
pub(super) struct AttachedFlow {
    spec: FlowSpec,
    part: Part,
    end: Arc<Endpoint>,
    /// Bytes that may wait in each of its streams.
    unsent: usize,
    moved: Arc<SessionTraffic>,
}

impl AttachedFlow {
    /// Serves the connection, which has not been answered.
    pub(super) fn serve(&self, stream: TcpStream, answer: &[u8]) {
        // A kernel without it keeps what its own bounds allow.
        let _ = options::limit_unsent(&stream, self.unsent);
        // A class that the router starves is a figure. How long the stream lasts is for the lease, not for the kernel.
        let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(None);
        let stream = Arc::new(stream);
        let _counted = self.moved.watch(&stream);
        self.part.serve(&self.spec, &stream, answer, &self.end);
        let _ = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(SILENCE_TIME));
    }
}

/// A session that is closed when the thread that serves it lets go of it, however that comes about.
pub(super) struct OpenSession {
    sessions: Arc<Sessions>,
    pub(super) session: Arc<Session>,
    _held: (HeldPlace, CountedConnection),
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.session.stop();
        self.sessions.0.write().unwrap_or_else(PoisonError::into_inner).remove(&naming_half(&self.session.token()));
    }
}

impl Sessions {
    /// Opens a session, if room is left. It keeps its place and its connection as long as it is open.
    pub(super) fn open(
        self: Arc<Self>,
        limits: &Limits,
        clock: HostClock,
        peer: SocketAddr,
        keys: Option<SessionKeys>,
        held: (HeldPlace, CountedConnection),
    ) -> io::Result<OpenSession> {
        let mut octets = [0; 16];
        getrandom::fill(&mut octets).map_err(io::Error::other)?;
        let token = Token(octets);
        let seal = PacketSeal::of_server(token, keys.as_ref().and_then(|keys| keys.packets.as_ref()));
        let session = Arc::new(Session {
            seal: seal.clone(),
            stream_key: keys.map(|keys| keys.streams),
            peer,
            homes: RwLock::default(),
            clock,
            epoch: clock.reads(RawTime::now()),
            reflector: Mutex::new(SessionReflector::new(seal, limits)),
            connections: Mutex::new(RateCap::new(limits.connections_per_second)),
            one_way: Greetings::default(),
            pages: PageConnections::default(),
            ways: Ways::default(),
            unsent: Mutex::default(),
            heard: AtomicI64::new(0),
            says_alive: AtomicBool::new(false),
            moved: Arc::default(),
            test: Mutex::new(None),
        });
        session.prove(peer.ip());
        let mut sessions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= limits.sessions as usize || sessions.contains_key(&naming_half(&token)) {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        sessions.insert(naming_half(&token), Arc::clone(&session));
        drop(sessions);
        Ok(OpenSession { sessions: self, session, _held: held })
    }

    /// The session of a packet that bears the token, as lookups and pages do.
    pub(super) fn find(&self, token: &Token) -> Option<Arc<Session>> {
        self.named(token).filter(|session| session.token() == *token)
    }

    /// The session that the client of an opening may speak for.
    pub(super) fn find_for(&self, opening: &ClientOpening) -> Option<Arc<Session>> {
        self.named(&opening.token).filter(|session| match &session.stream_key {
            None => session.token() == opening.token,
            Some(key) => key.opens(opening, session.token()),
        })
    }

    /// The session that the first half of a token names: a packet may bear a tag in the place of the other.
    pub(super) fn named(&self, token: &Token) -> Option<Arc<Session>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&naming_half(token)).cloned()
    }

    /// Whether a session has a connection from this address.
    pub(super) fn knows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_home =
            |session: &Arc<Session>| session.homes.read().unwrap_or_else(PoisonError::into_inner).contains(&address);
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().any(is_home)
    }

    pub(super) fn count(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Stops every test, as the server stops.
    pub(super) fn stop_all(&self) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().for_each(|session| session.stop());
    }
}

impl StampTaker for Session {
    fn at(&self, raw: RawTime) -> i64 {
        Self::at(self, raw)
    }

    fn stamped(&self, packet: &Departing, sent: i64) {
        match packet.what {
            Sent::Reply => self.reflector().stamped(packet.flow, packet.sequence, sent),
            Sent::OneWay => self.one_way.stamped(packet.flow, packet.sequence, sent),
        }
    }
}

impl Session {
    /// This session as the receiver of transmit stamps.
    pub(super) fn stamp_taker(session: &Arc<Self>) -> Weak<dyn StampTaker> {
        let taker: Weak<Self> = Arc::downgrade(session);
        taker
    }

    /// The host's clock, and what it shows at zero of the session clock.
    pub(super) fn clock(&self) -> (HostClock, RawTime) {
        (self.clock, self.epoch)
    }

    /// The client has said something on its control connection.
    pub(super) fn heard(&self, raw: RawTime, message: &ClientMessage) {
        self.is_there(raw);
        if matches!(message, ClientMessage::Alive) {
            self.says_alive.store(true, Ordering::Relaxed);
        }
    }

    /// The client has shown that it is there.
    pub(super) fn is_there(&self, raw: RawTime) {
        self.heard.fetch_max(self.at(raw), Ordering::Relaxed);
    }

    /// How many bytes it has moved, both directions: all packets so far, and streams as they were read last.
    pub(super) fn moved(&self) -> u64 {
        self.moved.octets()
    }

    /// This host had no room for a reply of this flow.
    pub(super) fn not_sent(&self, flow: u16) {
        *self.unsent.lock().unwrap_or_else(PoisonError::into_inner).entry(flow).or_default() += 1;
    }

    /// How many replies of each flow this host had no room for, where it had none.
    pub(super) fn unsent(&self) -> BTreeMap<u16, u32> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the client says that it is there: its silence then means that it is not.
    pub(super) fn says_alive(&self) -> bool {
        self.says_alive.load(Ordering::Relaxed)
    }

    /// Whether the client still wants the packets of a flow that the server sends by itself.
    pub(super) fn consents(&self, flow: FlowId, raw: RawTime) -> bool {
        let greeted = self.one_way.last_greeted(flow);
        greeted.is_some_and(|greeted| consent::is_fresh(greeted, self.heard.load(Ordering::Relaxed), self.at(raw)))
    }

    /// Where the control connection came from.
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The client has completed a TCP handshake from this address.
    pub(super) fn prove(&self, address: IpAddr) {
        self.reflector().prove(address);
        let address = address.to_canonical();
        let mut homes = self.homes.write().unwrap_or_else(PoisonError::into_inner);
        if homes.len() < MOST_HOMES && !homes.contains(&address) {
            homes.push(address);
        }
    }

    /// The state of the UDP side.
    pub(super) fn reflector(&self) -> MutexGuard<'_, SessionReflector> {
        self.reflector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What binds packets to it.
    pub(super) fn token(&self) -> Token {
        self.seal.token()
    }

    /// What packets of its flows are sealed with.
    pub(super) fn seal(&self) -> &PacketSeal {
        &self.seal
    }

    /// Nanoseconds on the session clock.
    pub(super) fn at(&self, raw: RawTime) -> i64 {
        self.clock.reads(raw).since(self.epoch)
    }

    /// The flow that a connection belongs to. Most take one; those that open many take what the cap grants.
    pub(super) fn attach(&self, flow: FlowId) -> Option<Attached> {
        let mut test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let test = test.as_mut()?;
        let (spec, part) = match test.flows.get(&flow)?.1.connections() {
            Connections::One => test.flows.remove(&flow)?,
            Connections::Many => {
                let mut cap = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
                let now = RawTime::now().0;
                let exceeds = |declared: &mut RateCap| !declared.grant(now);
                if !cap.grant(now) || test.caps.get_mut(&flow).is_some_and(exceeds) {
                    return Some(Attached::TooMany);
                }
                test.flows.get(&flow)?.clone()
            }
            Connections::Pages | Connections::None => return None,
        };
        let unsent = match part.connections() {
            Connections::Many => LEAST_UNSENT,
            _ => test.unsent,
        };
        let (end, moved) = (Arc::clone(&test.end), Arc::clone(&self.moved));
        Some(Attached::Flow(AttachedFlow { spec, part, end, unsent, moved }))
    }

    /// A flow whose pages the server serves.
    pub(super) fn page_flow(&self, flow: FlowId) -> Option<(FlowSpec, Arc<Endpoint>)> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let test = test.as_ref()?;
        let (spec, part) = test.flows.get(&flow)?;
        (part.connections() == Connections::Pages).then(|| (spec.clone(), Arc::clone(&test.end)))
    }

    /// The class of a flow, if the session has it.
    pub(super) fn class_of(&self, flow: u16) -> Option<ServiceClass> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        test.as_ref()?.flows.get(&FlowId(flow)).map(|(spec, _)| spec.class)
    }

    /// The flows whose packets the server sends by itself, by the thread that sends them, in the order of the plan.
    pub(super) fn flows_to_send(&self) -> BTreeMap<&'static str, (&'static dyn ServerPart, Vec<FlowSpec>)> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads = BTreeMap::new();
        for (spec, part) in test.iter().flat_map(|test| test.flows.values()) {
            if let Some(thread) = part.sender().filter(|_| is_sent_by_server(spec, *part)) {
                threads.entry(thread).or_insert_with(|| (*part, Vec::new())).1.push(spec.clone());
            }
        }
        for (_, flows) in threads.values_mut() {
            flows.sort_unstable_by_key(|spec| spec.id);
        }
        threads
    }

    /// Whether the server's part in every flow is no more than what its reflector, or its host, does.
    pub(super) fn is_reflected(&self) -> bool {
        self.test.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_some_and(|test| test.is_reflected)
    }

    fn stop(&self) {
        if let Some(test) = self.test.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            test.end.stop();
        }
    }

    /// Begins to admit the flows of a test.
    pub(super) fn admission(&self, limits: &Limits) -> Admission<'_> {
        let packets_per_second = f64::from(limits.packets_per_second);
        Admission { session: self, packets_per_second, traces: MOST_TRACES, packet_length: None }
    }

    /// Takes the flows that were admitted, with the caps of those that open many connections.
    pub(super) fn open_test(&self, flows: Vec<(FlowSpec, Part)>, caps: HashMap<FlowId, RateCap>, end: &Arc<Endpoint>) {
        let streams = flows.iter().filter(|(_, part)| part.connections() == Connections::One).count();
        let unsent = (UNSENT / streams.max(1)).clamp(LEAST_UNSENT, MOST_UNSENT);
        let is_reflected =
            flows.iter().all(|(spec, part)| part.connections() == Connections::None && !is_sent_by_server(spec, *part));
        let flows = flows.into_iter().map(|(spec, part)| (spec.id, (spec, part))).collect();
        let test = Test { flows, caps, end: Arc::clone(end), unsent, is_reflected };
        *self.test.lock().unwrap_or_else(PoisonError::into_inner) = Some(test);
    }
}

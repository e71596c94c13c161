//! Sessions at the server: opened by a control connection, gone when it closes.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::units::BitRate;
use rrul_proto::control::RefusedFlow;
use rrul_proto::limits::{Limits, RateCap};
use rrul_proto::session_reflector::SessionReflector;
use rrul_proto::token::Token;

use super::datagram_port::{Departing, Sent, StampTaker};
use super::greetings::Greetings;
use super::host::Ways;
use super::pages::connections::PageConnections;
use crate::clock::RawTime;
use crate::clock::host_clock::HostClock;
use crate::flow_type::{FlowType, ServerPart};
use crate::flow_types;
use crate::socket::options;
use crate::test_end::TestEnd;

/// Path traces that one session may have sent: each opens a socket of its own, and as many as a session may have flows would
/// use up the server's descriptors.
const MOST_TRACES: usize = 8;

/// Every session of a server.
#[derive(Default)]
pub(super) struct Sessions(RwLock<HashMap<Token, Arc<Session>>>);

/// One client's business.
pub(super) struct Session {
    token: Token,
    peer: SocketAddr,
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
    test: Mutex<Option<Test>>,
}

struct Test {
    flows: HashMap<FlowId, (FlowSpec, &'static dyn FlowType)>,
    end: Arc<TestEnd>,
}

/// What a connection has come for.
pub(super) enum Attached {
    /// The one stream of a flow.
    Stream(Responder),
    /// One of the many connections of a flow.
    Connection(Responder),
    /// One more of those than is granted in this second.
    TooMany,
}

/// A flow whose stream, or one of whose connections, has arrived.
pub(super) struct Responder {
    spec: FlowSpec,
    flow_type: &'static dyn FlowType,
    end: Arc<TestEnd>,
}

impl Responder {
    pub(super) fn respond(&self, stream: TcpStream) {
        self.flow_type.respond(&self.spec, stream, &self.end);
    }

    /// Serves one of many connections, which has not been answered.
    pub(super) fn serve_connection(&self, stream: TcpStream, answer: &[u8]) {
        // One that cannot be marked is served unmarked: the client's own end has said so before.
        let _ = options::mark(&stream, self.spec.family, self.spec.class);
        self.flow_type.serve_connection(&self.spec, stream, answer, &self.end);
    }
}

/// A session that is closed when its control connection's thread lets go of it, however that comes about.
pub(super) struct OpenSession<'a> {
    sessions: &'a Sessions,
    pub(super) session: Arc<Session>,
}

impl Drop for OpenSession<'_> {
    fn drop(&mut self) {
        self.session.stop();
        self.sessions.0.write().unwrap_or_else(PoisonError::into_inner).remove(&self.session.token);
    }
}

impl Sessions {
    /// Opens a session, if there is room.
    pub(super) fn open(&self, limits: &Limits, clock: HostClock, peer: SocketAddr) -> io::Result<OpenSession<'_>> {
        let mut octets = [0; 16];
        getrandom::fill(&mut octets).map_err(io::Error::other)?;
        let token = Token(octets);
        let session = Arc::new(Session {
            token,
            peer,
            clock,
            epoch: clock.reads(RawTime::now()),
            reflector: Mutex::new(SessionReflector::new(token, limits)),
            connections: Mutex::new(RateCap::new(limits.connections_per_second)),
            one_way: Greetings::default(),
            pages: PageConnections::default(),
            ways: Ways::default(),
            test: Mutex::new(None),
        });
        session.prove(peer.ip());
        let mut sessions = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= limits.sessions as usize {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        sessions.insert(token, Arc::clone(&session));
        Ok(OpenSession { sessions: self, session })
    }

    /// The session with this token.
    pub(super) fn find(&self, token: &Token) -> Option<Arc<Session>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(token).cloned()
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Stops every test, as the server stops.
    pub(super) fn stop_all(&self) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().for_each(|session| session.stop());
    }
}

fn flood_refusal(allowed: BitRate) -> String {
    match allowed.0 {
        0 => "this server allows no floods; its owner may, with --allow-flood".to_owned(),
        _ => format!("this server allows floods of {allowed} in all"),
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
            Sent::Train | Sent::Answer => {}
        }
    }
}

impl Session {
    /// This session as the one who is told when packets really left.
    pub(super) fn stamp_taker(session: &Arc<Self>) -> Weak<dyn StampTaker> {
        let taker: Weak<Self> = Arc::downgrade(session);
        taker
    }

    /// The host's clock, and what it shows at zero of the session clock.
    pub(super) fn clock(&self) -> (HostClock, RawTime) {
        (self.clock, self.epoch)
    }

    /// Where the control connection came from.
    pub(super) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The client has completed a TCP handshake from this address.
    pub(super) fn prove(&self, address: IpAddr) {
        self.reflector().prove(address);
    }

    /// The state of the UDP side.
    pub(super) fn reflector(&self) -> MutexGuard<'_, SessionReflector> {
        self.reflector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What binds packets to it.
    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// Nanoseconds on the session clock.
    pub(super) fn at(&self, raw: RawTime) -> i64 {
        self.clock.reads(raw).since(self.epoch)
    }

    /// The flow that a connection belongs to. Most take one; those that open many take what the cap grants.
    pub(super) fn attach(&self, flow: FlowId) -> Option<Attached> {
        let mut test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let test = test.as_mut()?;
        let (spec, flow_type) = test.flows.get(&flow)?;
        match flow_type.server_part() {
            ServerPart::Stream => {
                let (spec, flow_type) = test.flows.remove(&flow)?;
                Some(Attached::Stream(Responder { spec, flow_type, end: Arc::clone(&test.end) }))
            }
            ServerPart::Connections => {
                let mut cap = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
                let granted = cap.grant(RawTime::now().0);
                let responder = || Responder { spec: spec.clone(), flow_type: *flow_type, end: Arc::clone(&test.end) };
                Some(if granted { Attached::Connection(responder()) } else { Attached::TooMany })
            }
            ServerPart::Pages
            | ServerPart::Reflector
            | ServerPart::OneWay
            | ServerPart::PathTrace
            | ServerPart::Nothing => None,
        }
    }

    /// A flow whose pages the server serves.
    pub(super) fn page_flow(&self, flow: FlowId) -> Option<(FlowSpec, Arc<TestEnd>)> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let test = test.as_ref()?;
        let (spec, flow_type) = test.flows.get(&flow)?;
        (flow_type.server_part() == ServerPart::Pages).then(|| (spec.clone(), Arc::clone(&test.end)))
    }

    /// The class of a flow, if the session has it.
    pub(super) fn class_of(&self, flow: u16) -> Option<ServiceClass> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        test.as_ref()?.flows.get(&FlowId(flow)).map(|(spec, _)| spec.class)
    }

    /// The flows whose packets the server sends by itself, in the order of the plan.
    pub(super) fn flows_to_send(&self, part: ServerPart) -> Vec<FlowSpec> {
        let test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = |(spec, flow_type): &&(FlowSpec, &'static dyn FlowType)| {
            flow_type.server_part() == part && spec.direction == Some(Direction::Down)
        };
        let flows = test.iter().flat_map(|test| test.flows.values());
        let mut flows: Vec<FlowSpec> = flows.filter(ours).map(|(spec, _)| spec.clone()).collect();
        flows.sort_by_key(|spec| spec.id);
        flows
    }

    fn stop(&self) {
        if let Some(test) = self.test.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            test.end.stop();
        }
    }

    /// Takes the flows of a test, and says which it will not serve.
    pub(super) fn open_test(&self, flows: Vec<FlowSpec>, end: &Arc<TestEnd>, limits: &Limits) -> Vec<RefusedFlow> {
        let mut refused = Vec::new();
        let mut taken = HashMap::new();
        let mut left = f64::from(limits.packets_per_second);
        let mut traces = 0;
        let mut flooded: u64 = 0;
        let mut refuse = |spec: &FlowSpec, reason: String| refused.push(RefusedFlow { flow: spec.id, reason });
        for spec in flows {
            let Some(flow_type) = flow_types::named(&spec.flow_type) else {
                refuse(&spec, format!("this server knows no flow type \"{}\"; update it", spec.flow_type));
                continue;
            };
            if let Some(rate) = flow_type.flood_rate(&spec) {
                flooded = flooded.saturating_add(rate.0);
                if flooded > limits.flood_bits_per_second {
                    refuse(&spec, flood_refusal(BitRate(limits.flood_bits_per_second)));
                    continue;
                }
            }
            let part = flow_type.server_part();
            let is_sent = spec.direction == Some(Direction::Down);
            if part == ServerPart::PathTrace && is_sent {
                traces += 1;
                if traces > MOST_TRACES {
                    refuse(&spec, format!("this server sends no more than {MOST_TRACES} path traces in a session"));
                    continue;
                }
            }
            if [ServerPart::OneWay, ServerPart::PathTrace].contains(&part) {
                left -= flow_type.packets_per_second(&spec);
                if left < 0.0 {
                    refuse(&spec, "more packets a second than this server sends; raise its interval".to_owned());
                    continue;
                }
                if is_sent {
                    self.one_way.admit(spec.id);
                }
            }
            if [ServerPart::Reflector, ServerPart::OneWay, ServerPart::PathTrace].contains(&part) {
                self.reflector().admit(spec.id.0, flow_type.packets_per_second(&spec));
            }
            taken.insert(spec.id, (spec, flow_type));
        }
        *self.test.lock().unwrap_or_else(PoisonError::into_inner) = Some(Test { flows: taken, end: Arc::clone(end) });
        refused
    }
}

//! Sessions at the server: opened by a control connection, gone when it closes.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::ObservationPoint;
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, RefusedFlow, ServerMessage};
use rrul_proto::limits::{FETCHING_TIME, Limits, PREPARING_TIME, SAMPLE_INTERVAL};
use rrul_proto::session_reflector::SessionReflector;
use rrul_proto::token::Token;

use super::Shared;
use crate::clock::{RawTime, TestClock};
use crate::control_link::{self, Compression, LinkError};
use crate::flow_type::{FlowType, ServerPart};
use crate::flow_types;
use crate::test_end::{PATIENCE, TestEnd};

/// How often what was observed is sent.
const FRAME_INTERVAL: Duration = Duration::from_secs(1);

/// How long after the last phase a server goes on observing: for what is still on its way.
const SETTLING: Duration = Duration::from_millis(300);

/// Every session of a server.
#[derive(Default)]
pub(super) struct Sessions(RwLock<HashMap<Token, Arc<Session>>>);

/// One client's business.
pub(super) struct Session {
    token: Token,
    peer: SocketAddr,
    /// Zero of the session clock.
    epoch: RawTime,
    reflector: Mutex<SessionReflector>,
    test: Mutex<Option<Test>>,
}

struct Test {
    flows: HashMap<FlowId, (FlowSpec, &'static dyn FlowType)>,
    end: Arc<TestEnd>,
}

/// A flow whose stream has arrived.
pub(super) struct Attached {
    spec: FlowSpec,
    flow_type: &'static dyn FlowType,
    end: Arc<TestEnd>,
}

impl Attached {
    pub(super) fn respond(&self, stream: TcpStream) {
        self.flow_type.respond(&self.spec, stream, &self.end);
    }
}

/// A session that is closed when its control connection's thread lets go of it, however that comes about.
pub(super) struct OpenSession<'a> {
    sessions: &'a Sessions,
    session: Arc<Session>,
}

impl Drop for OpenSession<'_> {
    fn drop(&mut self) {
        self.session.stop();
        self.sessions.0.write().unwrap_or_else(PoisonError::into_inner).remove(&self.session.token);
    }
}

impl Sessions {
    /// Opens a session, if there is room.
    pub(super) fn open(&self, limits: &Limits, peer: SocketAddr) -> io::Result<OpenSession<'_>> {
        let mut octets = [0; 16];
        getrandom::fill(&mut octets).map_err(io::Error::other)?;
        let token = Token(octets);
        let session = Arc::new(Session {
            token,
            peer,
            epoch: RawTime::now(),
            reflector: Mutex::new(SessionReflector::new(token, limits)),
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

impl Session {
    /// The client has completed a TCP handshake from this address.
    pub(super) fn prove(&self, address: IpAddr) {
        self.reflector().prove(address);
    }

    /// The state of the UDP side.
    pub(super) fn reflector(&self) -> MutexGuard<'_, SessionReflector> {
        self.reflector.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds on the session clock.
    pub(super) fn at(&self, raw: RawTime) -> i64 {
        raw.since(self.epoch)
    }

    /// The flow that a stream belongs to; each takes one stream.
    pub(super) fn attach(&self, flow: FlowId) -> Option<Attached> {
        let mut test = self.test.lock().unwrap_or_else(PoisonError::into_inner);
        let test = test.as_mut()?;
        let (_, flow_type) = test.flows.get(&flow)?;
        if flow_type.server_part() != ServerPart::Stream {
            return None;
        }
        let (spec, flow_type) = test.flows.remove(&flow)?;
        Some(Attached { spec, flow_type, end: Arc::clone(&test.end) })
    }

    fn stop(&self) {
        if let Some(test) = self.test.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            test.end.stop();
        }
    }

    /// Takes the flows of a test, and says which it will not serve.
    fn open_test(&self, flows: Vec<FlowSpec>, end: &Arc<TestEnd>) -> Vec<RefusedFlow> {
        let mut refused = Vec::new();
        let mut taken = HashMap::new();
        for spec in flows {
            match flow_types::named(&spec.flow_type) {
                None => refused.push(RefusedFlow {
                    flow: spec.id,
                    reason: format!("this server knows no flow type \"{}\"; update it", spec.flow_type),
                }),
                Some(flow_type) => {
                    if flow_type.server_part() == ServerPart::Reflector {
                        self.reflector().admit(spec.id.0);
                    }
                    taken.insert(spec.id, (spec, flow_type));
                }
            }
        }
        *self.test.lock().unwrap_or_else(PoisonError::into_inner) = Some(Test { flows: taken, end: Arc::clone(end) });
        refused
    }
}

/// Serves a control connection until it closes.
pub(super) fn control(mut stream: TcpStream, open: &OpenSession<'_>, shared: &Shared) {
    let session = &open.session;
    shared.tell(&format!("{}: session opened, {} open", session.peer, shared.sessions.count()));
    let outcome = converse(&mut stream, session, shared);
    let how = match outcome {
        Ok(()) => "done".to_owned(),
        Err(LinkError::Closed) => "the client went away".to_owned(),
        Err(error) => error.to_string(),
    };
    shared.tell(&format!("{}: session closed: {how}", session.peer));
}

fn converse(stream: &mut TcpStream, session: &Arc<Session>, shared: &Shared) -> Result<(), LinkError> {
    let limits = &shared.options.limits;
    let environment = Box::new(shared.environment.clone());
    say(stream, &ServerMessage::Welcome { token: session.token, environment, limits: *limits })?;
    let mut opened: Option<Arc<TestEnd>> = None;
    let mut finished = false;
    let deadline = Instant::now() + PREPARING_TIME;
    loop {
        match (listen(stream, deadline)?, &opened) {
            (ClientMessage::Bye, _) => return Ok(()),
            (ClientMessage::Stop, Some(_)) if finished => {}
            _ if finished => return Err(out_of_order("the test has been stopped")),
            (ClientMessage::Open { flows, length, sample_interval }, None) => {
                if let Some(reason) = limits.refusal(&flows, length) {
                    return say(stream, &ServerMessage::Refused { reason });
                }
                let interval = sample_interval.clamp(SAMPLE_INTERVAL, Duration::from_secs(1));
                let length = TestTime::ZERO + length;
                let end = Arc::new(TestEnd::new(ObservationPoint::Server, interval, length));
                let refused = session.open_test(flows, &end);
                opened = Some(end);
                say(stream, &ServerMessage::Opened { refused })?;
            }
            (ClientMessage::Time { id }, _) => {
                let received = session.at(RawTime::now());
                let sent = session.at(RawTime::now());
                say(stream, &ServerMessage::Time { id, received, sent })?;
            }
            (ClientMessage::Begin { origin }, Some(end)) => {
                if !(0..=PREPARING_TIME.as_nanos() as i64).contains(&origin) {
                    return Err(out_of_order("a T0 that is not near"));
                }
                return measure(stream, session, end, origin);
            }
            (ClientMessage::Stop, Some(end)) => {
                end.stop();
                finished = true;
                say(stream, &ServerMessage::Finished)?;
            }
            (ClientMessage::Open { .. }, Some(_)) => return Err(out_of_order("a second test")),
            (ClientMessage::Begin { .. } | ClientMessage::Stop, None) => return Err(out_of_order("no test opened")),
        }
    }
}

/// From T0 to the client's goodbye.
fn measure(stream: &mut TcpStream, session: &Session, end: &Arc<TestEnd>, origin: i64) -> Result<(), LinkError> {
    let clock = TestClock { origin: session.epoch.plus(origin) };
    let until = end.length() + SETTLING;
    let mut out = stream.try_clone()?;
    end.begin(clock, origin);
    std::thread::scope(|scope| {
        scope.spawn(|| end.sampler.run(end, until));
        scope.spawn(|| end.start_line.run(end));
        let reporter = scope.spawn(|| report(&mut out, end, clock, until));
        let ahead = Duration::from_nanos(end.length().since(clock.now()).0.max(0).cast_unsigned());
        let deadline = Instant::now() + ahead + FETCHING_TIME;
        let outcome = loop {
            match listen(stream, deadline) {
                Ok(ClientMessage::Stop) => end.stop(),
                Ok(ClientMessage::Bye) => break Ok(()),
                Ok(_) => break Err(out_of_order("the test is running")),
                Err(error) => break Err(error),
            }
        };
        end.stop();
        // A client that reads but a little now and then would otherwise keep the reporter for hours.
        let _ = stream.shutdown(std::net::Shutdown::Both);
        let reported = reporter.join().unwrap_or(Ok(()));
        outcome.and(reported)
    })
}

/// Sends what is observed, once a second and at the end.
fn report(out: &mut TcpStream, end: &TestEnd, clock: TestClock, until: TestTime) -> Result<(), LinkError> {
    let mut due = clock.now();
    loop {
        due = (due + FRAME_INTERVAL).min(until);
        let going_on = end.sleep_until(clock, due);
        if !going_on {
            // Threads notice the stop within their patience; what they note last belongs in the last frame.
            std::thread::sleep(PATIENCE);
        }
        for frame in end.observer.collect(clock) {
            say(out, &ServerMessage::Observed(Box::new(frame)))?;
        }
        if !going_on || due >= until {
            return say(out, &ServerMessage::Finished);
        }
    }
}

fn out_of_order(what: &str) -> LinkError {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message out of order: {what}")).into()
}

fn say(stream: &mut TcpStream, message: &ServerMessage) -> Result<(), LinkError> {
    control_link::write(stream, message, Compression::Allowed)
}

fn listen(stream: &mut TcpStream, deadline: Instant) -> Result<ClientMessage, LinkError> {
    let patience = deadline.saturating_duration_since(Instant::now());
    control_link::read(stream, patience, Compression::Never)
}

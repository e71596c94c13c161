//! What a server and a client say to each other over the control connection, from the welcome to the goodbye.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::{Observation, ObservationPoint};
use rrul_model::time::TestTime;
use rrul_proto::admission::load_queue::Place;
use rrul_proto::admission::session_lease::SessionLease;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::{LIGHT_BITS_PER_SECOND, SAMPLE_INTERVAL};

use super::access::HeldAccess;
use super::event::{EventKind, Refusal};
use super::leased_control::LeasedControl;
use super::light_handover::LightTest;
use super::load_turns::Turn;
use super::reporting::Reports;
use super::session::{OpenSession, Sending, Session};
use super::shared::{AGAIN, STACK, Shared};
use super::traffic::TrafficMeter;
use super::{admission, reporting};
use crate::clock::RawTime;
use crate::clock::test_clock::TestClock;
use crate::control_link::{ControlStream, LinkError};
use crate::endpoint::Endpoint;
use crate::flow_types;
use crate::observer::Observer;

/// How long after the last phase a server goes on reading its counters: for what is still on its way.
pub(super) const SETTLING: Duration = Duration::from_millis(300);

/// Memory for the observations of all sessions, and of one, bytes: what is not fetched for a second or two.
pub(super) const ROOM: usize = 128 << 20;
const ROOM_OF_ONE: usize = 8 << 20;

/// Readings of counters in one second, at most: with many streams they are read less often.
const READINGS_PER_SECOND: f64 = 5000.0;

/// Serves a control connection until it closes, or until its test of probes begins and is handed over.
pub(super) fn control(stream: ControlStream, open: OpenSession, access: Option<HeldAccess>, shared: &Shared) {
    let session = &open.session;
    let with = access.as_ref().map(HeldAccess::words).unwrap_or_default();
    shared.report(EventKind::SessionOpened, Some(session.peer()), with);
    let mut control = LeasedControl::new(stream, session, &shared.turns, access);
    let outcome = match prepare(&mut control, shared) {
        Ok(Some(Begun { end, clock, origin, turn: None, threads: None, is_light: true })) if session.is_reflected() => {
            return shared.light.take(LightTest { control, open, end, clock, origin });
        }
        Ok(Some(begun)) => measure(&mut control, begun, shared),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    shared.count_rest(session, control.own_quota());
    if control.has_given_way() && outcome.is_ok() {
        let why = "gave its turn to a network that has waited";
        return shared.report(EventKind::SessionClosed, Some(session.peer()), why);
    }
    closed(session.peer(), outcome, shared);
}

/// Reports that a session is over.
pub(super) fn closed(peer: SocketAddr, outcome: Result<(), LinkError>, shared: &Shared) {
    let how = match outcome {
        Ok(()) => "done".to_owned(),
        Err(LinkError::Closed) => "the client went away".to_owned(),
        Err(error) => error.to_string(),
    };
    shared.report(EventKind::SessionClosed, Some(peer), how);
}

/// A test whose T0 is agreed.
struct Begun {
    end: Arc<Endpoint>,
    clock: TestClock,
    /// T0 on the session clock.
    origin: i64,
    turn: Option<Turn>,
    threads: Option<ReservedThreads>,
    /// Whether it does not load the path.
    is_light: bool,
}

/// Hears what the client wants, until T0 is agreed; `None` when nothing is to be measured.
fn prepare(control: &mut LeasedControl, shared: &Shared) -> Result<Option<Begun>, LinkError> {
    let in_force = shared.in_force();
    let limits = &in_force.rules.limits;
    let session = &Arc::clone(&control.session);
    session.ways.prove(control.stream.socket());
    let environment = Box::new(in_force.environment(control.has_token()));
    let (token, seals) = (session.token(), session.seal().is_keyed());
    let welcome = ServerMessage::Welcome { token, environment, limits: *limits, hears_alive: true, seals };
    control.say(&welcome)?;
    let mut opened: Option<Arc<Endpoint>> = None;
    let mut is_light_test = false;
    let mut turn: Option<Turn> = None;
    let mut threads: Option<ReservedThreads> = None;
    let mut finished = false;
    loop {
        match (control.hear()?, &opened) {
            (ClientMessage::Bye, _) => return Ok(None),
            (ClientMessage::Alive, _) => {}
            (ClientMessage::Stop, Some(_)) if finished => {}
            _ if finished => return Err(out_of_order("the test has been stopped")),
            (ClientMessage::Open { flows, length, sample_interval }, None) => {
                if let Some(reason) = limits.refusal(&flows, length) {
                    shared.report(EventKind::Refused(Refusal::Limits), Some(session.peer()), reason.clone());
                    return control.say(&refused(reason)).map(|()| None);
                }
                let rate = flow_types::load_of(&flows);
                is_light_test = is_light(rate);
                if is_light_test {
                    // Whoever has waited for a turn and then only probes leaves it to others.
                    turn = None;
                } else {
                    // Of a client that asks for no turn: it is its turn, or it is not.
                    let asked = || shared.turns.ask(session.peer().ip(), length, rate);
                    let asked = turn.get_or_insert_with(asked);
                    if let Some(place) = asked.place() {
                        // Who is refused has left the line before the next one asks.
                        drop(turn);
                        return control.say(&busy(place)).map(|()| None);
                    }
                    if !asked.covers(length, rate) {
                        let why = "more load, or longer, than it has asked its turn for";
                        return control.say(&refused(why.to_owned())).map(|()| None);
                    }
                }
                let rows = ROOM_OF_ONE / size_of::<Observation>();
                if shared.rows.left() < rows {
                    return control.say(&lacking("memory", session, shared)).map(|()| None);
                }
                let shortest = SAMPLE_INTERVAL.max(Duration::from_secs_f64(flows.len() as f64 / READINGS_PER_SECOND));
                let interval = sample_interval.clamp(shortest, Duration::from_secs(1));
                let end_of_test = TestTime::ZERO + length;
                let observer = Observer::within(ObservationPoint::Server, shared.rows.part(rows));
                let end = Arc::new(Endpoint::observed_by(observer, interval, end_of_test));
                let (admitted, refused) = admission::admit(session, flows, limits, in_force.rules.marks);
                let granted = admission::grant(&admitted, length, rate, session.says_alive());
                let caps = admission::connection_caps(&admitted);
                session.open_test(admitted, caps, &end);
                if !(is_light_test && session.is_reflected()) {
                    let count = OWN_THREADS + session.flows_to_send().len();
                    match ReservedThreads::take(count) {
                        Ok(reserved) => threads = Some(reserved),
                        Err(_) => return control.say(&lacking("thread", session, shared)).map(|()| None),
                    }
                }
                if let Err(why) = shared.count_test(session.peer(), control.own_quota()) {
                    shared.report(EventKind::Refused(Refusal::Quota), Some(session.peer()), why.to_string());
                    return control.say(&self::refused(why.to_string())).map(|()| None);
                }
                control.granted(granted);
                let state = shared.host_state(&session.ways, control.has_token());
                end.health.watch_interfaces(&state);
                shared.sockets.watched_by(&end.health);
                opened = Some(end);
                reporting::send_with_state(
                    |message| control.say(message),
                    state,
                    |state| ServerMessage::Opened { refused: refused.clone(), state, ends_load: true },
                )?;
            }
            (ClientMessage::Turn { length, rate, wait }, None) if turn.is_none() => {
                if length > limits.length {
                    return control.say(&refused(limits.too_long(length))).map(|()| None);
                }
                if !is_light(rate) {
                    let asked = turn.insert(shared.turns.ask(session.peer().ip(), length, rate));
                    match asked.place() {
                        Some(place) if !wait => {
                            drop(turn);
                            return control.say(&busy(place)).map(|()| None);
                        }
                        Some(_) if !control.wait_for(asked)? => return Ok(None),
                        _ => {}
                    }
                }
                control.say(&ServerMessage::Turn)?;
            }
            (ClientMessage::Time { id }, _) => {
                let received = session.at(RawTime::now());
                let sent = session.at(RawTime::now());
                control.say(&ServerMessage::Time { id, received, sent })?;
            }
            (ClientMessage::Begin { origin }, Some(end)) => {
                if !SessionLease::may_begin(origin, session.at(RawTime::now())) {
                    return Err(out_of_order("a T0 that is too far away"));
                }
                let (host, epoch) = session.clock();
                let clock = TestClock { origin: epoch.plus(origin), host };
                control.begins(clock.origin);
                let end = Arc::clone(end);
                return Ok(Some(Begun { end, clock, origin, turn, threads, is_light: is_light_test }));
            }
            (ClientMessage::Stop, Some(end)) => {
                end.stop();
                control.finished();
                finished = true;
                control.say(&ServerMessage::Finished { state: None })?;
            }
            (ClientMessage::Proof(_), _) => return Err(out_of_order("a proof that was not asked for")),
            (ClientMessage::Turn { .. }, _) => return Err(out_of_order("a second turn")),
            (ClientMessage::Open { .. }, Some(_)) => return Err(out_of_order("a second test")),
            (ClientMessage::Begin { .. } | ClientMessage::Stop, None) => return Err(out_of_order("no test opened")),
            (ClientMessage::EndLoad(_), _) => return Err(out_of_order("no test runs")),
        }
    }
}

/// From T0 to the client's goodbye.
fn measure(control: &mut LeasedControl, begun: Begun, shared: &Shared) -> Result<(), LinkError> {
    let Begun { end, clock, origin, turn, threads, .. } = begun;
    if let Some(turn) = &turn {
        control.loads(turn.test(), &end);
    }
    let end = &end;
    let session = &Arc::clone(&control.session);
    let until = end.length() + SETTLING;
    let out = control.stream.try_clone()?;
    let sending = Sending { session, end, clock, origin, privacy: shared.in_force().rules.privacy };
    let to_send = session.flows_to_send();
    let own = control.own_quota();
    let may_go_on = |octets| shared.count_octets(session.peer(), own, octets);
    let reports = Reports::new(clock, origin, TrafficMeter::new(&shared.traffic));
    let has_token = control.has_token();
    let report = || {
        let mut outbox = reporting::outbox();
        let outcome = reporting::report((&out, &mut outbox), session, end, clock, may_go_on, reports).and_then(|()| {
            let say = |message: &ServerMessage| outbox.post(&out, message);
            let finished = |state| ServerMessage::Finished { state };
            reporting::send_with_state(say, shared.host_state(&session.ways, has_token), finished)
        });
        // The load is over; that its results are fetched at leisure keeps no other waiting.
        drop(turn);
        let outcome = outcome.and_then(|()| outbox.drain(&out));
        if outcome.is_err() {
            // Who does not take what was observed gets nothing more: the session ends with its reporter.
            out.shutdown();
        }
        outcome
    };
    // In their place those of the test are started.
    drop(threads);
    std::thread::scope(|scope| {
        let sampler = start(scope, "sampler", || end.sample(until));
        let start_line = start(scope, "start line", || end.start_streams());
        let senders = to_send.iter().map(|(name, (part, flows))| start(scope, name, || part.send(&sending, flows)));
        let started = sampler.and(start_line).and(senders.collect::<io::Result<Vec<_>>>().map(drop));
        let reporter = started.and_then(|()| start_for(scope, "reporter", report));
        let reporter = match reporter {
            Ok(reporter) => reporter,
            Err(error) => {
                end.stop();
                return Err(error.into());
            }
        };
        end.begin(clock, origin);
        end.watch_control(control.stream.socket());
        let mut load_ended = false;
        let outcome = loop {
            match control.hear().and_then(|message| heed(control, end, &message, &mut load_ended)) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        end.finish_sampling(FlowId::CONTROL);
        end.stop();
        control.hang_up();
        match (outcome, reporter.join().unwrap_or(Ok(()))) {
            // Closed by the reporter, which knows why.
            (Err(LinkError::Closed), Err(reported)) => Err(reported),
            (outcome, reported) => outcome.and(reported),
        }
    })
}

/// Does what a client says while its test runs; whether the session goes on.
pub(super) fn heed(
    control: &mut LeasedControl,
    end: &Endpoint,
    message: &ClientMessage,
    load_ended: &mut bool,
) -> Result<bool, LinkError> {
    match message {
        ClientMessage::Alive => {}
        ClientMessage::Stop => {
            end.stop();
            control.finished();
        }
        ClientMessage::EndLoad(early) if !*load_ended && early.is_within(end.length()) => {
            *load_ended = true;
            control.load_ends(early.at);
            end.end_load(*early);
        }
        ClientMessage::Bye => return Ok(false),
        _ => return Err(out_of_order("the test is running")),
    }
    Ok(true)
}

/// Threads of a test beside those that send packets: its sampler, start line and reporter.
const OWN_THREADS: usize = 3;

/// Threads that wait in the place of those that a test will need, so that the host has them when it begins.
struct ReservedThreads {
    release: Option<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl ReservedThreads {
    /// Takes so many.
    ///
    /// # Errors
    /// When the host gives no more; then none is taken.
    fn take(count: usize) -> io::Result<Self> {
        let (release, released) = channel();
        let released = Arc::new(Mutex::new(released));
        let mut reserved = Self { release: Some(release), threads: Vec::with_capacity(count) };
        for _ in 0..count {
            let released = Arc::clone(&released);
            let wait = move || {
                let _ = released.lock().unwrap_or_else(PoisonError::into_inner).recv();
            };
            let thread = std::thread::Builder::new().name("reserved".to_owned()).stack_size(STACK).spawn(wait)?;
            reserved.threads.push(thread);
        }
        Ok(reserved)
    }
}

impl Drop for ReservedThreads {
    fn drop(&mut self) {
        drop(self.release.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Starts a thread of a session; without one the session ends, and the server goes on.
fn start<'scope>(scope: &'scope Scope<'scope, '_>, name: &str, work: impl FnOnce() + Send + 'scope) -> io::Result<()> {
    start_for(scope, name, work).map(drop)
}

/// The same, of a thread whose outcome matters.
fn start_for<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn_scoped(scope, work)
}

/// Whether a test of this rate does not load the path.
fn is_light(rate: Option<u64>) -> bool {
    rate.is_some_and(|rate| rate <= LIGHT_BITS_PER_SECOND)
}

pub(super) fn refused(reason: String) -> ServerMessage {
    ServerMessage::Refused { reason, retry_after: None }
}

/// This host has no more of something for a test.
fn lacking(what: &str, session: &Session, shared: &Shared) -> ServerMessage {
    let why = format!("no {what} is left for this test");
    shared.report(EventKind::Refused(Refusal::NoSession), Some(session.peer()), why.clone());
    let reason = format!("it is busy: {why}, try again in {} s", AGAIN.as_secs());
    ServerMessage::Refused { reason, retry_after: Some(AGAIN) }
}

/// Others are ahead.
fn busy(Place { position, wait }: Place) -> ServerMessage {
    let reason = format!("it is busy with other tests, try again in {} s", wait.as_secs().max(1));
    let ahead = if position > 1 { format!("; {} wait", position - 1) } else { String::new() };
    ServerMessage::Refused { reason: reason + &ahead, retry_after: Some(wait) }
}

fn out_of_order(what: &str) -> LinkError {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message out of order: {what}")).into()
}

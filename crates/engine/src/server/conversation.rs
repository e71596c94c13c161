//! What a server and a client say to each other over the control connection, from the welcome to the goodbye.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::{FETCHING_TIME, PREPARING_TIME, SAMPLE_INTERVAL};

use super::reporting::send;
use super::session::{OpenSession, Sending, Session};
use super::shared::Shared;
use super::{admission, reporting};
use crate::clock::RawTime;
use crate::clock::test_clock::TestClock;
use crate::control_link::{self, Compression, LinkError};
use crate::endpoint::Endpoint;

/// How long after the last phase a server goes on reading its counters: for what is still on its way.
const SETTLING: Duration = Duration::from_millis(300);

/// Serves a control connection until it closes.
pub(super) fn control(mut stream: TcpStream, open: &OpenSession<'_>, shared: &Shared) {
    let session = &open.session;
    shared.log(&format!("{}: session opened, {} open", session.peer(), shared.sessions.count()));
    let outcome = converse(&mut stream, session, shared);
    let how = match outcome {
        Ok(()) => "done".to_owned(),
        Err(LinkError::Closed) => "the client went away".to_owned(),
        Err(error) => error.to_string(),
    };
    shared.log(&format!("{}: session closed: {how}", session.peer()));
}

fn converse(stream: &mut TcpStream, session: &Arc<Session>, shared: &Shared) -> Result<(), LinkError> {
    let limits = &shared.options.limits;
    session.ways.prove(stream);
    let environment = Box::new(shared.environment.clone());
    send(stream, &ServerMessage::Welcome { token: session.token(), environment, limits: *limits })?;
    let mut opened: Option<Arc<Endpoint>> = None;
    let mut finished = false;
    let deadline = Instant::now() + PREPARING_TIME;
    loop {
        match (listen(stream, deadline)?, &opened) {
            (ClientMessage::Bye, _) => return Ok(()),
            (ClientMessage::Stop, Some(_)) if finished => {}
            _ if finished => return Err(out_of_order("the test has been stopped")),
            (ClientMessage::Open { flows, length, sample_interval }, None) => {
                if let Some(reason) = limits.refusal(&flows, length) {
                    return send(stream, &ServerMessage::Refused { reason });
                }
                let interval = sample_interval.clamp(SAMPLE_INTERVAL, Duration::from_secs(1));
                let length = TestTime::ZERO + length;
                let end = Arc::new(Endpoint::new(ObservationPoint::Server, interval, length));
                let (admitted, refused) = admission::admit(session, flows, limits);
                session.open_test(admitted, &end);
                let state = shared.host_state(&session.ways);
                end.health.watch_interfaces(&state);
                shared.sockets.watched_by(&end.health);
                opened = Some(end);
                reporting::send_with_state(stream, state, |state| ServerMessage::Opened {
                    refused: refused.clone(),
                    state,
                    ends_load: true,
                })?;
            }
            (ClientMessage::Time { id }, _) => {
                let received = session.at(RawTime::now());
                let sent = session.at(RawTime::now());
                send(stream, &ServerMessage::Time { id, received, sent })?;
            }
            (ClientMessage::Begin { origin }, Some(end)) => {
                if !(0..=PREPARING_TIME.as_nanos() as i64).contains(&origin) {
                    return Err(out_of_order("a T0 that is too far away"));
                }
                return measure(stream, session, end, origin, shared);
            }
            (ClientMessage::Stop, Some(end)) => {
                end.stop();
                finished = true;
                send(stream, &ServerMessage::Finished { state: None })?;
            }
            (ClientMessage::Open { .. }, Some(_)) => return Err(out_of_order("a second test")),
            (ClientMessage::Begin { .. } | ClientMessage::Stop, None) => return Err(out_of_order("no test opened")),
            (ClientMessage::EndLoad(_), _) => return Err(out_of_order("no test runs")),
        }
    }
}

/// From T0 to the client's goodbye.
fn measure(
    stream: &mut TcpStream,
    session: &Arc<Session>,
    end: &Arc<Endpoint>,
    origin: i64,
    shared: &Shared,
) -> Result<(), LinkError> {
    let (host, epoch) = session.clock();
    let clock = TestClock { origin: epoch.plus(origin), host };
    let until = end.length() + SETTLING;
    let mut out = stream.try_clone()?;
    end.begin(clock, origin);
    end.watch_control(stream);
    std::thread::scope(|scope| {
        scope.spawn(|| end.sample(until));
        scope.spawn(|| end.start_streams());
        let sending = Sending { session, end, clock, origin, privacy: shared.options.privacy };
        for (_, (part, flows)) in session.flows_to_send() {
            scope.spawn(move || part.send(&sending, &flows));
        }
        let reporter = scope.spawn(|| {
            reporting::report(&mut out, session, end, clock, origin)?;
            reporting::send_with_state(&mut out, shared.host_state(&session.ways), |state| ServerMessage::Finished {
                state,
            })
        });
        let ahead = Duration::from_nanos(end.length().since(clock.now()).0.max(0).cast_unsigned());
        let deadline = Instant::now() + ahead + FETCHING_TIME;
        let mut load_ended = false;
        let outcome = loop {
            match listen(stream, deadline) {
                Ok(ClientMessage::Stop) => end.stop(),
                Ok(ClientMessage::EndLoad(early)) if !load_ended && early.is_within(end.length()) => {
                    load_ended = true;
                    end.end_load(early);
                }
                Ok(ClientMessage::Bye) => break Ok(()),
                Ok(_) => break Err(out_of_order("the test is running")),
                Err(error) => break Err(error),
            }
        };
        end.finish_sampling(FlowId::CONTROL);
        end.stop();
        // A client that reads but a little now and then would otherwise keep the reporter for hours.
        let _ = stream.shutdown(std::net::Shutdown::Both);
        let reported = reporter.join().unwrap_or(Ok(()));
        outcome.and(reported)
    })
}

fn out_of_order(what: &str) -> LinkError {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message out of order: {what}")).into()
}

fn listen(stream: &mut TcpStream, deadline: Instant) -> Result<ClientMessage, LinkError> {
    let patience = deadline.saturating_duration_since(Instant::now());
    control_link::read(stream, patience, Compression::Never)
}

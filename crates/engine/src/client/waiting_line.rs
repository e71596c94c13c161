//! Waiting in line: a server has one test after another load its line.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_model::printable;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::LIGHT_BITS_PER_SECOND;

use super::control_client::{ANSWER_TIME, Heartbeat, send};
use super::options::{PlaceInLine, RunError, RunObserver, RunOptions};
use crate::control_link::{self, Compression, ControlStream, LinkError};
use crate::endpoint::test_course::PATIENCE;

/// How often a server that has no place for another session is asked again.
const ASKING: Duration = Duration::from_secs(2);

/// Waits until it is the turn of a test that loads at this rate.
///
/// # Errors
/// When others are ahead and the user does not want to wait, or the server refuses or is lost.
pub(super) fn take_turn(
    control: &mut ControlStream,
    heartbeat: &mut Heartbeat,
    rate: Option<u64>,
    options: &RunOptions,
    audience: &mut dyn RunObserver,
    stop: &AtomicBool,
) -> Result<(), RunError> {
    if !heartbeat.is_heard() || rate.is_some_and(|rate| rate <= LIGHT_BITS_PER_SECOND) {
        return Ok(());
    }
    let server = || options.server.clone();
    let lost = |source| RunError::Lost { server: server(), source };
    send(control, &ClientMessage::Turn { length: options.plan.length(), rate, wait: options.wait }).map_err(lost)?;
    let mut heard = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            let _ = send(control, &ClientMessage::Bye);
            return Err(RunError::Stopped);
        }
        heartbeat.beat(control);
        if !control.readable(PATIENCE).map_err(|error| lost(error.into()))? {
            if heard.elapsed() > ANSWER_TIME {
                return Err(lost(LinkError::Silent(ANSWER_TIME.as_secs())));
            }
            continue;
        }
        heard = Instant::now();
        match control_link::read(control, ANSWER_TIME, Compression::Allowed).map_err(lost)? {
            ServerMessage::Turn => return Ok(()),
            ServerMessage::Queued { position, retry_after } => {
                audience.waiting(PlaceInLine { position: Some(position), longest: retry_after });
            }
            ServerMessage::Refused { reason, retry_after } => {
                let (server, reason) = (server(), printable::field(&reason).into_owned());
                return Err(match retry_after {
                    Some(_) => RunError::Busy { server, reason, waits: options.wait },
                    None => RunError::Refused { server, reason },
                });
            }
            _ => return Err(lost(LinkError::Closed)),
        }
    }
}

/// Connects, again and again while the server has no place for another session and the user wants to wait.
pub(super) fn connected<T>(
    options: &RunOptions,
    audience: &mut dyn RunObserver,
    stop: &AtomicBool,
    connect: impl Fn() -> Result<T, RunError>,
) -> Result<T, RunError> {
    loop {
        match connect() {
            Err(RunError::Full { .. }) if options.wait => {
                audience.waiting(PlaceInLine { position: None, longest: ASKING });
                let again = Instant::now() + ASKING;
                while Instant::now() < again {
                    if stop.load(Ordering::Relaxed) {
                        return Err(RunError::Stopped);
                    }
                    std::thread::sleep(PATIENCE);
                }
            }
            outcome => return outcome,
        }
    }
}

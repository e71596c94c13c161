//! The way of a control connection into a session: encryption, a token, a place.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rrul_proto::admission::fair_shares::FairShares;
use rrul_proto::control::ServerMessage;
use rrul_proto::limits::OPENING_TIME;
use rrul_proto::opening::{ClientOpening, Offers, ServerOpening, Status};
use rrul_proto::stream_key::StreamKey;

use super::access::{Denial, HeldAccess};
use super::event::{EventKind, Refusal};
use super::options::PlainClients;
use super::session::OpenSession;
use super::shared::Shared;
use super::{conversation, reporting};
use crate::control_link::{ACCESS_LABEL, ControlStream, STREAM_LABEL};

const NO_SESSION: &str = "no session is free for this client";

/// In how long a client that found no session may ask again.
const AGAIN: Duration = Duration::from_secs(2);

/// Serves a control connection whose opening has been read, to its end.
pub(super) fn enter(mut stream: TcpStream, peer: SocketAddr, opening: &ClientOpening, version: u8, shared: &Shared) {
    let options = &shared.options;
    let key = options.key.as_ref().filter(|_| opening.offers.has(Offers::TLS));
    let mut answer = |status| {
        let version = if matches!(status, Status::Accepted | Status::Secure) { version } else { 0 };
        let answer = ServerOpening::answer(status, version).encode();
        stream.write_all(&answer).is_ok().then_some(answer)
    };
    if let Some(why) = lacking(opening, shared) {
        shared.report(EventKind::Refused(Refusal::NoAccess), Some(peer), why);
        answer(Status::Lacking);
        return;
    }
    if key.is_none() && options.access.is_none() {
        // Nothing is to be asked: a client that finds no place hears so at once.
        if let Some((session, _held)) = open_session(shared, peer, None) {
            if answer(Status::Accepted).is_some() {
                conversation::control(ControlStream::plain(stream), &session, None, shared);
            }
        } else {
            shared.report(EventKind::Refused(Refusal::NoSession), Some(peer), NO_SESSION);
            answer(Status::Busy);
        }
        return;
    }
    let Some(answered) = answer(if key.is_some() { Status::Secure } else { Status::Accepted }) else { return };
    let stream = match key {
        None => Ok(ControlStream::plain(stream)),
        Some(key) => ControlStream::accept(stream, key, Instant::now() + OPENING_TIME),
    };
    match stream {
        Ok(stream) => welcome(stream, peer, &[&opening.encode()[..], &answered].concat(), shared),
        Err(error) => {
            shared.report(EventKind::Refused(Refusal::NoAccess), Some(peer), format!("it does not encrypt: {error}"));
        }
    }
}

/// What the client would have to offer and does not.
fn lacking(opening: &ClientOpening, shared: &Shared) -> Option<&'static str> {
    let options = &shared.options;
    if options.key.is_some() && options.plain == PlainClients::Refused && !opening.offers.has(Offers::TLS) {
        return Some("a client that does not encrypt");
    }
    let knows_tokens = opening.offers.has(Offers::ACCESS);
    (options.access.is_some() && !knows_tokens).then_some("a client that knows nothing of tokens")
}

/// Asks for a token where the server has a list, and opens a session. Who has no token takes no place from others. `greetings` is what
/// both ends have said in the clear.
fn welcome(mut stream: ControlStream, peer: SocketAddr, greetings: &[u8], shared: &Shared) {
    let binding = stream.export(ACCESS_LABEL, greetings);
    let binding = binding.as_ref().map_or(&[][..], |octets| octets);
    let access = shared.options.access.as_ref().map(|list| HeldAccess::ask(&mut stream, list, binding));
    let access = match access.transpose() {
        Ok(access) => access,
        Err(denial) => {
            shared.report(EventKind::Refused(Refusal::NoAccess), Some(peer), denial.to_string());
            if !matches!(denial, Denial::Link(_)) {
                let _ = reporting::send(&stream, &conversation::refused(denial.to_string()));
            }
            return;
        }
    };
    let key = stream.export(STREAM_LABEL, greetings).map(|octets| StreamKey::new(&octets));
    if let Some((session, _held)) = open_session(shared, peer, key) {
        conversation::control(stream, &session, access, shared);
    } else {
        shared.report(EventKind::Refused(Refusal::NoSession), Some(peer), NO_SESSION);
        let busy = ServerMessage::Refused { reason: NO_SESSION.to_owned(), retry_after: Some(AGAIN) };
        let _ = reporting::send(&stream, &busy);
    }
}

/// A place of a session, given back when it is dropped.
struct HeldPlace<'a> {
    places: &'a Mutex<FairShares>,
    address: IpAddr,
}

impl Drop for HeldPlace<'_> {
    fn drop(&mut self) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.address);
    }
}

/// Opens a session, if its network has a place left.
fn open_session(shared: &Shared, peer: SocketAddr, key: Option<StreamKey>) -> Option<(OpenSession<'_>, HeldPlace<'_>)> {
    if shared.draining.load(Ordering::Relaxed) {
        return None;
    }
    let address = peer.ip();
    shared.places.lock().unwrap_or_else(PoisonError::into_inner).take(address).ok()?;
    let place = HeldPlace { places: &shared.places, address };
    let session = shared.sessions.open(&shared.in_force().rules.limits, shared.clock, peer, key).ok()?;
    Some((session, place))
}

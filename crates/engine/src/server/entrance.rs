//! The way of a control connection into a session: encryption, a token, a place.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rrul_proto::control::ServerMessage;
use rrul_proto::limits::OPENING_TIME;
use rrul_proto::opening::{CLIENT_OCTETS, ClientOpening, Offers, ServerOpening, Status};
use rrul_proto::stream_key::StreamKey;

use super::access::{Denial, HeldAccess};
use super::client_quota::{CountedConnection, HeldPlace};
use super::event::{EventKind, Refusal};
use super::options::PlainClients;
use super::session::{OpenSession, SessionKeys};
use super::shared::{AGAIN, Shared};
use super::{conversation, reporting};
use crate::control_link::{ACCESS_LABEL, ControlStream, STREAM_LABEL};
use crate::tls::Shown;

/// Where a control connection comes from, and what it takes: its count, and the place that it has until its session opens.
pub(super) type Arrival = (SocketAddr, CountedConnection, Option<HeldPlace>);

const NO_SESSION: &str = "no session is free for this client";

/// Serves a control connection whose opening has been read, to its end or until its test is handed over.
pub(super) fn enter(
    mut stream: TcpStream,
    (peer, counted, unnamed): Arrival,
    (opening, octets): (&ClientOpening, &[u8; CLIENT_OCTETS]),
    version: u8,
    shared: &Shared,
) {
    let options = &shared.options;
    let server_key = shared.key();
    let key = server_key.as_ref().filter(|_| opening.offers.has(Offers::TLS));
    let shows_certificate = key.is_some_and(|key| key.is_certified() && opening.offers.has(Offers::CERTIFICATES));
    let (secure, shown) =
        if shows_certificate { (Status::Certified, Shown::Certificate) } else { (Status::Secure, Shown::Key) };
    let mut answer = |status| {
        let version = if matches!(status, Status::Accepted | Status::Secure | Status::Certified) { version } else { 0 };
        let answer = ServerOpening::answer(status, version).encode();
        stream.write_all(&answer).is_ok().then_some(answer)
    };
    if let Some(why) = lacking(opening, server_key.is_some(), shared) {
        shared.report(EventKind::Refused(Refusal::NoAccess), Some(peer), why);
        answer(Status::Lacking);
        return;
    }
    if key.is_none() && options.access.is_none() {
        // Nothing is to be asked: a client that finds no place hears so at once.
        if let Some(session) = open_session(shared, (peer, counted, unnamed), None) {
            if answer(Status::Accepted).is_some() {
                conversation::control(ControlStream::plain(stream), session, None, shared);
            }
        } else {
            shared.report(EventKind::Refused(Refusal::NoSession), Some(peer), NO_SESSION);
            answer(Status::Busy);
        }
        return;
    }
    let Some(answered) = answer(if key.is_some() { secure } else { Status::Accepted }) else { return };
    let stream = match key {
        None => Ok(ControlStream::plain(stream)),
        Some(key) => ControlStream::accept(stream, key, shown, Instant::now() + OPENING_TIME),
    };
    match stream {
        Ok(stream) => {
            welcome(stream, (peer, counted, unnamed), opening.offers, &[&octets[..], &answered].concat(), shared);
        }
        Err(error) => {
            shared.report(
                EventKind::Refused(Refusal::NoAccess),
                Some(peer),
                format!("no encrypted connection: {error}"),
            );
        }
    }
}

/// What the client would have to offer and does not.
fn lacking(opening: &ClientOpening, has_key: bool, shared: &Shared) -> Option<&'static str> {
    let options = &shared.options;
    if has_key && options.plain == PlainClients::Refused && !opening.offers.has(Offers::TLS) {
        return Some("a client that does not encrypt");
    }
    let knows_tokens = opening.offers.has(Offers::ACCESS);
    (options.access.is_some() && !knows_tokens).then_some("a client that knows nothing of tokens")
}

/// Asks for a token where the server has a list, and opens a session. Who has no token takes no place from others. `greetings` is what
/// both ends have said in the clear.
fn welcome(
    mut stream: ControlStream,
    (peer, counted, unnamed): Arrival,
    offers: Offers,
    greetings: &[u8],
    shared: &Shared,
) {
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
    let keys = stream.export(STREAM_LABEL, greetings).map(|octets| SessionKeys {
        streams: StreamKey::new(&octets),
        packets: stream.packet_secrets(greetings).filter(|_| offers.has(Offers::SEALS)),
    });
    if let Some(session) = open_session(shared, (peer, counted, unnamed), keys) {
        conversation::control(stream, session, access, shared);
    } else {
        shared.report(EventKind::Refused(Refusal::NoSession), Some(peer), NO_SESSION);
        let busy = ServerMessage::Refused { reason: NO_SESSION.to_owned(), retry_after: Some(AGAIN) };
        let _ = reporting::send(&stream, &busy);
    }
}

/// Opens a session, if its network has a place left.
fn open_session(shared: &Shared, (peer, counted, unnamed): Arrival, keys: Option<SessionKeys>) -> Option<OpenSession> {
    if shared.draining.load(Ordering::Relaxed) {
        return None;
    }
    let place = HeldPlace::take(&shared.places, peer.ip())?;
    let limits = shared.in_force().rules.limits;
    let open = Arc::clone(&shared.sessions).open(&limits, shared.clock, peer, keys, (place, counted)).ok();
    // From now on it counts as a session, and its client is no stranger.
    drop(unnamed);
    open
}

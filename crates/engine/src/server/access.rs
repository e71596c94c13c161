//! Who may open a session: clients that prove that they have a token or a key of the operator's list, or a ticket of an issuer on it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rrul_proto::admission::access::{AccessError, AccessList, Bearer, Challenge, Title};
use rrul_proto::admission::quota_class::OwnQuota;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::OPENING_TIME;

use super::options::SharedAccessList;
use super::reporting::send;
use crate::clock::seconds_now;
use crate::control_link::{self, ControlStream, LinkError};

/// Bytes of the longest message that proves access: a key with a ticket takes less than half of it.
const PROOF_OCTETS: usize = 2 << 10;

/// What a session was opened with.
pub(super) struct HeldAccess {
    list: SharedAccessList,
    bearer: Bearer,
}

/// Why a client opens no session.
#[derive(Debug, thiserror::Error)]
pub(super) enum Denial {
    #[error("this server tests for holders of a token alone; ask its operator for one, and use --token-file FILE")]
    NoToken,
    #[error("{0}; ask the operator for another, and use --token-file FILE")]
    Access(AccessError),
    #[error(transparent)]
    Link(#[from] LinkError),
}

impl HeldAccess {
    /// Asks a client to prove that it has a token or a key. `binding` is what both ends of an encrypted connection have, or empty.
    ///
    /// # Errors
    /// When it has none that is on the list now, or does not answer.
    pub(super) fn ask(stream: &mut ControlStream, list: &SharedAccessList, binding: &[u8]) -> Result<Self, Denial> {
        let mut octets = [0; 32];
        getrandom::fill(&mut octets).map_err(|error| LinkError::from(io::Error::other(error)))?;
        let challenge = Challenge(octets);
        send(stream, &ServerMessage::Challenge { challenge })?;
        let answer = control_link::read_short(stream, OPENING_TIME, PROOF_OCTETS)?;
        let ClientMessage::Proof(answer) = answer else { return Err(Denial::NoToken) };
        let bearer = locked(list).bearer(&answer, &challenge, binding, seconds_now()).map_err(|error| match error {
            AccessError::Missing => Denial::NoToken,
            error => Denial::Access(error),
        })?;
        Ok(Self { list: Arc::clone(list), bearer })
    }

    /// Why it is not accepted any more.
    pub(super) fn withdrawn(&self) -> Option<&'static str> {
        if locked(&self.list).has(&self.bearer) {
            return None;
        }
        Some(match self.bearer.title() {
            Title::Token => "its token is not on the list any more",
            #[cfg(feature = "tickets")]
            Title::Key => "its key is not on the list any more, or was revoked",
            #[cfg(feature = "tickets")]
            Title::Ticket { .. } => "the issuer of its ticket is not on the list any more, or its key was revoked",
        })
    }

    /// What it may use in place of what its network may.
    pub(super) fn own_quota(&self) -> Option<OwnQuota> {
        self.bearer.own_quota()
    }

    /// Whose it is, for the log.
    pub(super) fn words(&self) -> String {
        let title = match self.bearer.title() {
            Title::Token => "token",
            #[cfg(feature = "tickets")]
            Title::Key => "key",
            #[cfg(feature = "tickets")]
            Title::Ticket { .. } => "ticket",
        };
        if self.bearer.name.is_empty() { format!("with a {title}") } else { format!("{title} of {}", self.bearer.name) }
    }
}

/// Bytes of a new secret before they are written as text.
const NEW_SECRET_OCTETS: usize = 20;

/// Returns a new secret, at random.
///
/// # Errors
/// When the host has no randomness.
pub fn new_secret() -> io::Result<String> {
    let mut octets = [0; NEW_SECRET_OCTETS];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(octets.iter().fold(String::new(), |text, octet| format!("{text}{octet:02x}")))
}

fn locked(list: &Mutex<AccessList>) -> MutexGuard<'_, AccessList> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

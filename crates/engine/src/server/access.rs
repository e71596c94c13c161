//! Who may open a session: clients that prove that they have a token of the operator's list.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rrul_proto::admission::access::{AccessError, AccessList, Bearer, Challenge};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::OPENING_TIME;

use super::options::SharedAccessList;
use super::reporting::send;
use crate::clock::seconds_now;
use crate::control_link::{self, Compression, ControlStream, LinkError};

/// The token that a session was opened with.
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
    Token(#[from] AccessError),
    #[error(transparent)]
    Link(#[from] LinkError),
}

impl HeldAccess {
    /// Asks a client to prove that it has a token. `binding` is what both ends of an encrypted connection have, or empty.
    ///
    /// # Errors
    /// When it has none that is on the list now, or does not answer.
    pub(super) fn ask(stream: &mut ControlStream, list: &SharedAccessList, binding: &[u8]) -> Result<Self, Denial> {
        let mut octets = [0; 32];
        getrandom::fill(&mut octets).map_err(|error| LinkError::from(io::Error::other(error)))?;
        let challenge = Challenge(octets);
        send(stream, &ServerMessage::Challenge { challenge })?;
        let answer = control_link::read(stream, OPENING_TIME, Compression::Never)?;
        let ClientMessage::Proof { proof } = answer else { return Err(Denial::NoToken) };
        let proof = proof.ok_or(Denial::NoToken)?;
        let bearer = locked(list).bearer(&proof, &challenge, binding, seconds_now())?;
        Ok(Self { list: Arc::clone(list), bearer })
    }

    /// Whether the token is still on the list.
    pub(super) fn is_valid(&self) -> bool {
        locked(&self.list).has(&self.bearer)
    }

    /// Whose token it is, for the log.
    pub(super) fn words(&self) -> String {
        if self.bearer.name.is_empty() { "with a token".to_owned() } else { format!("token of {}", self.bearer.name) }
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

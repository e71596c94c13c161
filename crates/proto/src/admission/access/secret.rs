//! Secrets that a client and a server share, and their proof without sending them.
//!
//! The client answers with the HMAC-SHA256 (RFC 2104) of the challenge under its secret. Whoever reads both learns nothing that opens
//! another session; a secret that can be guessed can be found by trying.

use std::fmt;

use ring::{digest, hmac};

use super::challenge::Challenge;
use crate::admission::hexadecimal::octets;
use crate::admission::quota_class::BearerId;

/// Characters of a secret: fewer can be guessed by whoever reads a challenge and its answer.
pub const SHORTEST_SECRET: usize = 16;
pub const LONGEST_SECRET: usize = 128;

/// What the proof is about.
const CONTEXT: &[u8] = b"rrul access 1\0";

octets! {
    /// What a client with a secret answers.
    Proof
}

/// Why a text is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("a token has {SHORTEST_SECRET} to {LONGEST_SECRET} characters; `rrul key token` makes one")]
    Length,
    #[error("a token consists of ASCII letters, digits and punctuation")]
    Characters,
}

/// What a client and a server share. Never shown.
#[derive(Clone)]
pub struct Secret {
    key: hmac::Key,
    digest: [u8; 32],
}

impl Secret {
    /// The secret that this text is.
    ///
    /// # Errors
    /// When it is too short or has other characters.
    pub fn from_text(text: &str) -> Result<Self, SecretError> {
        if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&text.len()) {
            return Err(SecretError::Length);
        }
        if !text.bytes().all(|octet| octet.is_ascii_graphic()) {
            return Err(SecretError::Characters);
        }
        let mut octets = [0; 32];
        octets.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()), digest: octets })
    }

    /// Proves that the caller has the secret, to who sent this challenge over the connection that `binding` names.
    ///
    /// `binding` is what the two ends of an encrypted connection know, and no one else; empty on one that is not.
    pub fn prove(&self, challenge: &Challenge, binding: &[u8]) -> Proof {
        let mut octets = [0; 32];
        octets.copy_from_slice(hmac::sign(&self.key, &challenge.message(CONTEXT, binding)).as_ref());
        Proof(octets)
    }

    pub(super) fn is_proven_by(&self, proof: &Proof, challenge: &Challenge, binding: &[u8]) -> bool {
        // In constant time: how far a wrong proof is right shows in no answer time.
        hmac::verify(&self.key, &challenge.message(CONTEXT, binding), &proof.0).is_ok()
    }

    /// SHA-256 of the secret: it names the secret without showing it.
    pub(super) fn id(&self) -> BearerId {
        BearerId(self.digest)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "correct-horse-battery";
    const PROOF: &str = "\"e9ed6870f73acea3e93c1190918c537bf551c8231b7edf3220434ec5ac6470b6\"";

    #[test]
    fn a_proof_is_the_hmac_of_the_challenge() {
        // printf 'rrul access 1\0' and 32 octets of 7, through openssl dgst -sha256 -hmac correct-horse-battery
        let proof = Secret::from_text(TEXT).unwrap().prove(&Challenge([7; 32]), b"");
        let json = serde_json::to_string(&proof).unwrap();
        assert_eq!(json, PROOF);
        assert_eq!(serde_json::from_str::<Proof>(&json).unwrap(), proof);
        for bad in ["\"\"", "5", &json.replace('"', "\"+"), &PROOF.replacen(char::is_numeric, "g", 1)] {
            assert!(serde_json::from_str::<Proof>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_is_long_printable_and_not_shown() {
        assert_eq!(Secret::from_text("short").unwrap_err(), SecretError::Length);
        assert_eq!(Secret::from_text(&"x".repeat(129)).unwrap_err(), SecretError::Length);
        assert_eq!(Secret::from_text("with a space in the middle").unwrap_err(), SecretError::Characters);
        assert!(!format!("{:?}", Secret::from_text(TEXT).unwrap()).contains(TEXT));
    }
}

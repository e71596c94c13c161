//! Access tokens: a client proves that it has one without sending it.
//!
//! The server sends a challenge of 32 random octets. The client answers with the HMAC-SHA256 (RFC 2104) of the challenge under its
//! secret. Whoever reads both learns nothing that opens another session; a secret that can be guessed can be found by trying.

use std::fmt;

use ring::{digest, hmac};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Characters of a secret: fewer can be guessed by whoever reads a challenge and its answer.
pub const SHORTEST_SECRET: usize = 16;
pub const LONGEST_SECRET: usize = 128;

/// Most tokens of a server: for each attempt all are tried.
pub const MOST_TOKENS: usize = 1024;

/// What the proof is about, so that it is of no use elsewhere.
const CONTEXT: &[u8] = b"rrul access 1\0";

/// 32 octets, written as 64 hexadecimal digits.
macro_rules! octets {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub [u8; 32]);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&Hex(&self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                from_hex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
            }
        }
    };
}

octets! {
    /// What the server asks: new in every session.
    Challenge
}
octets! {
    /// What the client answers.
    Proof
}

struct Hex<'a>(&'a [u8; 32]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut octets = [0; 32];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = (digit(0)? << 4 | digit(1)?) as u8;
    }
    Some(octets)
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
        octets.copy_from_slice(hmac::sign(&self.key, &message(challenge, binding)).as_ref());
        Proof(octets)
    }

    fn is_proven_by(&self, proof: &Proof, challenge: &Challenge, binding: &[u8]) -> bool {
        // In constant time: how far a wrong proof is right shows in no answer time.
        hmac::verify(&self.key, &message(challenge, binding), &proof.0).is_ok()
    }
}

fn message(challenge: &Challenge, binding: &[u8]) -> Vec<u8> {
    [CONTEXT, &challenge.0, binding].concat()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A token that a server accepts.
#[derive(Debug, Clone)]
pub struct AccessToken {
    pub secret: Secret,
    /// Whose it is, for the log; may be empty.
    pub name: String,
    /// Until when it is accepted, seconds since 1970; absent for ever.
    pub expires: Option<u64>,
}

/// What a session was opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// SHA-256 of the secret.
    id: [u8; 32],
    pub name: String,
}

/// Why a proof opens no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("its token is not known here")]
    Unknown,
    #[error("its token has expired")]
    Expired,
}

/// The tokens that a server accepts.
#[derive(Debug, Clone, Default)]
pub struct AccessList(Vec<AccessToken>);

impl AccessList {
    /// These tokens; with an empty list no session opens.
    pub fn new(tokens: Vec<AccessToken>) -> Self {
        Self(tokens)
    }

    /// Whose proof this is, at `now` in seconds since 1970.
    ///
    /// # Errors
    /// When no token gives this proof, or the token has expired.
    pub fn bearer(
        &self,
        proof: &Proof,
        challenge: &Challenge,
        binding: &[u8],
        now: u64,
    ) -> Result<Bearer, AccessError> {
        let mut found = None;
        // All of them: the time it takes does not show which one it is.
        for token in &self.0 {
            if token.secret.is_proven_by(proof, challenge, binding) {
                found = Some(token);
            }
        }
        let token = found.ok_or(AccessError::Unknown)?;
        if token.expires.is_some_and(|expires| now >= expires) {
            return Err(AccessError::Expired);
        }
        Ok(Bearer { id: token.secret.digest, name: token.name.clone() })
    }

    /// How many tokens it has, expired ones too.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The names of tokens that are accepted no more at `now`, seconds since 1970.
    pub fn expired(&self, now: u64) -> impl Iterator<Item = &str> {
        let expired = move |token: &&AccessToken| token.expires.is_some_and(|expires| now >= expires);
        self.0.iter().filter(expired).map(|token| token.name.as_str())
    }

    /// Whether the token of a session is still accepted; one that expires meanwhile is.
    pub fn has(&self, bearer: &Bearer) -> bool {
        self.0.iter().any(|token| token.secret.digest == bearer.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "correct-horse-battery";
    const CHALLENGE: Challenge = Challenge([7; 32]);
    const PROOF: &str = "\"e9ed6870f73acea3e93c1190918c537bf551c8231b7edf3220434ec5ac6470b6\"";

    fn token(text: &str, expires: Option<u64>) -> AccessToken {
        AccessToken { secret: Secret::from_text(text).unwrap(), name: "home".to_owned(), expires }
    }

    #[test]
    fn a_proof_is_the_hmac_of_the_challenge() {
        // printf 'rrul access 1\0' and 32 octets of 7, through openssl dgst -sha256 -hmac correct-horse-battery
        let proof = Secret::from_text(TEXT).unwrap().prove(&CHALLENGE, b"");
        let json = serde_json::to_string(&proof).unwrap();
        assert_eq!(json, PROOF);
        assert_eq!(serde_json::from_str::<Proof>(&json).unwrap(), proof);
        for bad in ["\"\"", "5", &json.replace('"', "\"+"), &PROOF.replacen(char::is_numeric, "g", 1)] {
            assert!(serde_json::from_str::<Proof>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_right_secret_challenge_and_connection_open_a_session() {
        let list = AccessList::new(vec![token("another-secret-of-a-list", None), token(TEXT, Some(100))]);
        let secret = Secret::from_text(TEXT).unwrap();
        let proof = secret.prove(&CHALLENGE, b"tls");
        let bearer = list.bearer(&proof, &CHALLENGE, b"tls", 99).unwrap();
        assert_eq!(bearer.name, "home");
        assert_eq!(list.bearer(&proof, &CHALLENGE, b"tls", 100), Err(AccessError::Expired));
        assert_eq!(list.bearer(&proof, &CHALLENGE, b"", 0), Err(AccessError::Unknown));
        assert_eq!(list.bearer(&proof, &Challenge([8; 32]), b"tls", 0), Err(AccessError::Unknown));
        assert_eq!((list.count(), list.expired(99).count()), (2, 0));
        assert_eq!(list.expired(100).collect::<Vec<_>>(), ["home"]);
        let wrong = Secret::from_text("correct-horse-batterz").unwrap().prove(&CHALLENGE, b"tls");
        assert_eq!(list.bearer(&wrong, &CHALLENGE, b"tls", 0), Err(AccessError::Unknown));
        assert_eq!(AccessList::default().bearer(&proof, &CHALLENGE, b"tls", 0), Err(AccessError::Unknown));
        assert!(list.has(&bearer));
        assert!(!AccessList::new(vec![token("another-secret-of-a-list", None)]).has(&bearer), "revoked");
    }

    #[test]
    fn a_secret_is_long_printable_and_not_shown() {
        assert_eq!(Secret::from_text("short").unwrap_err(), SecretError::Length);
        assert_eq!(Secret::from_text(&"x".repeat(129)).unwrap_err(), SecretError::Length);
        assert_eq!(Secret::from_text("with a space in the middle").unwrap_err(), SecretError::Characters);
        assert!(!format!("{:?}", token(TEXT, None)).contains(TEXT));
    }
}

//! Who may open a session: a client proves that it has a token or a key, without sending it.
//!
//! The server sends a challenge of 32 random octets. A client with a token answers with its HMAC-SHA256 under the token. A client with a
//! key signs it (Ed25519), and adds a ticket where the server knows not the key but the issuer of the ticket.

mod bearer;
mod challenge;
#[cfg(feature = "tickets")]
mod key_list;
#[cfg(all(test, feature = "tickets"))]
mod key_tests;
mod secret;
#[cfg(feature = "tickets")]
mod signing_key;
#[cfg(feature = "tickets")]
mod ticket;

use serde::{Deserialize, Serialize};

#[cfg(feature = "tickets")]
use super::quota_class::QuotaClass;

pub use bearer::{Bearer, Title};
pub use challenge::Challenge;
#[cfg(feature = "tickets")]
pub use key_list::{KeyList, KeyProof, KeyRefusal, ListedKey};
pub use secret::{LONGEST_SECRET, Proof, SHORTEST_SECRET, Secret, SecretError};
#[cfg(feature = "tickets")]
pub use signing_key::{PublicKey, PublicKeyError, Signature, SigningKey, SigningKeyError};
#[cfg(feature = "tickets")]
pub use ticket::{LONGEST_NAME, Ticket, TicketError, TicketTerms};

/// Most lines of a server's list: for each attempt all tokens are tried.
pub const MOST_TOKENS: usize = 1024;

/// What a client has to open sessions with.
#[derive(Debug, Clone)]
pub enum Credentials {
    Token(Secret),
    /// A key, which a ticket may name.
    #[cfg(feature = "tickets")]
    Key(SigningKey, Option<Ticket>),
}

impl Credentials {
    /// Answers a challenge over the connection that `binding` names: what the two ends of an encrypted connection know, and no one else;
    /// empty on one that is not.
    pub fn answer(&self, challenge: &Challenge, binding: &[u8]) -> AccessAnswer {
        match self {
            Self::Token(secret) => {
                let proof = Some(secret.prove(challenge, binding));
                AccessAnswer {
                    proof,
                    #[cfg(feature = "tickets")]
                    key: None,
                }
            }
            #[cfg(feature = "tickets")]
            Self::Key(key, ticket) => {
                let proof = KeyProof::new(key, ticket.as_ref(), challenge, binding);
                AccessAnswer { proof: None, key: Some(Box::new(proof)) }
            }
        }
    }
}

/// What a client answers to a challenge: one proof, or none where it has nothing to prove.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AccessAnswer {
    /// Of a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    #[cfg(feature = "tickets")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<KeyProof>>,
}

/// A token that a server accepts.
#[derive(Debug, Clone)]
pub struct AccessToken {
    pub secret: Secret,
    /// Whose it is, for the log; may be empty.
    pub name: String,
    /// Until when it is accepted, seconds since 1970; absent for ever.
    pub expires: Option<u64>,
    #[cfg(feature = "tickets")]
    pub quota: QuotaClass,
}

/// Why a client has no access.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    #[error("it has no token")]
    Missing,
    #[error("its token is not known here")]
    Unknown,
    #[error("its token has expired")]
    Expired,
    #[cfg(feature = "tickets")]
    #[error(transparent)]
    Key(#[from] KeyRefusal),
}

/// What a server accepts.
#[derive(Debug, Clone, Default)]
pub struct AccessList {
    tokens: Vec<AccessToken>,
    #[cfg(feature = "tickets")]
    keys: KeyList,
}

impl AccessList {
    /// These tokens; with an empty list no session opens.
    pub fn new(tokens: Vec<AccessToken>) -> Self {
        Self {
            tokens,
            #[cfg(feature = "tickets")]
            keys: KeyList::default(),
        }
    }

    /// The same with keys.
    #[cfg(feature = "tickets")]
    #[must_use]
    pub fn with_keys(self, keys: KeyList) -> Self {
        Self { keys, ..self }
    }

    /// Whose answer this is, at `now` in seconds since 1970.
    ///
    /// # Errors
    /// When it proves nothing, or nothing that this list accepts now.
    pub fn bearer(
        &self,
        answer: &AccessAnswer,
        challenge: &Challenge,
        binding: &[u8],
        now: u64,
    ) -> Result<Bearer, AccessError> {
        #[cfg(feature = "tickets")]
        if let Some(proof) = &answer.key {
            return Ok(self.keys.bearer(proof, challenge, binding, now)?);
        }
        let proof = answer.proof.as_ref().ok_or(AccessError::Missing)?;
        let mut found = None;
        // All of them: the time it takes does not show which one it is.
        for token in &self.tokens {
            if token.secret.is_proven_by(proof, challenge, binding) {
                found = Some(token);
            }
        }
        let token = found.ok_or(AccessError::Unknown)?;
        if token.expires.is_some_and(|expires| now >= expires) {
            return Err(AccessError::Expired);
        }
        Ok(Bearer {
            id: token.secret.id(),
            title: Title::Token,
            name: token.name.clone(),
            #[cfg(feature = "tickets")]
            line: token.quota,
            #[cfg(feature = "tickets")]
            ticket: QuotaClass::default(),
        })
    }

    /// How many tokens and keys it has, expired ones too.
    pub fn count(&self) -> usize {
        #[cfg(feature = "tickets")]
        let keys = self.keys.count();
        #[cfg(not(feature = "tickets"))]
        let keys = 0;
        self.tokens.len() + keys
    }

    /// The names of those that are accepted no more at `now`, seconds since 1970.
    pub fn expired(&self, now: u64) -> impl Iterator<Item = &str> {
        let expired = move |token: &&AccessToken| token.expires.is_some_and(|expires| now >= expires);
        let tokens = self.tokens.iter().filter(expired).map(|token| token.name.as_str());
        #[cfg(feature = "tickets")]
        return tokens.chain(self.keys.expired(now));
        #[cfg(not(feature = "tickets"))]
        tokens
    }

    /// Whether what a session was opened with is still accepted; what expires meanwhile is.
    pub fn has(&self, bearer: &Bearer) -> bool {
        #[cfg(feature = "tickets")]
        if bearer.title() != Title::Token {
            return self.keys.has(bearer);
        }
        self.tokens.iter().any(|token| token.secret.id() == bearer.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "correct-horse-battery";
    const CHALLENGE: Challenge = Challenge([7; 32]);

    fn token(text: &str, expires: Option<u64>) -> AccessToken {
        let secret = Secret::from_text(text).unwrap();
        AccessToken {
            secret,
            name: "home".to_owned(),
            expires,
            #[cfg(feature = "tickets")]
            quota: QuotaClass::default(),
        }
    }

    fn answer(text: &str) -> AccessAnswer {
        Credentials::Token(Secret::from_text(text).unwrap()).answer(&CHALLENGE, b"tls")
    }

    #[test]
    fn only_the_right_secret_challenge_and_connection_open_a_session() {
        let list = AccessList::new(vec![token("another-secret-of-a-list", None), token(TEXT, Some(100))]);
        let right = answer(TEXT);
        let bearer = list.bearer(&right, &CHALLENGE, b"tls", 99).unwrap();
        assert_eq!((bearer.name.as_str(), bearer.own_quota()), ("home", None));
        assert_eq!(list.bearer(&right, &CHALLENGE, b"tls", 100), Err(AccessError::Expired));
        assert_eq!(list.bearer(&right, &CHALLENGE, b"", 0), Err(AccessError::Unknown));
        assert_eq!(list.bearer(&right, &Challenge([8; 32]), b"tls", 0), Err(AccessError::Unknown));
        assert_eq!(list.bearer(&AccessAnswer::default(), &CHALLENGE, b"tls", 0), Err(AccessError::Missing));
        assert_eq!((list.count(), list.expired(99).count()), (2, 0));
        assert_eq!(list.expired(100).collect::<Vec<_>>(), ["home"]);
        let wrong = answer("correct-horse-batterz");
        assert_eq!(list.bearer(&wrong, &CHALLENGE, b"tls", 0), Err(AccessError::Unknown));
        assert_eq!(AccessList::default().bearer(&right, &CHALLENGE, b"tls", 0), Err(AccessError::Unknown));
        assert!(list.has(&bearer));
        assert!(!AccessList::new(vec![token("another-secret-of-a-list", None)]).has(&bearer), "revoked");
        assert!(!format!("{list:?}").contains(TEXT));
    }
}

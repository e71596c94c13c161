//! Keys of clients and of issuers that a server accepts, and keys that it does not.

use serde::{Deserialize, Serialize};

use super::bearer::{Bearer, Title};
use super::challenge::Challenge;
use super::signing_key::{PublicKey, Signature, SigningKey};
use super::ticket::{Ticket, TicketError, TicketTerms};
use crate::admission::quota_class::QuotaClass;

/// What the proof of a key is about, so that it is of no use elsewhere.
const CONTEXT: &[u8] = b"rrul access key 1\0";

/// A client's proof that it has a private key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyProof {
    pub public_key: PublicKey,
    pub signature: Signature,
    /// A ticket for this key. It is read by who has to decide: of another version it is refused in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

impl KeyProof {
    /// Proves that the caller has the key, to who sent this challenge over the connection that `binding` names.
    pub fn new(key: &SigningKey, ticket: Option<&Ticket>, challenge: &Challenge, binding: &[u8]) -> Self {
        let signature = key.sign(&challenge.message(CONTEXT, binding));
        Self { public_key: key.public(), signature, ticket: ticket.map(Ticket::to_string) }
    }
}

/// A key of a client, or of an issuer of tickets.
#[derive(Debug, Clone)]
pub struct ListedKey {
    pub key: PublicKey,
    /// Whose it is, for the log; may be empty.
    pub name: String,
    /// Until when it is accepted, seconds since 1970; absent for ever.
    pub expires: Option<u64>,
    /// What its client may use, or the most that its tickets grant.
    pub quota: QuotaClass,
}

impl ListedKey {
    fn has_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }
}

/// Why a key opens no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    #[error("its signature is not that of its key")]
    Signature,
    #[error("its key is not known here")]
    Unknown,
    #[error("its key has expired")]
    Expired,
    #[error("its key has been revoked")]
    Revoked,
    #[error("its ticket cannot be read: {0}")]
    Ticket(#[from] TicketError),
    #[error("its ticket is of another key")]
    Holder,
    #[error("the issuer of its ticket is not known here")]
    Issuer,
    #[error("the issuer of its ticket has expired")]
    IssuerExpired,
    #[error("its ticket was not signed by its issuer")]
    Forged,
    #[error("its ticket has expired")]
    TicketExpired,
}

/// The keys of a server's list.
#[derive(Debug, Clone, Default)]
pub struct KeyList {
    pub clients: Vec<ListedKey>,
    /// Whose tickets are accepted.
    pub issuers: Vec<ListedKey>,
    /// Keys of clients that are not accepted, with a ticket or without.
    pub revoked: Vec<PublicKey>,
}

impl KeyList {
    /// Whose proof this is, at `now` in seconds since 1970.
    pub(super) fn bearer(
        &self,
        proof: &KeyProof,
        challenge: &Challenge,
        binding: &[u8],
        now: u64,
    ) -> Result<Bearer, KeyRefusal> {
        let key = proof.public_key;
        // First: who does not have the key learns nothing about it.
        if !key.has_signed(&challenge.message(CONTEXT, binding), &proof.signature) {
            return Err(KeyRefusal::Signature);
        }
        if self.revoked.contains(&key) {
            return Err(KeyRefusal::Revoked);
        }
        match (entry(&self.clients, key, now), &proof.ticket) {
            (Some(listed), _) if !listed.has_expired(now) => {
                let (name, ticket) = (listed.name.clone(), QuotaClass::default());
                Ok(Bearer { id: key.id(), title: Title::Key, name, line: listed.quota, ticket })
            }
            (_, Some(ticket)) => self.holder(key, ticket, now),
            (Some(_), None) => Err(KeyRefusal::Expired),
            (None, None) => Err(KeyRefusal::Unknown),
        }
    }

    /// The bearer of a ticket.
    fn holder(&self, key: PublicKey, ticket: &str, now: u64) -> Result<Bearer, KeyRefusal> {
        let ticket: Ticket = ticket.parse()?;
        if ticket.terms.holder != key {
            return Err(KeyRefusal::Holder);
        }
        let issuer = entry(&self.issuers, ticket.issuer, now).ok_or(KeyRefusal::Issuer)?;
        if issuer.has_expired(now) {
            return Err(KeyRefusal::IssuerExpired);
        }
        if !ticket.is_genuine() {
            return Err(KeyRefusal::Forged);
        }
        if now >= ticket.terms.expires {
            return Err(KeyRefusal::TicketExpired);
        }
        let TicketTerms { name, quota, .. } = ticket.terms;
        let title = Title::Ticket { issuer: issuer.key };
        Ok(Bearer { id: key.id(), title, name, line: issuer.quota, ticket: quota })
    }

    /// Whether the list still accepts what a session was opened with.
    pub(super) fn has(&self, bearer: &Bearer) -> bool {
        let is_key = |listed: &ListedKey| listed.key.id() == bearer.id;
        let is_listed = match bearer.title {
            Title::Token => false,
            Title::Key => self.clients.iter().any(is_key),
            Title::Ticket { issuer } => self.issuers.iter().any(|listed| listed.key == issuer),
        };
        is_listed && !self.revoked.iter().any(|revoked| revoked.id() == bearer.id)
    }

    /// Keys that open sessions or sign tickets, expired ones too.
    pub(super) fn count(&self) -> usize {
        self.clients.len() + self.issuers.len()
    }

    /// The names of keys that are accepted no more at `now`.
    pub(super) fn expired(&self, now: u64) -> impl Iterator<Item = &str> {
        let expired = move |listed: &&ListedKey| listed.has_expired(now);
        self.clients.iter().chain(&self.issuers).filter(expired).map(|listed| listed.name.as_str())
    }
}

/// What a list has of a key. It may have several lines, of which one that has not expired goes first.
fn entry(list: &[ListedKey], key: PublicKey, now: u64) -> Option<&ListedKey> {
    let of_key = || list.iter().filter(|listed| listed.key == key);
    of_key().find(|listed| !listed.has_expired(now)).or_else(|| of_key().next())
}

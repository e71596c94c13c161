//! What a session was opened with.

#[cfg(feature = "tickets")]
use super::signing_key::PublicKey;
#[cfg(feature = "tickets")]
use crate::admission::quota_class::QuotaClass;
use crate::admission::quota_class::{BearerId, OwnQuota};

/// What a session was opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    pub(super) id: BearerId,
    pub(super) title: Title,
    pub name: String,
    /// What its line of the list grants.
    #[cfg(feature = "tickets")]
    pub(super) line: QuotaClass,
    /// What its ticket asks for.
    #[cfg(feature = "tickets")]
    pub(super) ticket: QuotaClass,
}

/// By what a bearer has access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Title {
    Token,
    /// A key of the list.
    #[cfg(feature = "tickets")]
    Key,
    #[cfg(feature = "tickets")]
    Ticket {
        issuer: PublicKey,
    },
}

impl Bearer {
    pub fn title(&self) -> Title {
        self.title
    }

    /// What it may use in place of what its network may, where it has a quota of its own.
    pub fn own_quota(&self) -> Option<OwnQuota> {
        #[cfg(feature = "tickets")]
        return OwnQuota::with_ticket(self.id, self.line, self.ticket);
        #[cfg(not(feature = "tickets"))]
        None
    }
}

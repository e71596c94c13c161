//! What a server reports to its operator.

use std::fmt;
use std::net::SocketAddr;

/// Why a client did not get what it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No connection is free for its network.
    NoConnection,
    /// No session is free for its network, or none begins any more.
    NoSession,
    /// It has no token of the operator's list.
    NoAccess,
    /// It asked for more than the server grants.
    Limits,
    /// Its network, or all together, have used what they may.
    Quota,
}

impl Refusal {
    pub const ALL: [Self; 5] = [Self::NoConnection, Self::NoSession, Self::NoAccess, Self::Limits, Self::Quota];

    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoConnection => "no_connection",
            Self::NoSession => "no_session",
            Self::NoAccess => "no_access",
            Self::Limits => "limits",
            Self::Quota => "quota",
        }
    }
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    SessionOpened,
    SessionClosed,
    /// A client did not get what it asked for.
    Refused(Refusal),
    /// The operator has changed options.
    Reloaded,
    /// No test begins any more, and those that run may end.
    Draining,
}

impl EventKind {
    /// The words that an operator looks for.
    pub fn words(self) -> &'static str {
        match self {
            Self::SessionOpened => "session opened",
            Self::SessionClosed => "session closed",
            Self::Refused(_) => "refused",
            Self::Reloaded => "options reloaded",
            Self::Draining => "draining",
        }
    }
}

/// An event, in words that steer no terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    pub what: EventKind,
    /// The client that it is about.
    pub client: Option<SocketAddr>,
    /// Sessions that are open.
    pub sessions: usize,
    /// Why it happened; empty where nothing is to be said.
    pub reason: String,
    /// Events of the same network that were not reported since the one before, because they were too many.
    pub left_out: u64,
}

impl fmt::Display for ServerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(client) = self.client {
            write!(f, "{client}: ")?;
        }
        f.write_str(self.what.words())?;
        if !self.reason.is_empty() {
            write!(f, ": {}", self.reason)?;
        }
        write!(f, "; {} open", self.sessions)?;
        if self.left_out > 0 {
            write!(f, "; {} more not logged", self.left_out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let client = Some("192.0.2.1:5000".parse().unwrap());
        let event = ServerEvent {
            what: EventKind::Refused(Refusal::Quota),
            client,
            sessions: 3,
            reason: "busy".to_owned(),
            left_out: 7,
        };
        assert_eq!(event.to_string(), "192.0.2.1:5000: refused: busy; 3 open; 7 more not logged");
        let event = ServerEvent { client: None, reason: String::new(), left_out: 0, ..event };
        assert_eq!(event.to_string(), "refused; 3 open");
    }
}

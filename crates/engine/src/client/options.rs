//! What to run against which server, and what observes it.

use std::net::SocketAddr;
use std::time::Duration;

use rrul_model::flow::AddressFamily;
use rrul_model::plan::TestPlan;
use rrul_model::recording::{End, Frame, Header};
use rrul_model::time::TestTime;
use rrul_proto::admission::access::Credentials;

use super::server_trust::{ServerTrust, TrustError};
use crate::control_link::LinkError;
use crate::privacy::Privacy;

/// Which families a test is to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Families {
    #[default]
    Both,
    Only(AddressFamily),
}

/// What to run against which server.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// HOST, HOST:PORT, \[ADDRESS\]:PORT, or several addresses of one host joined by commas.
    pub server: String,
    /// The port where `server` names none.
    pub port: u16,
    pub families: Families,
    pub plan: TestPlan,
    pub title: String,
    /// When, RFC 3339, UTC.
    pub created: String,
    /// Whether names and addresses may be in the recording.
    pub privacy: Privacy,
    /// What opens a session at servers that do not test for everybody.
    pub token: Option<Credentials>,
    /// How the server is recognized.
    pub trust: ServerTrust,
    /// Whether to wait in line where other tests are ahead.
    pub wait: bool,
    /// Seed of every schedule; the same seed gives the same schedules.
    pub seed: u64,
}

/// Why a server's name leads nowhere.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NameError {
    #[error("\"{0}\" is no port; write HOST:PORT")]
    NoPort(String),
    #[error("no host; write rrul run HOST")]
    NoHost,
    #[error("no address")]
    Unreached,
    #[error("unknown host ({0})")]
    Unknown(String),
    #[error("no {0} address")]
    NoAddress(AddressFamily),
}

/// Why a test cannot run at all. What goes wrong later is part of its result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{server}: {reason}")]
    Name {
        /// As the user wrote it.
        server: String,
        reason: NameError,
    },
    #[error("{address}: {reason}")]
    Connect {
        address: SocketAddr,
        /// Why, and what to do.
        reason: String,
    },
    #[error("{server} refuses the test: {reason}; ask for less with --set, or start the server with higher limits")]
    Refused {
        /// As the user wrote it.
        server: String,
        reason: String,
    },
    #[error("{server}: {reason}{}", if *waits { "" } else { ", or run without --no-wait to wait in line" })]
    Busy {
        /// As the user wrote it.
        server: String,
        reason: String,
        /// Whether the user waits in line.
        waits: bool,
    },
    #[error("{server}: {reason}")]
    Access {
        /// As the user wrote it.
        server: String,
        /// Why, and what to do.
        reason: String,
    },
    #[error("{server}: {source}")]
    Trust {
        /// As the user wrote it.
        server: String,
        source: TrustError,
    },
    #[error("{address}: the server demands what this client does not offer; update this client")]
    Lacking { address: SocketAddr },
    #[error("{address}: the server is busy with other tests; try again in a minute")]
    Full { address: SocketAddr },
    #[error("{server}: connection lost before the test began: {source}")]
    Lost {
        /// As the user wrote it.
        server: String,
        source: LinkError,
    },
    #[error("stopped before the test began")]
    Stopped,
}

/// A place in the line of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceInLine {
    /// 1 is the next; `None` where the server has no place even in its line.
    pub position: Option<u32>,
    /// How long it takes at most when every test ahead takes its whole length.
    pub longest: Duration,
}

/// Who takes what the test brings forth, as it does.
pub trait RunObserver {
    /// The test waits for others; called whenever its place changes, and every few seconds.
    fn waiting(&mut self, _place: PlaceInLine) {}
    /// The test is about to begin.
    fn header(&mut self, header: &Header);
    /// Observations of about a second.
    fn frame(&mut self, frame: Frame);
    /// Called ten times a second with the time of the test.
    fn tick(&mut self, now: TestTime);
    fn end(&mut self, end: &End);
}

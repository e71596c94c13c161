//! How a server is to run, and why it cannot.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

pub use rrul_proto::admission::access::{AccessList, AccessToken, Credentials, MOST_TOKENS, Secret, SecretError};
#[cfg(feature = "tickets")]
pub use rrul_proto::admission::access::{
    KeyList, ListedKey, PublicKey, PublicKeyError, SigningKey, SigningKeyError, Ticket, TicketError, TicketTerms,
};
pub use rrul_proto::admission::allowed_marks::AllowedMarks;
pub use rrul_proto::admission::load_queue::{GivingWay, LoadPolicy};
pub use rrul_proto::admission::quota::{Quota, QuotaLimits};
#[cfg(feature = "tickets")]
pub use rrul_proto::admission::quota_class::QuotaClass;
pub use rrul_proto::limits::Limits;

use super::event::ServerEvent;
use super::pages::runtime::PagesError;
use crate::clock::host_clock::ClockDistortion;
use crate::control_link::ServerKey;
use crate::privacy::Privacy;

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {source}{}", advice(source))]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("cannot serve pages: {0}")]
    Pages(#[from] PagesError),
    #[cfg(feature = "activation")]
    #[error(transparent)]
    Inherited(#[from] super::listening::inherited::InheritedError),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another server runs there, choose another --port",
        io::ErrorKind::AddrNotAvailable => "; no interface of this host has that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
        _ => "",
    }
}

/// Takes what the server reports, an event at a time.
pub type Log = Arc<dyn Fn(&ServerEvent) + Send + Sync>;

/// What a server with a key does with clients that do not encrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PlainClients {
    #[default]
    Refused,
    Served,
}

/// Who is sent what the server's host runs on and how it is set up. What figures are computed with is sent to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProfileFor {
    #[default]
    Everybody,
    /// Clients that have proven that they have a token, key or ticket.
    WithToken,
}

/// A list of tokens and keys that the operator may change while the server runs.
pub type SharedAccessList = Arc<Mutex<AccessList>>;

/// What may change while a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    pub limits: Limits,
    pub load: LoadPolicy,
    pub giving_way: GivingWay,
    pub marks: AllowedMarks,
    pub privacy: Privacy,
    pub profile: ProfileFor,
}

/// How a server is to run.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where to listen; empty for every address of both families.
    pub addresses: Vec<std::net::IpAddr>,
    /// TCP and UDP port; 0 lets the kernel choose one.
    pub port: u16,
    pub limits: Limits,
    /// How many tests may load the server's line at one time.
    pub load: LoadPolicy,
    /// When one of them ends so that another network has its turn.
    pub giving_way: GivingWay,
    /// How packets may be marked.
    pub marks: AllowedMarks,
    /// Whether the host's name, its addresses and the names of its interfaces may be sent to clients.
    pub privacy: Privacy,
    /// Who is sent more of the host than a test needs; no one when `privacy` is strict.
    pub profile: ProfileFor,
    /// Whose tokens, keys and tickets open sessions; absent when everybody may.
    pub access: Option<SharedAccessList>,
    /// By what clients recognize this server at first; without it control connections are not encrypted.
    pub key: Option<ServerKey>,
    /// Whether a server with a key also tests for clients that do not encrypt.
    pub plain: PlainClients,
    pub log: Log,
    /// How many tests and how much data each network may have, and what it has had.
    pub quota: Arc<Mutex<Quota>>,
    /// How wrong the clock is to run by which sessions are stamped; for tests.
    pub clock: ClockDistortion,
}

impl ServerOptions {
    /// Those that may change later.
    pub(super) fn rules(&self) -> Rules {
        let Self { limits, load, giving_way, marks, privacy, profile, .. } = *self;
        Rules { limits, load, giving_way, marks, privacy, profile }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            port: rrul_proto::PORT,
            limits: Limits::default(),
            load: LoadPolicy::default(),
            giving_way: GivingWay::default(),
            marks: AllowedMarks::default(),
            privacy: Privacy::Open,
            profile: ProfileFor::default(),
            access: None,
            key: None,
            plain: PlainClients::default(),
            log: Arc::new(|_| {}),
            quota: Arc::new(Mutex::new(Quota::new(QuotaLimits::NONE))),
            clock: ClockDistortion::default(),
        }
    }
}

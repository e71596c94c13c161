//! The server: one TCP and one UDP port that carry everything.
//!
//! It opens no file, host or port that a client names, grants no more than its limits, and forgets a client that
//! vanishes. Each connection has a thread of its own, until a test of probes alone begins: one thread serves all of these. Each
//! address family has one thread that answers test packets.

mod access;
mod admission;
mod client_quota;
mod connection;
mod conversation;
mod counters;
mod datagram_port;
mod entrance;
mod event;
mod greetings;
mod host;
mod leased_control;
mod light_handover;
mod light_session;
mod light_sessions;
mod listening;
mod load_turns;
mod name_answering;
mod options;
mod pages;
pub(crate) mod parts;
mod reflector;
mod reporting;
pub(crate) mod session;
mod shared;
mod traffic;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;

use rrul_model::observation::Observation;
use rrul_proto::admission::fair_shares::FairShares;
use rrul_proto::admission::log_pace::LogPace;

pub use access::new_secret;
pub use counters::ServerCounts;
pub use event::{EventKind, Refusal, ServerEvent};
#[cfg(feature = "activation")]
pub use listening::inherited::InheritedError;
pub use listening::{PortState, PortTrial, try_ports};
pub use load_turns::Waits;
pub use options::{
    AccessList, AccessToken, AllowedMarks, Credentials, GivingWay, Limits, LoadPolicy, Log, MOST_TOKENS, PlainClients,
    ProfileFor, Quota, QuotaLimits, Rules, Secret, SecretError, ServerError, ServerOptions, SharedAccessList,
};
#[cfg(feature = "tickets")]
pub use options::{
    KeyList, ListedKey, PublicKey, PublicKeyError, QuotaClass, SigningKey, SigningKeyError, Ticket, TicketError,
    TicketTerms,
};
pub use pages::runtime::PagesError;

#[cfg(feature = "activation")]
pub use crate::socket::inherited::{InheritedSocket, take_inherited};

use crate::clock::RawTime;
use crate::clock::host_clock::HostClock;
use crate::control_link::ServerKey;
use crate::endpoint::test_course::PATIENCE;
use crate::observer::row_room::RowRoom;
use client_quota::UnnamedConnections;
use counters::Counters;
use datagram_port::DatagramPort;
use host::OwnSockets;
use light_handover::LightHandover;
use listening::Port;
use load_turns::LoadTurns;
use pages::runtime::Pages;
use shared::{InForce, Shared};
use traffic::Traffic;

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// Starts a server in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When no port is available.
    pub fn start(options: ServerOptions) -> Result<Self, ServerError> {
        let ports = listening::open(&options.addresses, options.port)?;
        Self::start_at(ports, options)
    }

    /// The same with sockets that the service manager has opened; without any it opens its own.
    ///
    /// # Errors
    /// When they do not fit, or no port is available.
    #[cfg(feature = "activation")]
    pub fn start_with(sockets: Vec<InheritedSocket>, options: ServerOptions) -> Result<Self, ServerError> {
        if sockets.is_empty() {
            return Self::start(options);
        }
        Self::start_at(listening::inherited::ports(sockets, &options.addresses, options.port)?, options)
    }

    fn start_at(ports: Vec<Port>, options: ServerOptions) -> Result<Self, ServerError> {
        let (runtime, pages) = Pages::start()?;
        let shared = Arc::new(Shared {
            pages,
            traffic: Traffic::default(),
            places: Arc::new(Mutex::new(FairShares::new(options.limits.sessions))),
            turns: LoadTurns::new(options.load, options.giving_way),
            in_force: RwLock::new(Arc::new(InForce::new(options.rules()))),
            clock: HostClock::start(options.clock, RawTime::now()),
            key: RwLock::new(options.key.clone()),
            options,
            rows: RowRoom::of(conversation::ROOM / size_of::<Observation>()),
            sockets: OwnSockets::from_ports(&ports),
            connection_quotas: Arc::default(),
            unnamed: UnnamedConnections::default(),
            sessions: Arc::default(),
            light: LightHandover::new().map_err(ServerError::Thread)?,
            connections: Arc::default(),
            stopped: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            counters: Counters::default(),
            log_pace: Mutex::new(LogPace::new(RawTime::now().0)),
        });
        let addresses = ports.iter().map(|port| port.address).collect();
        let mut server = Self { shared, addresses, threads: Vec::new(), runtime: Some(runtime) };
        light_sessions::start(&server.shared).map_err(ServerError::Thread)?;
        for port in ports {
            let shared = Arc::clone(&server.shared);
            server.spawn("accept", move || connection::accept(&port.stream, &shared))?;
            let shared = Arc::clone(&server.shared);
            let datagrams = Arc::new(DatagramPort::new(port.datagram, port.address, shared.counters.unsent()));
            let forwarding = pages::serve_datagrams(&datagrams, &shared);
            let forwarding = forwarding.map_err(PagesError::Port)?;
            server.spawn("reflector", move || reflector::run(&datagrams, &shared, &forwarding))?;
        }
        Ok(server)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ServerError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(ServerError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where it listens, TCP and UDP alike.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Begins no test any more. Those that run go on.
    pub fn drain(&self) {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.report(EventKind::Draining, None, "tests that run may end, no other begins");
        }
    }

    /// Puts other rules and another key in force, for sessions that open from now on; those that are open go on as they are. `how` is
    /// for the log.
    pub fn change(&self, rules: Rules, key: Option<ServerKey>, how: &str) {
        self.shared.change(rules);
        self.shared.change_key(key);
        self.shared.report(EventKind::Reloaded, None, how);
    }

    /// What has happened since it started.
    pub fn counts(&self) -> ServerCounts {
        let shared = &self.shared;
        ServerCounts {
            sessions: shared.sessions.count() as u64,
            connections: shared.connections.load(Ordering::Relaxed).into(),
            waits: shared.turns.waits(),
            listen_drops: shared.sockets.listen_drops().unwrap_or(0),
            ..shared.counters.read()
        }
    }

    /// Until when the certificate in force is valid, seconds since 1970; absent without one.
    #[cfg(feature = "certificates")]
    pub fn certificate_expiry(&self) -> Option<u64> {
        self.shared.key()?.certificate_expiry()
    }

    /// How many sessions are open.
    pub fn sessions(&self) -> usize {
        self.shared.sessions.count()
    }

    /// How many connections are open, of sessions or not.
    pub fn connections(&self) -> u32 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.shared.sessions.stop_all();
        self.shared.light.ring();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; the others are to be ended all the same.
            let _ = thread.join();
        }
        self.shared.sockets.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(PATIENCE);
        }
    }
}

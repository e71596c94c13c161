//! The server: one TCP and one UDP port that carry everything.
//!
//! It opens no file, host or port that a client names, grants no more than its limits, and forgets a client that
//! vanishes. Each connection has a thread of its own; each address family has one thread that answers test packets.

mod connection;
mod datagram_port;
mod host;
mod listening;
mod name_answering;
mod one_way;
mod pages;
mod path_tracing;
mod reflector;
mod reporting;
mod session;
mod sources;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

pub use rrul_proto::limits::Limits;

use crate::clock::RawTime;
use crate::environment::{self, Privacy};
use crate::host_clock::{ClockDistortion, HostClock};
use crate::test_end::PATIENCE;
use datagram_port::DatagramPort;
use host::OwnSockets;
use pages::Pages;
use rrul_model::environment::Environment;
use session::Sessions;
use sources::Sources;

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A port cannot be had.
    #[error("cannot listen on {address}: {source}{}", advice(source))]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A thread cannot be had.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// Pages cannot be served.
    #[error("cannot serve pages: {0}")]
    Pages(String),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; another server runs there, choose another --port",
        io::ErrorKind::AddrNotAvailable => "; no interface of this host has that address",
        io::ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
        _ => "",
    }
}

/// Where the server tells what it does, a line at a time.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// How a server is to run.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where to listen; empty for every address of both families.
    pub addresses: Vec<std::net::IpAddr>,
    /// TCP and UDP port; 0 lets the kernel choose one.
    pub port: u16,
    /// What is granted.
    pub limits: Limits,
    /// Whether the host's name, its addresses and the names of its interfaces may be told to clients.
    pub privacy: Privacy,
    /// Where to tell.
    pub log: Log,
    /// How wrong the clock is to run by which sessions are stamped; for tests.
    pub clock: ClockDistortion,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            port: rrul_proto::PORT,
            limits: Limits::default(),
            privacy: Privacy::Open,
            log: Arc::new(|_| {}),
            clock: ClockDistortion::default(),
        }
    }
}

/// What the threads of a server share.
struct Shared {
    options: ServerOptions,
    clock: HostClock,
    /// This host, read once: reading it disturbs what is being measured.
    environment: Environment,
    sessions: Sessions,
    /// Its listeners and datagram sockets, to be asked what they dropped.
    sockets: OwnSockets,
    /// Connections by where they come from.
    sources: Arc<Sources>,
    pages: Pages,
    session_sources: Arc<Sources>,
    connections: AtomicU32,
    stopped: AtomicBool,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn tell(&self, line: &str) {
        (self.options.log)(line);
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
    /// What pages run on.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// Starts a server in the network namespace of the calling thread.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start(options: ServerOptions) -> Result<Self, ServerError> {
        let ports = listening::open(&options.addresses, options.port)?;
        let (runtime, pages) = Pages::start().map_err(ServerError::Pages)?;
        let shared = Arc::new(Shared {
            pages,
            environment: environment::read(options.privacy),
            clock: HostClock::start(options.clock, RawTime::now()),
            options,
            sockets: OwnSockets::of(&ports),
            sources: Arc::default(),
            session_sources: Arc::default(),
            sessions: Sessions::default(),
            connections: AtomicU32::new(0),
            stopped: AtomicBool::new(false),
        });
        let addresses = ports.iter().map(|port| port.address).collect();
        let mut server = Self { shared, addresses, threads: Vec::new(), runtime: Some(runtime) };
        for port in ports {
            let shared = Arc::clone(&server.shared);
            server.spawn("accept", move || connection::accept(&port.stream, &shared))?;
            let shared = Arc::clone(&server.shared);
            let datagrams = Arc::new(DatagramPort::new(port.datagram, port.address));
            let forwarding = shared.pages.serve_datagrams(&datagrams, &shared);
            let forwarding = forwarding.map_err(|error| ServerError::Pages(error.to_string()))?;
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

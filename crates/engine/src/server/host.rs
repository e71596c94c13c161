//! What the server knows of its own host, and the host information sent to the client.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_model::environment::{Environment, REFUSED_MARKS};
use rrul_model::flow::FlowId;
use socket2::Socket;

use super::listening::Port;
use super::options::Rules;
use crate::environment::{self, AddressPair};
use crate::host_health::HostHealth;
use crate::socket::drops;

/// Ways to a client that are looked up: more than two families do not exist.
const MOST_WAYS: usize = 4;

/// This host, and with which code points it marks no packet.
pub(super) fn description(rules: &Rules) -> Environment {
    let mut description = environment::read(rules.privacy);
    let refused = rules.marks.refused();
    if !refused.is_empty() {
        description.abilities.insert(REFUSED_MARKS.to_owned(), refused);
    }
    description
}

/// The server's own sockets, to be asked what they dropped. Empty once the server has stopped.
#[derive(Default)]
pub(super) struct OwnSockets(Mutex<Sockets>);

#[derive(Default)]
struct Sockets {
    listeners: Vec<TcpListener>,
    datagrams: Vec<Arc<Socket>>,
}

impl OwnSockets {
    /// Second descriptors of those of these ports.
    pub(super) fn from_ports(ports: &[Port]) -> Self {
        let listeners = ports.iter().filter_map(|port| port.stream.try_clone().ok()).collect();
        let datagrams = ports.iter().filter_map(|port| port.datagram.try_clone().ok()).map(Arc::new).collect();
        Self(Mutex::new(Sockets { listeners, datagrams }))
    }

    /// Lets a test count what is dropped before its packets are answered.
    pub(super) fn watched_by(&self, health: &HostHealth) {
        for socket in &self.0.lock().unwrap_or_else(PoisonError::into_inner).datagrams {
            health.watch_socket(FlowId::CONTROL, socket);
        }
    }

    pub(super) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Sockets::default();
    }

    pub(super) fn listen_drops(&self) -> Option<u64> {
        let sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = sockets.listeners.iter().filter_map(drops::read).map(u64::from);
        counts.reduce(u64::saturating_add)
    }
}

/// The ways to one client, as its connections prove them.
#[derive(Debug, Default)]
pub(super) struct Ways(Mutex<Vec<AddressPair>>);

impl Ways {
    /// Those that are proven by now.
    pub(super) fn proven(&self) -> Vec<AddressPair> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The client has reached this host over this connection.
    pub(super) fn prove(&self, stream: &TcpStream) {
        let (Ok(local), Ok(to)) = (stream.local_addr(), stream.peer_addr()) else { return };
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ways.len() < MOST_WAYS && !ways.iter().any(|way| way.to.ip() == to.ip()) {
            ways.push(AddressPair { from: Some(local.ip()), to });
        }
    }
}

//! The one-way flows of a session that the server sends: where their greetings came from, which is where they go.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_model::flow::FlowId;
use rrul_model::observation::{Observation, ProbeStamped};
use rrul_model::time::TestTime;
use rtrb::Producer;

use super::datagram_port::{DatagramPort, Route};

/// What a session knows of its one-way flows towards the client.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    /// Where each flow's greeting came from, once it has come: what has not greeted gets nothing.
    destinations: Mutex<HashMap<u16, Option<Greeted>>>,
    stamps: Mutex<Option<Stamps>>,
}

/// Through which port of this server, to which of the client.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    pub(super) port: Arc<DatagramPort>,
    pub(super) route: Route,
}

/// A greeting that has come.
#[derive(Debug)]
struct Greeted {
    from: Destination,
    /// When the last one came, on the session clock.
    at: i64,
}

/// Where the reflectors note what the kernel has stamped.
#[derive(Debug)]
struct Stamps {
    ring: Producer<Observation>,
    /// T0 on the session clock.
    origin: i64,
}

impl Greetings {
    /// Packets of this flow are to be sent to where its greeting comes from.
    pub(super) fn admit(&self, flow: FlowId) {
        self.destinations.lock().unwrap_or_else(PoisonError::into_inner).insert(flow.0, None);
    }

    /// A greeting has come at this time of the session clock, from an address that is proven, and was answered through this port.
    pub(super) fn greeted(&self, flow: u16, port: &Arc<DatagramPort>, route: Route, at: i64) {
        if let Some(place) = self.destinations.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&flow) {
            *place = Some(Greeted { from: Destination { port: Arc::clone(port), route }, at });
        }
    }

    /// When the last greeting of a flow came, on the session clock.
    pub(super) fn last_greeted(&self, flow: FlowId) -> Option<i64> {
        let destinations = self.destinations.lock().unwrap_or_else(PoisonError::into_inner);
        Some(destinations.get(&flow.0)?.as_ref()?.at)
    }

    /// The way to where the greeting of a flow came from: the server's port, the address there that it was sent to where the
    /// port has several, the client's.
    pub(super) fn way_of(&self, flow: FlowId) -> Option<(SocketAddr, Option<IpAddr>, SocketAddr)> {
        let destinations = self.destinations.lock().unwrap_or_else(PoisonError::into_inner);
        let Destination { port, route } = &destinations.get(&flow.0)?.as_ref()?.from;
        Some((port.address, route.from, route.to))
    }

    /// The kernel has stamped the departure of a packet.
    pub(super) fn stamped(&self, flow: u16, sequence: u32, sent: i64) {
        if let Some(stamps) = self.stamps.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            let sent = TestTime(sent.saturating_sub(stamps.origin));
            // Without room the packet goes without a stamp: the program's own is used.
            let _ = stamps.ring.push(ProbeStamped { flow: FlowId(flow), sequence, sent }.into());
        }
    }

    /// From now on what the kernel stamps goes into this ring, counted from `origin` on the session clock.
    pub(super) fn note_stamps(&self, ring: Producer<Observation>, origin: i64) {
        *self.stamps.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stamps { ring, origin });
    }

    /// Where the packets of a flow go, once its greeting has come.
    pub(super) fn destination_of(&self, flow: FlowId) -> Option<Destination> {
        let destinations = self.destinations.lock().unwrap_or_else(PoisonError::into_inner);
        Some(destinations.get(&flow.0)?.as_ref()?.from.clone())
    }
}

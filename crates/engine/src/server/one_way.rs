//! The one-way flows of a session that the server sends: where they go, and the thread that sends them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::{Observation, ProbeSent, ProbeStamped};
use rrul_model::time::TestTime;
use rtrb::Producer;

use super::datagram_port::{DatagramPort, Departing, Route, Sent};
use super::session::Session;
use crate::clock::{RawTime, TestClock};
use crate::one_way_sending::{self, OneWayFlow, Outlet};
use crate::test_end::TestEnd;

/// Stamps that may wait for the next collection: three seconds of the most packets that a session is granted by default.
const STAMPS: usize = 24_576;

/// What a session knows of its one-way flows towards the client.
#[derive(Debug, Default)]
pub(super) struct OneWay {
    /// Where each flow's greeting came from, once it has come: what has not greeted gets nothing.
    destinations: Mutex<HashMap<u16, Option<Destination>>>,
    stamps: Mutex<Option<Stamps>>,
}

/// Through which port of this server, to which of the client.
#[derive(Debug, Clone)]
struct Destination {
    port: Arc<DatagramPort>,
    route: Route,
}

/// Where the reflectors note what the kernel has stamped.
#[derive(Debug)]
struct Stamps {
    ring: Producer<Observation>,
    /// T0 on the session clock.
    origin: i64,
}

impl OneWay {
    /// Packets of this flow are to be sent to where its greeting comes from.
    pub(super) fn admit(&self, flow: FlowId) {
        self.destinations.lock().unwrap_or_else(PoisonError::into_inner).insert(flow.0, None);
    }

    /// A greeting has come, from an address that is proven, and was answered through this port.
    pub(super) fn greeted(&self, flow: u16, port: &Arc<DatagramPort>, route: Route) {
        if let Some(place) = self.destinations.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&flow) {
            *place = Some(Destination { port: Arc::clone(port), route });
        }
    }

    /// The way to where the greeting of a flow came from: the server's port, the address there that it was sent to where the
    /// port has several, the client's.
    pub(super) fn way_of(&self, flow: FlowId) -> Option<(SocketAddr, Option<IpAddr>, SocketAddr)> {
        let destinations = self.destinations.lock().unwrap_or_else(PoisonError::into_inner);
        let Destination { port, route } = destinations.get(&flow.0)?.as_ref()?;
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
}

/// Sends these flows until their end. A thread of its own runs it.
pub(super) fn send(session: &Arc<Session>, end: &TestEnd, clock: TestClock, origin: i64, specs: &[FlowSpec]) {
    let ring = end.observer.ring(STAMPS);
    *session.one_way.stamps.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stamps { ring, origin });
    let destinations = session.one_way.destinations.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let reached = specs.iter().filter_map(|spec| Some((spec, destinations.get(&spec.id.0)?.clone()?)));
    let reached: Vec<_> = reached.collect();
    let flow = |(place, (spec, destination)): (usize, &(&FlowSpec, Destination))| {
        let outlet =
            Way { session: Arc::clone(session), clock, octet: spec.class.octet(), destination: destination.clone() };
        OneWayFlow::new(spec, session.token(), (place, reached.len()), outlet)
    };
    let flows = reached.iter().enumerate().map(flow).collect();
    one_way_sending::run(end, clock, flows);
}

/// The way of one flow's packets.
struct Way {
    session: Arc<Session>,
    clock: TestClock,
    octet: u8,
    destination: Destination,
}

impl Outlet for Way {
    /// What the server sends by itself counts as what it answers: a session has one cap.
    fn grants(&mut self) -> bool {
        let now = self.session.at(RawTime::now());
        self.session.reflector().grant(now)
    }

    fn send(&mut self, packet: &[u8], row: &ProbeSent) {
        let departing = Departing {
            session: Arc::downgrade(&self.session),
            what: Sent::OneWay,
            flow: row.flow.0,
            sequence: row.sequence,
            sent: self.session.at(self.clock.raw(row.sent)),
        };
        // What the kernel does not take counts as lost.
        let _ = self.destination.port.send(packet, self.destination.route, self.octet, departing);
    }
}

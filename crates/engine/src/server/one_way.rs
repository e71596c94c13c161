//! The thread that sends the one-way flows of a session.

use std::sync::Arc;

use rrul_model::flow::FlowSpec;
use rrul_model::observation::ProbeSent;

use super::datagram_port::{Departing, Sent};
use super::greetings::Destination;
use super::session::Session;
use crate::clock::RawTime;
use crate::clock::test_clock::TestClock;
use crate::one_way_sending::{self, OneWayFlow, Outlet};
use crate::test_end::TestEnd;

/// Stamps that may wait for the next collection: three seconds of the most packets that a session is granted by default.
const STAMPS: usize = 24_576;

/// Sends these flows until their end. A thread of its own runs it.
pub(super) fn send(session: &Arc<Session>, end: &TestEnd, clock: TestClock, origin: i64, specs: &[FlowSpec]) {
    let ring = end.observer.ring(STAMPS);
    session.one_way.note_stamps(ring, origin);
    let reached = specs.iter().filter_map(|spec| Some((spec, session.one_way.destination_of(spec.id)?)));
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
            session: Session::stamp_taker(&self.session),
            what: Sent::OneWay,
            flow: row.flow.0,
            sequence: row.sequence,
            sent: self.session.at(self.clock.raw(row.sent)),
        };
        // What the kernel does not take counts as lost.
        let _ = self.destination.port.send(packet, self.destination.route, self.octet, departing);
    }
}

//! Flows whose packets are not answered: those to the server are noted as they arrive, those to the client leave from a thread of
//! the session, to where the flow's greeting came from.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::ProbeSent;

use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::observer::ObservationSink;
use crate::one_way_sending::{self, OneWayFlow, Outlet};
use crate::server::datagram_port::{DatagramPort, Departing, Sent};
use crate::server::greetings::Destination;
use crate::server::session::{Admission, FlowRefusal, Sending, ServerPart, Session};
use crate::socket::wait::is_not_ready;

/// Packets that are not answered.
pub(crate) struct OneWay;

impl ServerPart for OneWay {
    fn admit(&self, spec: &FlowSpec, packets_per_second: f64, session: &mut Admission<'_>) -> Result<(), FlowRefusal> {
        session.reserve_packets(spec, packets_per_second)?;
        session.reserve_replies(spec, packets_per_second);
        Ok(())
    }

    fn sender(&self) -> Option<&'static str> {
        Some("one_way")
    }

    fn send(&self, sending: &Sending<'_>, specs: &[FlowSpec]) {
        send(sending, specs);
    }
}

fn send(&Sending { session, end, clock, origin, .. }: &Sending<'_>, specs: &[FlowSpec]) {
    let stamps = one_way_sending::packets_between_collections(specs.iter().map(one_way_sending::interval));
    let ring = end.observer.ring(stamps);
    session.one_way.note_stamps(ring, origin);
    let reached = specs.iter().filter_map(|spec| Some((spec, session.one_way.destination_of(spec.id)?)));
    let mut reached: Vec<_> = reached.collect();
    // Through sockets of this session: a burst of one is not the loss of another.
    let mut own: HashMap<SocketAddr, Arc<DatagramPort>> = HashMap::new();
    for (_, destination) in &mut reached {
        if let Entry::Vacant(place) = own.entry(destination.port.address)
            && let Ok(port) = destination.port.beside()
        {
            place.insert(Arc::new(port));
        }
        if let Some(port) = own.get(&destination.port.address) {
            destination.port = Arc::clone(port);
        }
    }
    let flow = |(place, (spec, destination)): (usize, &(&FlowSpec, Destination))| {
        let (of_way, destination) = (Arc::clone(session), destination.clone());
        let outlet = Way {
            session: of_way,
            clock,
            flow: spec.id,
            octet: spec.class.octet(),
            destination,
            wall: WallClock::new(),
        };
        OneWayFlow::new(spec, session.seal().clone(), (place, reached.len()), outlet)
    };
    let flows = reached.iter().enumerate().map(flow).collect();
    one_way_sending::run(end, clock, flows);
}

/// The way of one flow's packets.
struct Way {
    session: Arc<Session>,
    clock: TestClock,
    flow: FlowId,
    octet: u8,
    destination: Destination,
    wall: WallClock,
}

impl Outlet for Way {
    /// What the server sends by itself counts as what it answers: a session has one cap. Nothing leaves for a client that has
    /// vanished.
    fn grants(&mut self) -> bool {
        let now = RawTime::now();
        self.session.consents(self.flow, now) && self.session.reflector().grant(self.session.at(now))
    }

    fn send(&mut self, packet: &[u8], row: &ProbeSent) -> bool {
        let departing = Departing {
            session: Session::stamp_taker(&self.session),
            what: Sent::OneWay,
            flow: row.flow.0,
            sequence: row.sequence,
            sent: self.session.at(self.clock.raw(row.sent)),
        };
        let outcome = self.destination.port.send(packet, self.destination.route, self.octet, departing);
        if outcome.is_ok() {
            self.session.moved.passed(self.destination.route.to.ip(), packet.len());
        }
        // What the kernel does not take for another reason counts as lost.
        !outcome.is_err_and(|error| is_not_ready(&error))
    }

    fn read_stamps(&mut self, _clock: TestClock, _sink: &mut ObservationSink<'_>) {
        self.wall.refresh(RawTime::now());
        self.destination.port.report_stamps(&self.wall);
    }
}

//! The thread that answers test packets, and questions for names, of one address family, at real-time priority where allowed.

use std::net::SocketAddr;
use std::sync::Arc;

use rrul_model::random::Random;
use rrul_proto::name_responder::Asked;
use rrul_proto::one_way_packet::OneWayPacket;
use rrul_proto::packet_train::TrainPacket;
use rrul_proto::session_reflector::{Incoming, Silence, Train};
use rrul_proto::test_packet::{Kind, TestPacket};

use super::datagram_port::{DatagramPort, Departing, Route, Sent};
use super::name_answering;
use super::pages::Forwarding;
use super::session::Session;
use super::shared::Shared;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::test_course::PATIENCE;
use crate::scheduling;
use crate::socket::datagram::{self, Datagram};
use crate::socket::wait::{WaitSet, is_not_ready};

/// Packets read in a row before stamps are read again.
const BATCH: usize = 64;

/// Answers until the server stops.
pub(super) fn run(port: &Arc<DatagramPort>, shared: &Shared, forwarding: &Forwarding) {
    if scheduling::run_as_probe().is_err() {
        scheduling::prompt_timers();
    }
    let mut wall = WallClock::new();
    let mut waiting = WaitSet::new([&**port]);
    let mut octets = [0; 2048];
    while !shared.is_stopped() {
        waiting.wait_or_pause(PATIENCE);
        wall.refresh(RawTime::now());
        for _ in 0..BATCH {
            // Errors here are what ICMP said of an earlier reply: that client is gone, which its session will notice.
            let Ok(Some(datagram)) = datagram::receive(port, &mut octets) else { break };
            if datagram.length <= octets.len() {
                take(port, shared, &wall, &mut octets[..datagram.length], &datagram, forwarding);
            }
        }
        port.report_stamps(&wall);
    }
}

fn take(
    port: &Arc<DatagramPort>,
    shared: &Shared,
    wall: &WallClock,
    octets: &mut [u8],
    datagram: &Datagram,
    forwarding: &Forwarding,
) {
    // To port 0 nothing can be sent, and the failure would disturb the stamps of everybody's replies.
    let Some(source) = datagram.source.filter(|source| source.port() != 0) else { return };
    let received = datagram.stamp.map_or_else(RawTime::now, |stamp| wall.raw(stamp));
    let (octet, hop_limit) = (datagram.octet.unwrap_or(0), datagram.hop_limit);
    let incoming =
        |session: &Session| Incoming { source: source.ip(), received: session.at(received), octet, hop_limit };
    if let Ok(packet) = OneWayPacket::read(octets) {
        if let Some(session) = shared.sessions.named(&packet.token) {
            let incoming = incoming(&session);
            // What is not taken is passed over in silence, as what is not answered.
            let taken = session.reflector().take(octets, incoming, session.at(RawTime::now()));
            match taken {
                Ok(()) => session.moved.took(source.ip(), octets.len()),
                Err(silence) => pass_over(silence, &session, (source, octets.len()), shared),
            }
        }
        return;
    }
    if let Ok(packet) = TrainPacket::read(octets) {
        if let Some(session) = shared.sessions.named(&packet.token) {
            let incoming = incoming(&session);
            let back = session.reflector().couple(octets, incoming, session.at(RawTime::now()));
            match back {
                Ok(train) => {
                    session.moved.passed(source.ip(), octets.len());
                    if let Some(train) = train {
                        send_back(port, &session, &train, route(port, source, datagram));
                    }
                }
                Err(silence) => pass_over(silence, &session, (source, octets.len()), shared),
            }
        }
        return;
    }
    let Ok(packet) = TestPacket::read(octets) else {
        if let Some(asked) = Asked::read(octets) {
            return name_answering::answer(port, shared, &asked, octets.len(), datagram, source);
        }
        forwarding.take(octets, source, route(port, source, datagram).from, shared);
        return;
    };
    let Some(session) = shared.sessions.named(&packet.token) else { return };
    let incoming = incoming(&session);
    let reply = session.reflector().reflect(octets, incoming, || session.at(RawTime::now()));
    let reply = match reply {
        Ok(reply) => reply,
        Err(silence) => return pass_over(silence, &session, (source, octets.len()), shared),
    };
    session.moved.took(source.ip(), octets.len());
    let route = route(port, source, datagram);
    let departing = Departing {
        session: Session::stamp_taker(&session),
        what: Sent::Reply,
        flow: reply.flow,
        sequence: reply.sequence,
        sent: reply.sent,
    };
    let octet = shared.in_force().rules.marks.octet(reply.octet);
    let outcome = port.send(&octets[..reply.length], route, octet, departing);
    if outcome.as_ref().is_err_and(is_not_ready) {
        // The line has not lost it.
        session.not_sent(reply.flow);
    }
    if outcome.is_ok() {
        session.moved.passed(source.ip(), reply.length);
    }
    if outcome.is_ok() && packet.kind == Kind::Greeting {
        session.one_way.greeted(reply.flow, port, route, incoming.received);
    }
}

/// Counts a packet that is not answered. What its own client sends beyond its share has used the line all the same.
fn pass_over(why: Silence, session: &Session, (source, octets): (SocketAddr, usize), shared: &Shared) {
    if matches!(why, Silence::UnknownFlow | Silence::TooLong | Silence::TooMany) {
        session.moved.passed(source.ip(), octets);
    }
    shared.counters.silent(why);
}

/// The way back. A socket of one address replies from it anyhow; one of every address replies from where it was asked.
fn route(port: &DatagramPort, source: SocketAddr, datagram: &Datagram) -> Route {
    let from = if port.address.ip().is_unspecified() { datagram.local } else { None };
    Route { to: source, from }
}

/// Sends a train back to where it came from, its packets as close together as they leave. Their stamps are not needed, and
/// one that the kernel does not take must not disturb those of others.
fn send_back(port: &DatagramPort, session: &Session, train: &Train, route: Route) {
    let mut octets = [0; 2048];
    let Some(octets) = octets.get_mut(..train.octets) else { return };
    Random(u64::from(route.to.port())).fill(octets);
    for packet in &train.packets {
        if packet.write(octets).is_err() {
            return;
        }
        session.seal().seal(octets);
        if port.send_unnumbered(octets, route, 0).is_err() {
            return;
        }
        session.moved.passed(route.to.ip(), octets.len());
    }
}

//! Answers to questions for names of a session, through the reflector's port.

use std::net::SocketAddr;

use rrul_proto::name_responder::Asked;
use rrul_proto::session_reflector::Silence;

use super::datagram_port::{DatagramPort, Route};
use super::shared::Shared;
use crate::clock::RawTime;
use crate::socket::datagram::Datagram;

/// Answers a question of so many bytes, if it is one of a session's client, marked with the class of its flow.
pub(super) fn answer(
    port: &DatagramPort,
    shared: &Shared,
    asked: &Asked,
    octets: usize,
    datagram: &Datagram,
    source: SocketAddr,
) {
    let Some(session) = shared.sessions.find(&asked.token) else { return };
    let Some(class) = session.class_of(asked.flow) else { return };
    let now = session.at(RawTime::now());
    let taken = session.reflector().take_question(asked.flow, octets, source.ip(), now);
    if taken != Err(Silence::UnprovenSource) {
        session.moved.passed(source.ip(), octets);
    }
    if taken.is_err() {
        return;
    }
    let everywhere = port.address.ip().is_unspecified();
    let Some(address) = (if everywhere { datagram.local } else { Some(port.address.ip()) }) else { return };
    let route = Route { to: source, from: everywhere.then_some(address) };
    let answer = asked.answer(address);
    // Who gets no answer has noticed by itself.
    if port.send_unnumbered(&answer, route, class.octet()).is_ok() {
        session.moved.passed(source.ip(), answer.len());
    }
}

//! The thread that answers test packets of one address family, at real-time priority where allowed.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use rrul_proto::session_reflector::Incoming;
use rrul_proto::test_packet::TestPacket;
use socket2::Socket;

use super::Shared;
use super::session::Session;
use crate::clock::{RawTime, WallClock};
use crate::scheduling;
use crate::socket::datagram::{self, Datagram};
use crate::socket::{options, wait::WaitSet};
use crate::test_end::PATIENCE;

/// Transmit stamps that may be outstanding.
const OUTSTANDING: usize = 1024;

/// Packets read in a row before stamps are read again.
const BATCH: usize = 64;

/// A reply whose transmit stamp has not come yet.
struct Outstanding {
    session: Weak<Session>,
    flow: u16,
    sequence: u32,
}

/// Which reply each numbered stamp of the error queue belongs to.
#[derive(Default)]
struct Stamps {
    first: u32,
    replies: VecDeque<Outstanding>,
}

/// Answers until the server stops.
pub(super) fn run(socket: &Socket, address: SocketAddr, shared: &Shared) {
    if scheduling::run_as_probe().is_err() {
        scheduling::prompt_timers();
    }
    let mut stamps = Stamps { first: 0, replies: VecDeque::with_capacity(OUTSTANDING) };
    let mut wall = WallClock::new();
    let mut waiting = WaitSet::new([socket]);
    let mut octets = [0; 2048];
    while !shared.is_stopped() {
        if waiting.wait(PATIENCE).is_err() {
            std::thread::sleep(PATIENCE);
        }
        wall.refresh(RawTime::now());
        for _ in 0..BATCH {
            // Errors here are what ICMP said of an earlier reply: that client is gone, which its session will notice.
            let Ok(Some(datagram)) = datagram::receive(socket, &mut octets) else { break };
            if datagram.length <= octets.len() {
                answer(socket, address, shared, &wall, &mut stamps, &mut octets[..datagram.length], &datagram);
            }
        }
        while let Ok(Some(stamp)) = datagram::receive_transmit_stamp(socket) {
            let place = stamp.number.wrapping_sub(stamps.first) as usize;
            if let Some(outstanding) = stamps.replies.get(place)
                && let Some(session) = outstanding.session.upgrade()
            {
                let sent = session.at(wall.raw(stamp.stamp));
                session.reflector().stamped(outstanding.flow, outstanding.sequence, sent);
            }
        }
    }
}

fn answer(
    socket: &Socket,
    address: SocketAddr,
    shared: &Shared,
    wall: &WallClock,
    stamps: &mut Stamps,
    octets: &mut [u8],
    datagram: &Datagram,
) {
    let Some(source) = datagram.source else { return };
    let Ok(packet) = TestPacket::read(octets) else { return };
    let Some(session) = shared.sessions.find(&packet.token) else { return };
    let received = datagram.stamp.map_or_else(RawTime::now, |stamp| wall.raw(stamp));
    let incoming = Incoming { source: source.ip(), received: session.at(received), octet: datagram.octet.unwrap_or(0) };
    let reply = session.reflector().reflect(octets, incoming, || session.at(RawTime::now()));
    let Ok(reply) = reply else { return };
    // A socket of one address replies from it anyhow; one of every address replies from where it was asked.
    let from = if address.ip().is_unspecified() { datagram.local } else { None };
    if datagram::send_to(socket, octets, source, reply.octet, from).is_ok() {
        if stamps.replies.len() == OUTSTANDING {
            stamps.replies.pop_front();
            stamps.first = stamps.first.wrapping_add(1);
        }
        let session = Arc::downgrade(&session);
        stamps.replies.push_back(Outstanding { session, flow: reply.flow, sequence: reply.sequence });
    } else {
        // The kernel may or may not have counted it: start counting anew.
        let _ = options::stamp(socket);
        stamps.replies.clear();
        stamps.first = 0;
    }
}

//! The thread that answers test packets of one address family, at real-time priority where allowed.

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
use crate::socket::transmit_numbers::TransmitNumbers;
use crate::socket::{options, wait::WaitSet};
use crate::test_end::PATIENCE;

/// How far the carrying over of a wall-clock stamp may be off, nanoseconds.
const STAMP_ERROR: i64 = 20_000;

/// How long a reply may lie in this host before it leaves, nanoseconds.
const LONGEST_QUEUE: i64 = 1_000_000_000;

/// Packets read in a row before stamps are read again.
const BATCH: usize = 64;

/// A reply whose transmit stamp has not come yet.
struct Outstanding {
    session: Weak<Session>,
    flow: u16,
    sequence: u32,
    /// The program's stamp just before it was sent, on the session clock.
    sent: i64,
}

impl Outstanding {
    /// Whether a kernel stamp can be this reply's: not before it was sent, not long after. Numbers that have run out of
    /// step would otherwise put one reply's stamp to another.
    fn takes(&self, stamp: i64) -> bool {
        (self.sent - STAMP_ERROR..self.sent + LONGEST_QUEUE).contains(&stamp)
    }
}

/// Answers until the server stops.
pub(super) fn run(socket: &Socket, address: SocketAddr, shared: &Shared) {
    if scheduling::run_as_probe().is_err() {
        scheduling::prompt_timers();
    }
    let mut numbers = TransmitNumbers::default();
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
                answer(socket, address, shared, &wall, &mut numbers, &mut octets[..datagram.length], &datagram);
            }
        }
        while let Ok(Some(stamp)) = datagram::receive_transmit_stamp(socket) {
            if let Some(outstanding) = numbers.find(stamp.number)
                && let Some(session) = outstanding.session.upgrade()
            {
                let sent = session.at(wall.raw(stamp.stamp));
                if outstanding.takes(sent) {
                    session.reflector().stamped(outstanding.flow, outstanding.sequence, sent);
                }
            }
        }
    }
}

fn answer(
    socket: &Socket,
    address: SocketAddr,
    shared: &Shared,
    wall: &WallClock,
    numbers: &mut TransmitNumbers<Outstanding>,
    octets: &mut [u8],
    datagram: &Datagram,
) {
    // To port 0 nothing can be sent, and the failure would disturb the stamps of everybody's replies.
    let Some(source) = datagram.source.filter(|source| source.port() != 0) else { return };
    let Ok(packet) = TestPacket::read(octets) else { return };
    let Some(session) = shared.sessions.find(&packet.token) else { return };
    let received = datagram.stamp.map_or_else(RawTime::now, |stamp| wall.raw(stamp));
    let incoming = Incoming { source: source.ip(), received: session.at(received), octet: datagram.octet.unwrap_or(0) };
    let reply = session.reflector().reflect(octets, incoming, || session.at(RawTime::now()));
    let Ok(reply) = reply else { return };
    // A socket of one address replies from it anyhow; one of every address replies from where it was asked.
    let from = if address.ip().is_unspecified() { datagram.local } else { None };
    if datagram::send_to(socket, octets, source, reply.octet, from).is_ok() {
        numbers.sent(Outstanding {
            session: Arc::downgrade(&session),
            flow: reply.flow,
            sequence: reply.sequence,
            sent: reply.sent,
        });
    } else {
        // The kernel may or may not have counted it: start counting anew.
        let _ = options::stamp(socket);
        numbers.restart();
    }
}

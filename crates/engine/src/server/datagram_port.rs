//! The server's UDP socket of one address: the reflector and the senders of every session send through it.
//!
//! The kernel numbers the packets of a socket and stamps them under these numbers, so sending and counting are one step.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rrul_model::flow::AddressFamily;
use socket2::{Protocol, Socket, Type};

use crate::clock::{RawTime, WallClock};
use crate::socket::datagram;
use crate::socket::options;
use crate::socket::shared_port;
use crate::socket::transmit_numbers::TransmitNumbers;
use crate::socket::wait::is_not_ready;

/// How far the carrying over of a wall-clock stamp may be off, nanoseconds.
const STAMP_ERROR: i64 = 20_000;

/// How long a packet may lie in this host before it leaves, nanoseconds.
const LONGEST_QUEUE: i64 = 1_000_000_000;

/// Between which addresses a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) to: SocketAddr,
    /// `None` where the socket has but one.
    pub(super) from: Option<IpAddr>,
}

/// What a packet was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// The reply to the packet of this number.
    Reply,
    /// A packet of a flow that the server sends.
    OneWay,
}

/// The receiver of the transmit stamp of a packet: a session.
pub(super) trait StampTaker: Send + Sync + 'static {
    /// Nanoseconds on the session clock.
    fn at(&self, raw: RawTime) -> i64;
    /// The kernel has stamped the departure of a packet.
    fn stamped(&self, packet: &Departing, sent: i64);
}

/// A packet whose transmit stamp has not come yet.
pub(super) struct Departing {
    pub(super) session: Weak<dyn StampTaker>,
    pub(super) what: Sent,
    pub(super) flow: u16,
    pub(super) sequence: u32,
    /// The program's stamp just before it was sent, on the session clock.
    pub(super) sent: i64,
}

impl std::fmt::Debug for Departing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, flow, sequence, sent, session: _ } = self;
        write!(f, "{what:?} of flow {flow}, number {sequence}, sent {sent}")
    }
}

impl Departing {
    /// Whether a kernel stamp can be this packet's: not before it was sent, not long after. Numbers that have run out of
    /// step would otherwise put one packet's stamp to another.
    fn takes(&self, stamp: i64) -> bool {
        (self.sent - STAMP_ERROR..self.sent + LONGEST_QUEUE).contains(&stamp)
    }
}

/// The socket, and which packets its next stamps will be of.
#[derive(Debug)]
pub(super) struct DatagramPort {
    pub(super) address: SocketAddr,
    socket: Socket,
    departing: Mutex<TransmitNumbers<Departing>>,
    /// Packets of all sockets of the server that this host had no room for.
    unsent: Arc<AtomicU64>,
}

impl AsFd for DatagramPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl DatagramPort {
    pub(super) fn new(socket: Socket, address: SocketAddr, unsent: Arc<AtomicU64>) -> Self {
        Self { address, socket, departing: Mutex::default(), unsent }
    }

    /// Another socket at the same address and port, which receives nothing: what is sent through it waits for no other's packets
    /// to leave, and keeps none waiting.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub(super) fn beside(&self) -> io::Result<Self> {
        let family = AddressFamily::from_address(self.address.ip());
        let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
        if family == AddressFamily::Ipv6 {
            socket.set_only_v6(true)?;
        }
        shared_port::bind_beside(&socket, self.address)?;
        options::stamp(&socket)?;
        Ok(Self::new(socket, self.address, Arc::clone(&self.unsent)))
    }

    /// Sends one packet, marked with `octet`.
    ///
    /// # Errors
    /// As sendmsg(2); the packet has not left.
    pub(super) fn send(&self, octets: &[u8], route: Route, octet: u8, departing: Departing) -> io::Result<()> {
        let mut numbers = self.departing.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = datagram::send_to(self, octets, route.to, octet, route.from);
        if outcome.is_ok() {
            numbers.sent(departing);
        } else {
            // The kernel may or may not have counted it: start counting anew.
            let _ = options::stamp(self);
            numbers.restart();
        }
        self.counted(outcome)
    }

    /// Sends one packet, marked with `octet`, that the kernel neither stamps nor numbers: those who wait for stamps are not
    /// disturbed by it, nor by the thread that sends it.
    ///
    /// # Errors
    /// As sendmsg(2); the packet has not left.
    pub(super) fn send_unnumbered(&self, octets: &[u8], route: Route, octet: u8) -> io::Result<()> {
        self.counted(datagram::send_unstamped(self, octets, route.to, octet, route.from))
    }

    /// Counts a packet that this host had no room for.
    fn counted(&self, outcome: io::Result<()>) -> io::Result<()> {
        outcome.inspect_err(|error| {
            if is_not_ready(error) || error.raw_os_error() == Some(libc::ENOBUFS) {
                self.unsent.fetch_add(1, Ordering::Relaxed);
            }
        })
    }

    /// Passes each session the stamps of its packets that the kernel has taken since the last call.
    pub(super) fn report_stamps(&self, wall: &WallClock) {
        while let Ok(Some(stamp)) = datagram::receive_transmit_stamp(self) {
            let numbers = self.departing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(departing) = numbers.find(stamp.number)
                && let Some(session) = departing.session.upgrade()
            {
                let sent = session.at(wall.raw(stamp.stamp));
                if departing.takes(sent) {
                    session.stamped(departing, sent);
                }
            }
        }
    }
}

//! The server's UDP port as QUIC sees it.
//!
//! The reflector reads every packet of the port, as it must stamp its own at once; what belongs to a page it hands on
//! through a pair of local sockets, whose kernel buffer neither makes it wait nor allocate. Answers leave through the port
//! itself, each marked as the flow of whom it goes to, and beside the numbering of the reflector's packets.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use rrul_model::flow::FlowId;
use rrul_proto::session_name::initial_of;
use tokio::io::ReadBuf;

use super::Shared;
use crate::server::datagram_port::{DatagramPort, Route};
use crate::server::session::Session;

/// Octets before each packet on its way from the reflector: port, flow, marking, then two addresses and the token.
const HEAD: usize = 5 + 16 + 16 + 16;
/// The longest packet that is handed on.
const LONGEST: usize = 1500;
/// Clients that a port knows at the same time. Those whose session has ended are forgotten.
const MOST_GUESTS: usize = 4096;

/// Whom packets of a source belong to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guest {
    pub(super) token: [u8; 16],
    pub(super) flow: u16,
    octet: u8,
    /// The address of this host that the source writes to; `None` where the port has but one.
    local: Option<IpAddr>,
}

/// The reflector's side: what it hands on, and who may be answered.
pub(crate) struct Forwarding {
    socket: UnixDatagram,
    guests: HashMap<SocketAddr, (Guest, Weak<Session>)>,
}

impl Forwarding {
    /// Hands on a packet that is not of rrul's own protocol, if it belongs to a page of a session; whether it did.
    pub(crate) fn take(&mut self, octets: &[u8], source: SocketAddr, local: Option<IpAddr>, shared: &Shared) {
        if let Some((token, flow)) = initial_of(octets)
            && !self.guests.contains_key(&source)
        {
            let Some(session) = shared.sessions.find(&token) else { return };
            let Some((spec, _)) = session.page_flow(FlowId(flow)) else { return };
            // Nobody is answered who has not completed a TCP handshake from this address.
            if !session.reflector().is_proven(source.ip()) {
                return;
            }
            if self.guests.len() >= MOST_GUESTS {
                self.guests.retain(|_, (_, session)| session.strong_count() > 0);
                if self.guests.len() >= MOST_GUESTS {
                    return;
                }
            }
            let guest = Guest { token: token.0, flow, octet: spec.class.octet(), local };
            self.guests.insert(source, (guest, Arc::downgrade(&session)));
        }
        let Some((guest, session)) = self.guests.get(&source) else { return };
        if session.strong_count() == 0 {
            self.guests.remove(&source);
            return;
        }
        let mut packet = [0; HEAD + LONGEST];
        let Some(room) = packet.get_mut(HEAD..HEAD + octets.len()) else { return };
        room.copy_from_slice(octets);
        write_head(&mut packet, source, guest);
        // A full buffer loses packets, as any queue does.
        let _ = self.socket.send(&packet[..HEAD + octets.len()]);
    }
}

fn wide(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn write_head(packet: &mut [u8], source: SocketAddr, guest: &Guest) {
    packet[0..2].copy_from_slice(&source.port().to_be_bytes());
    packet[2..4].copy_from_slice(&guest.flow.to_be_bytes());
    packet[4] = guest.octet;
    packet[5..21].copy_from_slice(&wide(source.ip()).octets());
    packet[21..37].copy_from_slice(&wide(guest.local.unwrap_or(Ipv6Addr::UNSPECIFIED.into())).octets());
    packet[37..53].copy_from_slice(&guest.token);
}

fn read_head(packet: &[u8], v6: bool) -> Option<(SocketAddr, Guest)> {
    let address = |at: usize| -> Option<IpAddr> {
        let wide = Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?);
        Some(if v6 { wide.into() } else { wide.to_ipv4_mapped()?.into() })
    };
    let number = |at: usize| packet.get(at..)?.first_chunk().map(|octets| u16::from_be_bytes(*octets));
    let local = address(21).filter(|local| !local.is_unspecified());
    let token = *packet.get(37..)?.first_chunk()?;
    let guest = Guest { token, flow: number(2)?, octet: *packet.get(4)?, local };
    Some((SocketAddr::new(address(5)?, number(0)?), guest))
}

/// QUIC's side.
pub(super) struct QuicSocket {
    port: Arc<DatagramPort>,
    incoming: tokio::net::UnixDatagram,
    guests: Mutex<HashMap<SocketAddr, Guest>>,
}

impl fmt::Debug for QuicSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicSocket").field("address", &self.port.address).finish_non_exhaustive()
    }
}

/// Both sides of a port; to be called on the runtime.
pub(super) fn pair(port: &Arc<DatagramPort>) -> io::Result<(Forwarding, Arc<QuicSocket>)> {
    let (here, there) = UnixDatagram::pair()?;
    here.set_nonblocking(true)?;
    there.set_nonblocking(true)?;
    let incoming = tokio::net::UnixDatagram::from_std(there)?;
    let socket = QuicSocket { port: Arc::clone(port), incoming, guests: Mutex::default() };
    Ok((Forwarding { socket: here, guests: HashMap::new() }, Arc::new(socket)))
}

impl QuicSocket {
    /// Who writes from there.
    pub(super) fn guest(&self, source: SocketAddr) -> Option<Guest> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner).get(&source).copied()
    }

    /// Forgets who wrote from there.
    pub(super) fn forget(&self, source: SocketAddr) {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner).remove(&source);
    }
}

impl AsyncUdpSocket for QuicSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysReady)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if let Some(guest) = self.guest(transmit.destination) {
            let route = Route { to: transmit.destination, from: guest.local };
            // A port whose buffer is full loses the packet, and congestion control learns of it as of any loss.
            let _ = self.port.send_unnumbered(transmit.contents, route, guest.octet);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (Some(into), Some(meta)) = (bufs.first_mut(), meta.first_mut()) else { return Poll::Ready(Ok(0)) };
        let mut packet = [0; HEAD + LONGEST];
        loop {
            let mut read = ReadBuf::new(&mut packet);
            ready!(self.incoming.poll_recv(cx, &mut read))?;
            let packet = read.filled();
            let Some((source, guest)) = read_head(packet, self.port.address.is_ipv6()) else { continue };
            let Some(payload) = packet.get(HEAD..) else { continue };
            let Some(room) = into.get_mut(..payload.len()) else { continue };
            room.copy_from_slice(payload);
            self.guests.lock().unwrap_or_else(PoisonError::into_inner).insert(source, guest);
            *meta =
                RecvMeta { addr: source, len: payload.len(), stride: payload.len(), ecn: None, dst_ip: guest.local };
            return Poll::Ready(Ok(1));
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.port.address)
    }

    fn may_fragment(&self) -> bool {
        true
    }
}

/// A port that takes what it is given.
#[derive(Debug)]
struct AlwaysReady;

impl UdpPoller for AlwaysReady {
    fn poll_writable(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_a_packet_belongs_to_survives_the_way_between_the_threads() {
        for (source, local) in
            [("192.0.2.1:4433", Some("192.0.2.9")), ("[2001:db8::1]:99", Some("2001:db8::9")), ("192.0.2.1:1", None)]
        {
            let source: SocketAddr = source.parse().unwrap();
            let local: Option<IpAddr> = local.map(|local| local.parse().unwrap());
            let guest = Guest { token: *b"0123456789abcdef", flow: 0x0102, octet: 0xb8, local };
            let mut packet = [0; HEAD + 3];
            write_head(&mut packet, source, &guest);
            let (from, read) = read_head(&packet, source.is_ipv6()).unwrap();
            assert_eq!((from, read.token, read.flow, read.octet), (source, guest.token, guest.flow, guest.octet));
            assert_eq!(read.local, local);
        }
        assert!(read_head(&[0; HEAD - 1], true).is_none());
    }
}

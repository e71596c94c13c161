//! The server's UDP port as QUIC sees it.
//!
//! The reflector reads every packet of the port, as it must stamp its own at once; what belongs to a page it hands on
//! through a pair of local sockets, whose kernel buffer neither makes it wait nor allocate. Answers leave through the port
//! itself, each marked as the flow of whom it goes to, and beside the numbering of the reflector's packets.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use rrul_model::flow::FlowId;
use rrul_proto::session_name::initial_of;
use rrul_proto::session_reflector::Silence;
use rrul_proto::token::Token;
use tokio::io::ReadBuf;

use super::quic_peers::QuicPeers;
use crate::clock::RawTime;
use crate::server::datagram_port::{DatagramPort, Route};
use crate::server::shared::Shared;

/// Bytes before each packet on its way from the reflector: the source's port and address, and the address of this host that
/// it writes to.
const HEAD: usize = 2 + 16 + 16;
/// The longest packet that is handed on.
const LONGEST: usize = 1500;

/// The reflector's side: what it hands on.
pub(crate) struct Forwarding {
    socket: UnixDatagram,
    quic_peers: Arc<QuicPeers>,
}

impl Forwarding {
    /// Hands on a packet that is not of rrul's own protocol, if it belongs to a page of a session. `local` is `None` where the
    /// port has but one address.
    pub(crate) fn take(&self, octets: &[u8], source: SocketAddr, local: Option<IpAddr>, shared: &Shared) {
        let room = self.quic_peers.take(source, octets.len());
        let ours = match initial_of(octets) {
            // Asked for each of them: ports are used again, and sessions end.
            Some((token, flow)) => {
                room != Some(false) && opens(shared, (token, flow), source.ip(), octets.len(), room.is_some())
            }
            None => room == Some(true),
        };
        let mut packet = [0; HEAD + LONGEST];
        let Some(room) = packet.get_mut(HEAD..HEAD + octets.len()).filter(|_| ours) else { return };
        room.copy_from_slice(octets);
        write_head(&mut packet, source, local);
        // A full buffer loses packets, as any queue does.
        let _ = self.socket.send(&packet[..HEAD + octets.len()]);
    }
}

/// Whether the first packet of a connection comes from a client of a session that has a page in this flow. Only hosts
/// that have completed a TCP handshake from this address are answered. It is counted unless it has been before.
fn opens(shared: &Shared, (token, flow): (Token, u16), source: IpAddr, octets: usize, is_counted: bool) -> bool {
    let Some(session) = shared.sessions.find(&token) else { return false };
    let now = session.at(RawTime::now());
    let taken = session.reflector().take_other(octets, source, now);
    if !is_counted && taken != Err(Silence::UnprovenSource) {
        session.moved.passed(source, octets);
    }
    taken.is_ok() && session.page_flow(FlowId(flow)).is_some()
}

fn wide(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

fn write_head(packet: &mut [u8], source: SocketAddr, local: Option<IpAddr>) {
    packet[0..2].copy_from_slice(&source.port().to_be_bytes());
    packet[2..18].copy_from_slice(&wide(source.ip()).octets());
    packet[18..34].copy_from_slice(&wide(local.unwrap_or(Ipv6Addr::UNSPECIFIED.into())).octets());
}

fn read_head(packet: &[u8], v6: bool) -> Option<(SocketAddr, Option<IpAddr>)> {
    let address = |at: usize| -> Option<IpAddr> {
        let wide = Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?);
        Some(if v6 { wide.into() } else { wide.to_ipv4_mapped()?.into() })
    };
    let source = SocketAddr::new(address(2)?, u16::from_be_bytes(*packet.first_chunk()?));
    Some((source, address(18).filter(|local| !local.is_unspecified())))
}

/// QUIC's side.
pub(super) struct QuicSocket {
    port: Arc<DatagramPort>,
    incoming: tokio::net::UnixDatagram,
    pub(super) quic_peers: Arc<QuicPeers>,
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
    let quic_peers: Arc<QuicPeers> = Arc::default();
    let socket = QuicSocket { port: Arc::clone(port), incoming, quic_peers: Arc::clone(&quic_peers) };
    Ok((Forwarding { socket: here, quic_peers }, Arc::new(socket)))
}

impl AsyncUdpSocket for QuicSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysReady)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // Nothing is sent to any other host, whatever QUIC asks for.
        if let Some(octet) = self.quic_peers.send(transmit.destination, transmit.contents.len()) {
            let route = Route { to: transmit.destination, from: transmit.src_ip };
            // A port whose buffer is full loses the packet, and congestion control learns of it as of any loss.
            let _ = self.port.send_unnumbered(transmit.contents, route, octet);
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
            let Some((source, dst_ip)) = read_head(packet, self.port.address.is_ipv6()) else { continue };
            let Some(payload) = packet.get(HEAD..) else { continue };
            let Some(room) = into.get_mut(..payload.len()) else { continue };
            room.copy_from_slice(payload);
            *meta = RecvMeta { addr: source, len: payload.len(), stride: payload.len(), ecn: None, dst_ip };
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
    fn where_a_packet_came_from_survives_the_way_between_the_threads() {
        for (source, local) in
            [("192.0.2.1:4433", Some("192.0.2.9")), ("[2001:db8::1]:99", Some("2001:db8::9")), ("192.0.2.1:1", None)]
        {
            let source: SocketAddr = source.parse().unwrap();
            let local: Option<IpAddr> = local.map(|local| local.parse().unwrap());
            let mut packet = [0; HEAD + 3];
            write_head(&mut packet, source, local);
            assert_eq!(read_head(&packet, source.is_ipv6()), Some((source, local)));
        }
        assert!(read_head(&[0; 17], true).is_none());
    }
}

//! Who speaks QUIC with a port at the moment: the other ends of connections that a session has been granted, and no
//! others.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::server::traffic::session_traffic::SessionTraffic;

/// Bytes that a client may send on one connection. It asks and acknowledges: that of a page takes some tens of thousands.
/// What it sends is kept until a request is whole, and requests have no bound of their own.
pub(super) const MOST_READ: usize = 1 << 20;

/// One end of a connection.
#[derive(Debug)]
struct QuicPeer {
    /// What its packets are marked with.
    octet: u8,
    /// Bytes that it may still send.
    left: AtomicUsize,
    /// What its session moves.
    moved: Arc<SessionTraffic>,
}

/// Everybody. It is written as a connection begins and ends; each packet only reads it.
#[derive(Debug, Default)]
pub(super) struct QuicPeers(RwLock<HashMap<SocketAddr, Arc<QuicPeer>>>);

/// A peer's stay, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Stay {
    quic_peers: Arc<QuicPeers>,
    source: SocketAddr,
    peer: Arc<QuicPeer>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut quic_peers = self.quic_peers.0.write().unwrap_or_else(PoisonError::into_inner);
        // A port that is used again belongs to whom it belonged to last.
        if quic_peers.get(&self.source).is_some_and(|peer| Arc::ptr_eq(peer, &self.peer)) {
            quic_peers.remove(&self.source);
        }
    }
}

impl QuicPeers {
    /// From now on packets from this source are taken, and those to it bear `octet`; both count as moved by its session.
    pub(super) fn welcome(self: &Arc<Self>, source: SocketAddr, octet: u8, moved: &Arc<SessionTraffic>) -> Stay {
        let peer = Arc::new(QuicPeer { octet, left: AtomicUsize::new(MOST_READ), moved: Arc::clone(moved) });
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(source, Arc::clone(&peer));
        Stay { quic_peers: Arc::clone(self), source, peer }
    }

    /// Counts a packet of so many bytes to this address; returns what it is marked with.
    pub(super) fn send(&self, to: SocketAddr, octets: usize) -> Option<u8> {
        let quic_peers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let peer = quic_peers.get(&to)?;
        peer.moved.passed(to.ip(), octets);
        Some(peer.octet)
    }

    /// Counts a packet; whether so many bytes from this source may still be taken; `None` where it belongs to no session.
    pub(super) fn take(&self, source: SocketAddr, octets: usize) -> Option<bool> {
        let quic_peers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let QuicPeer { left, moved, .. } = &**quic_peers.get(&source)?;
        moved.passed(source.ip(), octets);
        Some(left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(octets)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_known_while_its_connection_lives_and_no_longer() {
        let (quic_peers, moved): (Arc<QuicPeers>, Arc<SessionTraffic>) = Default::default();
        let source = "192.0.2.1:4433".parse().unwrap();
        assert_eq!((quic_peers.send(source, 1), quic_peers.take(source, 1)), (None, None));
        let first = quic_peers.welcome(source, 0x20, &moved);
        assert_eq!((quic_peers.send(source, 1), quic_peers.take(source, 1)), (Some(0x20), Some(true)));
        // The port is used again before the end of the first has been noticed.
        let second = quic_peers.welcome(source, 0xb8, &moved);
        drop(first);
        assert_eq!(quic_peers.send(source, 1), Some(0xb8));
        drop(second);
        assert!(quic_peers.0.read().unwrap().is_empty());
    }

    #[test]
    fn a_peer_may_send_so_many_bytes_and_no_more() {
        let (quic_peers, moved): (Arc<QuicPeers>, Arc<SessionTraffic>) = Default::default();
        let source = "[2001:db8::1]:4433".parse().unwrap();
        let _stay = quic_peers.welcome(source, 0, &moved);
        assert_eq!(quic_peers.take(source, MOST_READ - 10), Some(true));
        assert_eq!(quic_peers.take(source, 11), Some(false));
        assert_eq!(quic_peers.take(source, 10), Some(true));
        assert_eq!(quic_peers.take(source, 1), Some(false));
    }
}

//! Who speaks QUIC with a port at the moment: the other ends of connections that a session has been granted, and nobody
//! else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Octets that a client may send on one connection. It asks and acknowledges: that of a page takes some tens of thousands.
/// What it sends is kept until a request is whole, and requests have no bound of their own.
pub(super) const MOST_READ: usize = 1 << 20;

/// One end of a connection.
#[derive(Debug)]
struct Guest {
    /// What its packets are marked with.
    octet: u8,
    /// Octets that it may still send.
    left: AtomicUsize,
}

/// Everybody. It is written as a connection begins and ends; each packet only reads it.
#[derive(Debug, Default)]
pub(super) struct Guests(RwLock<HashMap<SocketAddr, Arc<Guest>>>);

/// A guest's stay, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Stay {
    guests: Arc<Guests>,
    source: SocketAddr,
    guest: Arc<Guest>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        let mut guests = self.guests.0.write().unwrap_or_else(PoisonError::into_inner);
        // A port that is used again belongs to whom it belonged to last.
        if guests.get(&self.source).is_some_and(|guest| Arc::ptr_eq(guest, &self.guest)) {
            guests.remove(&self.source);
        }
    }
}

impl Guests {
    /// From now on packets from this source are taken, and those to it bear `octet`.
    pub(super) fn welcome(self: &Arc<Self>, source: SocketAddr, octet: u8) -> Stay {
        let guest = Arc::new(Guest { octet, left: AtomicUsize::new(MOST_READ) });
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(source, Arc::clone(&guest));
        Stay { guests: Arc::clone(self), source, guest }
    }

    /// What packets to this address are marked with.
    pub(super) fn octet(&self, of: SocketAddr) -> Option<u8> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&of).map(|guest| guest.octet)
    }

    /// Whether so many octets from this source may still be taken; `None` where it is nobody's.
    pub(super) fn take(&self, source: SocketAddr, octets: usize) -> Option<bool> {
        let guests = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let left = &guests.get(&source)?.left;
        Some(left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(octets)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_known_while_its_connection_lives_and_no_longer() {
        let guests: Arc<Guests> = Arc::default();
        let source = "192.0.2.1:4433".parse().unwrap();
        assert_eq!((guests.octet(source), guests.take(source, 1)), (None, None));
        let first = guests.welcome(source, 0x20);
        assert_eq!((guests.octet(source), guests.take(source, 1)), (Some(0x20), Some(true)));
        // The port is used again before the end of the first has been noticed.
        let second = guests.welcome(source, 0xb8);
        drop(first);
        assert_eq!(guests.octet(source), Some(0xb8));
        drop(second);
        assert!(guests.0.read().unwrap().is_empty());
    }

    #[test]
    fn a_guest_may_send_so_many_octets_and_no_more() {
        let guests: Arc<Guests> = Arc::default();
        let source = "[2001:db8::1]:4433".parse().unwrap();
        let _stay = guests.welcome(source, 0);
        assert_eq!(guests.take(source, MOST_READ - 10), Some(true));
        assert_eq!(guests.take(source, 11), Some(false));
        assert_eq!(guests.take(source, 10), Some(true));
        assert_eq!(guests.take(source, 1), Some(false));
    }
}

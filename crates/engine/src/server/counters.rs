//! What has happened at a server since it started, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rrul_proto::session_reflector::Silence;

use super::event::{EventKind, Refusal};
use super::load_turns::Waits;

/// Counts that threads add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    opened: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    octets: AtomicU64,
    not_logged: AtomicU64,
    forged: AtomicU64,
    replayed: AtomicU64,
    /// Shared with the sockets that count it.
    unsent: Arc<AtomicU64>,
}

/// What has happened at a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Open now.
    pub sessions: u64,
    pub connections: u64,
    /// Opened since the start.
    pub opened: u64,
    /// In the order of [`Refusal::ALL`].
    pub refused: [u64; Refusal::ALL.len()],
    /// Bytes that sessions have moved over TCP and UDP, both directions.
    pub octets: u64,
    /// Events that were left out of the log.
    pub not_logged: u64,
    /// Connection attempts that the listeners had no room for.
    pub listen_drops: u64,
    /// Test packets without the tag of the session that they name.
    pub forged: u64,
    /// Test packets that were repeated more often than the network doubles them.
    pub replayed: u64,
    /// Tests that had to wait for their turn.
    pub waits: Waits,
    /// Packets that this host had no room for when the server sent them (EAGAIN, ENOBUFS).
    pub unsent: u64,
}

impl Counters {
    pub(super) fn happened(&self, what: EventKind) {
        match what {
            EventKind::SessionOpened => add(&self.opened, 1),
            EventKind::Refused(why) => add(&self.refused[why as usize], 1),
            EventKind::SessionClosed | EventKind::Reloaded | EventKind::Draining => {}
        }
    }

    pub(super) fn moved(&self, octets: u64) {
        add(&self.octets, octets);
    }

    /// A packet was passed over.
    pub(super) fn silent(&self, why: Silence) {
        match why {
            Silence::Forged => add(&self.forged, 1),
            Silence::Replayed => add(&self.replayed, 1),
            Silence::UnprovenSource
            | Silence::NotARequest
            | Silence::UnknownFlow
            | Silence::TooLong
            | Silence::TooMany => {}
        }
    }

    /// The count of packets that this host had no room for.
    pub(super) fn unsent(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.unsent)
    }

    pub(super) fn not_logged(&self) {
        add(&self.not_logged, 1);
    }

    pub(super) fn read(&self) -> ServerCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ServerCounts {
            opened: read(&self.opened),
            refused: self.refused.each_ref().map(read),
            octets: read(&self.octets),
            not_logged: read(&self.not_logged),
            forged: read(&self.forged),
            replayed: read(&self.replayed),
            unsent: read(&self.unsent),
            ..ServerCounts::default()
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_count_of_its_own() {
        let counters = Counters::default();
        for (index, why) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, index);
            (0..=index).for_each(|_| counters.happened(EventKind::Refused(why)));
        }
        counters.happened(EventKind::SessionOpened);
        counters.happened(EventKind::SessionClosed);
        assert_eq!((counters.read().refused, counters.read().opened), ([1, 2, 3, 4, 5], 1));
    }
}

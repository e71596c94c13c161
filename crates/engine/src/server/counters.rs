//! What has happened at a server since it started, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use super::event::{EventKind, Refusal};

/// Counts that threads add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    opened: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    octets: AtomicU64,
    not_logged: AtomicU64,
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
    /// Bytes that streams of tests have moved, both directions.
    pub octets: u64,
    /// Events that were left out of the log.
    pub not_logged: u64,
    /// Connection attempts that the listeners had no room for.
    pub listen_drops: u64,
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

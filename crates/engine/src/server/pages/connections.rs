//! The connections for pages of one session: how many may be open, and how fast they may come.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_proto::limits::RateCap;

use crate::clock::RawTime;

/// Connections for pages that one session may have open: twice what a browser opens for a page of many hosts.
const MOST_OPEN: u32 = 256;

/// Connections for pages that one session may open in a second, each with a handshake that takes processor time: as many as
/// may be open at once, which is the burst, four times.
const MOST_PER_SECOND: u32 = 4 * MOST_OPEN;

/// The connections for pages of one session.
pub(crate) struct PageConnections {
    open: Arc<AtomicU32>,
    opened: AtomicU32,
    rate: Mutex<RateCap>,
}

impl Default for PageConnections {
    fn default() -> Self {
        Self { open: Arc::default(), opened: AtomicU32::new(0), rate: Mutex::new(RateCap::new(MOST_PER_SECOND)) }
    }
}

/// Counts a connection for as long as it lives.
pub(super) struct Open(Arc<AtomicU32>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PageConnections {
    /// One more, with its number, if room is left and they do not come too fast.
    pub(super) fn enter(&self, now: RawTime) -> Option<(u32, Open)> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.open));
        let granted = before < MOST_OPEN && self.rate.lock().unwrap_or_else(PoisonError::into_inner).grant(now.0);
        granted.then(|| (self.opened.fetch_add(1, Ordering::Relaxed), open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_room_for_so_many_connections_and_gets_it_back() {
        let connections = PageConnections::default();
        let enter = |now| connections.enter(RawTime(now));
        let later = 1_000_000_000;
        let mut open: Vec<_> = (0..MOST_OPEN).map(|number| enter(0).filter(|one| one.0 == number)).collect();
        assert!(open.iter().all(Option::is_some) && enter(later).is_none());
        open.pop();
        assert!(enter(later).is_some_and(|one| one.0 == MOST_OPEN));
    }

    #[test]
    fn a_session_opens_no_more_in_a_second_than_granted_however_soon_they_end() {
        let connections = PageConnections::default();
        let granted = (0..10_000).filter(|step| connections.enter(RawTime(step * 100_000)).is_some()).count() as u32;
        assert!((MOST_PER_SECOND..=MOST_PER_SECOND + MOST_OPEN).contains(&granted), "{granted}");
    }
}

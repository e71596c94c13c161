//! What has arrived at the reflector since somebody last fetched it.

/// A packet as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedArrival {
    pub flow: u16,
    /// Its number within the flow.
    pub sequence: u32,
    /// The kernel's receive stamp on the session clock, nanoseconds.
    pub received: i64,
    /// The traffic-class octet it bore.
    pub octet: u8,
}

/// Arrivals in their order, copies of a packet each for itself. Room is taken once: noting one allocates nothing.
#[derive(Debug)]
pub struct ArrivalLog {
    arrivals: Vec<LoggedArrival>,
    room: usize,
    dropped: u64,
}

impl ArrivalLog {
    /// With room for so many arrivals between two fetches.
    pub fn with_room(room: usize) -> Self {
        Self { arrivals: Vec::with_capacity(room), room, dropped: 0 }
    }

    /// Takes room for so many more, before anything arrives.
    pub fn add_room(&mut self, more: usize) {
        self.room += more;
        self.arrivals.reserve_exact(self.room - self.arrivals.len());
    }

    /// How many arrivals it has room for.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Notes one, or counts it when the log is full.
    pub fn note(&mut self, arrival: LoggedArrival) {
        if self.arrivals.len() < self.room {
            self.arrivals.push(arrival);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Hands over what was noted since the last time by taking an empty log of the same room in its place: a lock
    /// meanwhile is kept no longer than that takes.
    pub fn exchange(&mut self, empty: &mut Self) {
        debug_assert!(empty.arrivals.is_empty());
        std::mem::swap(self, empty);
    }

    /// An empty log of the same room.
    #[must_use]
    pub fn like(&self) -> Self {
        Self::with_room(self.room)
    }

    /// Takes out every arrival; the room stays.
    pub fn drain(&mut self) -> impl Iterator<Item = LoggedArrival> {
        self.arrivals.drain(..)
    }

    /// Arrivals that did not fit; counting begins anew.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(sequence: u32) -> LoggedArrival {
        LoggedArrival { flow: 1, sequence, received: 7, octet: 0 }
    }

    #[test]
    fn arrivals_come_out_once_in_their_order_with_their_copies() {
        let mut log = ArrivalLog::with_room(8);
        for sequence in [2, 1, 1] {
            log.note(arrival(sequence));
        }
        let mut fetched = log.like();
        log.exchange(&mut fetched);
        let sequences: Vec<u32> = fetched.drain().map(|arrival| arrival.sequence).collect();
        assert_eq!(sequences, [2, 1, 1]);
        log.exchange(&mut fetched);
        assert_eq!(fetched.drain().count(), 0);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_takes_no_memory() {
        let mut log = ArrivalLog::with_room(1);
        log.add_room(2);
        let before = log.arrivals.capacity();
        for sequence in 0..10_000 {
            log.note(arrival(sequence));
        }
        assert_eq!(log.arrivals.capacity(), before);
        let mut fetched = log.like();
        log.exchange(&mut fetched);
        assert_eq!((fetched.drain().count(), fetched.take_dropped(), fetched.take_dropped()), (3, 9_997, 0));
        log.note(arrival(0));
        assert_eq!((log.drain().count(), log.take_dropped()), (1, 0), "room is left again");
    }
}

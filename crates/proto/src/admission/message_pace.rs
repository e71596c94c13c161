//! How many control messages a client may send: later ones wait, so that reading them costs no more than this.

use std::time::Duration;

/// Control messages of one session that are read in one second, and in a row.
pub const MESSAGES_PER_SECOND: u32 = 50;

/// Nanoseconds of waiting that one message costs.
const COST: i64 = 1_000_000_000 / MESSAGES_PER_SECOND as i64;

/// The pace of one session's messages. Times are nanoseconds of any monotonic clock.
#[derive(Debug, Clone)]
pub struct MessagePace {
    /// When a full row may come again.
    full: i64,
}

impl MessagePace {
    /// A session that has said nothing.
    pub fn new(now: i64) -> Self {
        Self { full: now }
    }

    /// A message has been read; how long to wait before the next.
    pub fn read(&mut self, now: i64) -> Duration {
        self.full = self.full.max(now).saturating_add(COST);
        let ahead = self.full.saturating_sub(now).saturating_sub(COST * i64::from(MESSAGES_PER_SECOND - 1));
        Duration::from_nanos(ahead.max(0).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Messages that are read in so many seconds of a client that always has another.
    fn read_in(seconds: i64) -> u32 {
        let mut pace = MessagePace::new(0);
        let (mut now, mut read) = (0, 0);
        while now < seconds * SECOND {
            read += 1;
            now += 1 + i64::try_from(pace.read(now).as_nanos()).unwrap();
        }
        read
    }

    #[test]
    fn a_flood_is_read_at_its_pace() {
        assert!((MESSAGES_PER_SECOND * 10..=MESSAGES_PER_SECOND * 11 + 1).contains(&read_in(10)), "{}", read_in(10));
    }

    #[test]
    fn what_a_client_asks_to_match_clocks_is_read_at_once() {
        let mut pace = MessagePace::new(0);
        let waits = (0..i64::from(MESSAGES_PER_SECOND) - 1).map(|message| pace.read(message * 100_000));
        assert!(waits.max().unwrap() == Duration::ZERO);
    }

    #[test]
    fn the_ends_of_the_clock_do_not_overflow() {
        for now in [i64::MIN, 0, i64::MAX] {
            let mut pace = MessagePace::new(i64::MAX);
            let _ = pace.read(now);
        }
    }
}

//! Recordings on disk: the oldest go first.

use std::time::Duration;

use rrul_model::units::ByteCount;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// All recordings together.
    pub size: ByteCount,
    /// Older ones go.
    pub age: Duration,
}

/// A recording on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub name: String,
    pub octets: ByteCount,
    /// When it was last written to, seconds since 1970.
    pub written_s: i64,
}

impl Ring {
    /// Returns the names of recordings to remove, the oldest first: those past their age, then as many as leave room for
    /// `room` more bytes.
    ///
    /// A recording whose time lies ahead of `now_s` is as young as can be: the clock was stepped, and it stays.
    pub fn to_remove(&self, stored: &[Stored], room: ByteCount, now_s: i64) -> Vec<String> {
        let mut all: Vec<&Stored> = stored.iter().collect();
        all.sort_by(|a, b| (a.written_s, &a.name).cmp(&(b.written_s, &b.name)));
        let mut left: u64 = all.iter().fold(room.0, |sum, one| sum.saturating_add(one.octets.0));
        let mut removed = Vec::new();
        for one in all {
            let age = u64::try_from(now_s.saturating_sub(one.written_s)).unwrap_or_default();
            if age > self.age.as_secs() || left > self.size.0 {
                left = left.saturating_sub(one.octets.0);
                removed.push(one.name.clone());
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(name: &str, octets: u64, written_s: i64) -> Stored {
        Stored { name: name.to_owned(), octets: ByteCount(octets), written_s }
    }

    const RING: Ring = Ring { size: ByteCount(100), age: Duration::from_secs(1000) };

    #[test]
    fn the_oldest_make_room() {
        let all = [stored("c", 40, 300), stored("a", 40, 100), stored("b", 40, 200)];
        assert_eq!(RING.to_remove(&all, ByteCount(0), 500), ["a"]);
        assert_eq!(RING.to_remove(&all, ByteCount(60), 500), ["a", "b"]);
        assert_eq!(RING.to_remove(&all, ByteCount(200), 500), ["a", "b", "c"]);
        assert_eq!(RING.to_remove(&all[..2], ByteCount(0), 500), [""; 0]);
    }

    #[test]
    fn old_ones_go_and_those_of_a_stepped_clock_stay() {
        let all = [stored("old", 1, 100), stored("ahead", 1, 9_000), stored("new", 1, 1_500)];
        assert_eq!(RING.to_remove(&all, ByteCount(0), 2_000), ["old"]);
    }
}

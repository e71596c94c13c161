//! Room for observations: how many rows the rings of a test, and of all tests of a server, take at most.
//!
//! It is taken before memory is, so that what a stranger asks for never makes an allocation fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room for so many rows, as part of the room of others. The default is without end.
#[derive(Debug, Clone, Default)]
pub struct RowRoom(Vec<Arc<AtomicUsize>>);

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub struct Taken {
    rows: usize,
    from: RowRoom,
}

impl RowRoom {
    /// Room for so many rows.
    pub fn of(rows: usize) -> Self {
        Self(vec![Arc::new(AtomicUsize::new(rows))])
    }

    /// At most so many of these rows.
    #[must_use]
    pub fn part(&self, rows: usize) -> Self {
        let mut part = self.clone();
        part.0.push(Arc::new(AtomicUsize::new(rows)));
        part
    }

    /// How many rows are left; as many as can be counted where nothing bounds it.
    pub fn left(&self) -> usize {
        self.0.iter().map(|left| left.load(Ordering::Relaxed)).min().unwrap_or(usize::MAX)
    }

    /// Takes as many of these rows as are left, but one at least: a ring of none would be none.
    pub fn take(&self, wanted: usize) -> Taken {
        let mut rows = wanted;
        for (place, left) in self.0.iter().enumerate() {
            let take = |left: usize| Some(left.saturating_sub(rows));
            let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).unwrap_or_else(|left| left);
            let short = rows.saturating_sub(before);
            rows -= short;
            // What could not be taken here was taken from the others for nothing.
            for earlier in &self.0[..place] {
                earlier.fetch_add(short, Ordering::Relaxed);
            }
        }
        Taken { rows, from: self.clone() }
    }
}

impl Taken {
    /// How many rows a ring in this room has.
    pub fn rows(&self) -> usize {
        self.rows.max(1)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        for left in &self.from.0 {
            left.fetch_add(self.rows, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_of_a_part_is_room_of_the_whole() {
        let all = RowRoom::of(10);
        let (one, other) = (all.part(8), all.part(8));
        let taken = one.take(100);
        assert_eq!((taken.rows(), one.left(), all.left()), (8, 0, 2));
        let rest = other.take(5);
        assert_eq!((rest.rows(), other.left()), (2, 0));
        assert_eq!(other.take(5).rows(), 1, "one at least");
        drop(taken);
        assert_eq!((all.left(), one.left(), other.left()), (8, 8, 6));
        drop(rest);
        assert_eq!((all.left(), other.left()), (10, 8));
    }

    #[test]
    fn room_without_end_has_room_for_all() {
        assert_eq!(RowRoom::default().take(1 << 40).rows(), 1 << 40);
    }
}

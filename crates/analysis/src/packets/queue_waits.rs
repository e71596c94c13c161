//! What the queues of one direction held at any moment, as test packets show that passed them: not interpolated, but
//! bounded by the order that a first-in first-out queue keeps.

use std::ops::Range;

/// Between which waits the truth lies, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Span {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Span {
    /// Of an unknown delay.
    pub(crate) const UNKNOWN: Self = Self { low: 0.0, high: f64::INFINITY };

    /// Creates a span; `None` if `low` is clearly above `high`, because that queue did not keep the order.
    fn new(low: i64, high: i64) -> Option<Self> {
        let [low, high] = [low, high].map(|wait| wait.max(0) as f64 / 1e6);
        (low <= high + DISORDER).then_some(Self { low: low.min(high), high: high.max(low) })
    }

    pub(crate) fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    pub(crate) fn width(self) -> f64 {
        self.high - self.low
    }
}

/// What packets of different lengths may seem out of order by, milliseconds.
const DISORDER: f64 = 0.5;

/// No packet waits for longer than a minute, nanoseconds.
const LONGEST: i64 = 60_000_000_000;

/// A test packet that travelled the whole way: when it was sent, when it arrived, and how long it waited, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuedPacket {
    pub(crate) sent: i64,
    pub(crate) arrived: i64,
    pub(crate) wait: i64,
}

/// Those of one direction.
#[derive(Debug, Default)]
pub(crate) struct QueueWaits {
    by_sending: Vec<QueuedPacket>,
    by_arrival: Vec<QueuedPacket>,
}

impl QueueWaits {
    pub(crate) fn new(packets: impl IntoIterator<Item = QueuedPacket>) -> Self {
        // What a damaged file says beyond this is no wait.
        let plausible = |one: &QueuedPacket| (0..=LONGEST).contains(&one.wait);
        let mut by_sending: Vec<QueuedPacket> = packets.into_iter().filter(plausible).collect();
        by_sending.sort_unstable_by_key(|one| one.sent);
        let mut by_arrival = by_sending.clone();
        by_arrival.sort_unstable_by_key(|one| one.arrived);
        Self { by_sending, by_arrival }
    }

    /// Whether nothing is known at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_sending.is_empty()
    }

    pub(crate) fn sent_within(&self, time: Range<i64>) -> impl Iterator<Item = i64> {
        self.by_sending.iter().filter(move |one| time.contains(&one.sent)).map(|one| one.wait)
    }

    /// The wait of what is sent at `at`: it leaves the queue behind the last test packet before it and ahead of the next.
    pub(crate) fn of_sent(&self, at: i64) -> Option<Span> {
        let (before, after) = neighbours(&self.by_sending, at, |one| one.sent)?;
        let (since, until) = (at.saturating_sub(before.sent), after.sent.saturating_sub(at));
        Span::new(before.wait.saturating_sub(since), after.wait.saturating_add(until))
    }

    /// The wait of what arrives at `at`, wherever on the way it joined: it came to the queue behind the last test packet that
    /// arrived before it and ahead of the next.
    pub(crate) fn of_arrived(&self, at: i64) -> Option<Span> {
        let (before, after) = neighbours(&self.by_arrival, at, |one| one.arrived)?;
        let (since, until) = (at.saturating_sub(before.arrived), after.arrived.saturating_sub(at));
        Span::new(after.wait.saturating_sub(until), before.wait.saturating_add(since))
    }
}

/// The last before a moment and the first after it.
fn neighbours(
    packets: &[QueuedPacket],
    at: i64,
    when: impl Fn(&QueuedPacket) -> i64,
) -> Option<(&QueuedPacket, &QueuedPacket)> {
    let next = packets.partition_point(|one| when(one) < at);
    Some((packets.get(next.checked_sub(1)?)?, packets.get(next)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Test packets through a queue that grows and drains, one in 20 ms, 5 ms of propagation.
    fn waits(wait: impl Fn(i64) -> i64) -> QueueWaits {
        QueueWaits::new((0..50).map(|n| {
            let (sent, wait) = (n * 20 * MS, wait(n * 20 * MS));
            QueuedPacket { sent, arrived: sent + 5 * MS + wait, wait }
        }))
    }

    #[test]
    fn what_passes_between_two_test_packets_waited_between_what_order_allows() {
        // It grows by half a millisecond in each, and drains a little slower than time passes.
        let wave = |at: i64| {
            let into = at % (200 * MS);
            if into < 120 * MS { into / 2 } else { 60 * MS - (into - 120 * MS) * 3 / 4 }
        };
        let waits = waits(wave);
        for at in (30 * MS..900 * MS).step_by(7 * MS as usize) {
            let truth = wave(at) as f64 / 1e6;
            let sent = waits.of_sent(at).unwrap();
            let arrived = waits.of_arrived(at + 5 * MS + wave(at)).unwrap();
            for span in [sent, arrived] {
                assert!(span.low <= truth && truth <= span.high, "{at}: {truth} not in {span:?}");
                assert!(span.high - span.low < 31.0, "{at}: {span:?}");
            }
        }
    }

    #[test]
    fn beyond_the_first_and_the_last_nothing_is_known() {
        let waits = waits(|_| 0);
        assert_eq!((waits.of_sent(-1), waits.of_sent(980 * MS + 1)), (None, None));
        assert_eq!((waits.of_arrived(0), waits.of_arrived(990 * MS)), (None, None));
        assert_eq!(QueueWaits::default().of_sent(0), None);
        assert!(QueueWaits::default().is_empty());
    }

    #[test]
    fn a_gap_leaves_open_what_may_have_been_in_it() {
        let queued =
            |sent: i64, wait: i64| QueuedPacket { sent: sent * MS, arrived: (sent + wait) * MS, wait: wait * MS };
        let waits = QueueWaits::new([queued(0, 10), queued(200, 50)]);
        assert_eq!(waits.of_sent(100 * MS), Some(Span { low: 0.0, high: 150.0 }));
        assert_eq!(waits.of_arrived(100 * MS), Some(Span { low: 0.0, high: 100.0 }));
        assert_eq!(waits.of_arrived(230 * MS), Some(Span { low: 30.0, high: 230.0 }));
    }

    #[test]
    fn a_queue_that_keeps_no_order_is_inconclusive_and_no_number_breaks_it() {
        let queued = |sent: i64, wait: i64| QueuedPacket { sent, arrived: sent.saturating_add(wait), wait };
        let waits = QueueWaits::new([queued(0, 90 * MS), queued(20 * MS, 10 * MS)]);
        assert_eq!(waits.of_sent(10 * MS), None);
        for extreme in [i64::MIN, -1, 0, 1, i64::MAX] {
            let waits = QueueWaits::new([queued(extreme, 0), queued(0, extreme), queued(extreme, extreme)]);
            for at in [i64::MIN, -1, 0, 1, i64::MAX] {
                let _ = (waits.of_sent(at), waits.of_arrived(at));
            }
        }
    }
}

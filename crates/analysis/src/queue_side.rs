//! On which side of a queue a host on the way lies: whether its answers waited in it (spec: identify the bottleneck source).
//!
//! What a queue added to a packet at any moment is known from test packets that travelled the whole way. An answer of a host
//! before the queue does not show it, one of a host behind it does, moment by moment. Which way the answer comes back is not
//! known, so it may have waited in the other direction's queue, too, or not: that is left open for every host.

use crate::queue_waits::Span;

/// What one answer took, and what the queues held on its way, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Above what the same host's answers take on the idle line.
    pub(crate) excess: f64,
    /// The wait in the queue of the trace's own direction for what was sent when the packet was.
    pub(crate) forward: Span,
    /// The wait in the queue of the other direction for what arrived when the answer did.
    pub(crate) back: Span,
}

impl Reading {
    /// By how much these waits fail to explain it: the forward queue's if it lies `behind`, the other's if it waited `back`.
    fn missed(&self, behind: bool, back: bool) -> f64 {
        let there = if behind { self.forward } else { Span::default() };
        let returning = if back { self.back } else { Span::default() };
        let (low, high) = (there.low + returning.low, there.high + returning.high);
        (low - self.excess).max(self.excess - high).max(0.0)
    }
}

/// On which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Packets reach this host without having waited.
    Before,
    /// Packets reach it through the queue.
    Behind,
    /// Its answers do not tell.
    Unclear,
}

/// Fewer answers than this tell nothing.
const FEWEST: usize = 4;

/// How much of what the worse explanation misses the better one may miss, on average.
const LEFT: f64 = 0.75;

/// How much of the wait the better explanation may miss, on average.
const UNEXPLAINED: f64 = 0.5;

/// How much more likely the better explanation must be, as a logarithm: 400 to 1, where what it misses is distributed as
/// Laplace has it.
const MORE_LIKELY: f64 = 6.0;

/// What is missed by less than this is missed by chance, milliseconds: stamps and interpolation are no better.
const NOISE: f64 = 0.5;

/// The side that these answers of one host tell.
pub(crate) fn side(readings: &[Reading]) -> Side {
    let mut waits: Vec<f64> = readings.iter().map(|reading| reading.forward.middle()).collect();
    waits.sort_by(f64::total_cmp);
    let Some(typical) = waits.get(waits.len() / 2).copied().filter(|typical| *typical > 0.0) else {
        return Side::Unclear;
    };
    // Where the queue is short both explanations say the same.
    let long = |reading: &&Reading| reading.forward.middle() >= typical / 4.0;
    let telling: Vec<&Reading> = readings.iter().filter(long).collect();
    if telling.len() < FEWEST {
        return Side::Unclear;
    }
    let n = telling.len() as f64;
    let mean = |of: &dyn Fn(&Reading) -> f64| telling.iter().map(|one| of(one)).sum::<f64>() / n;
    let missed = |behind: bool, back: bool| mean(&|one| one.missed(behind, back));
    let [before, behind] = [false, true].map(|side| missed(side, false).min(missed(side, true)).max(NOISE));
    let (best, worst) = (before.min(behind), before.max(behind));
    let likelier = n * (worst - best) / best;
    if likelier < MORE_LIKELY || best > LEFT * worst || best > UNEXPLAINED * mean(&|one| one.forward.middle()) {
        return Side::Unclear;
    }
    if behind < before { Side::Behind } else { Side::Before }
}

/// Between which two hosts a queue lies: the last that lies before it and the first that lies behind. 0 is the sender, and
/// `last` the far end, which lies behind whatever is known.
///
/// A host that is slow to answer easily looks as if it lay behind a queue; that one behind looks as if it lay before takes
/// waits that were told wrongly. So what lies before is believed, and of what lies behind only what comes after all of that.
pub(crate) fn between(sides: &[(u8, Side)], last: u8) -> (u8, u8) {
    let of = |side: Side| sides.iter().filter(move |(_, its)| *its == side).map(|(hop, _)| *hop);
    let before = of(Side::Before).filter(|hop| *hop < last).max().unwrap_or(0);
    let behind = of(Side::Behind).filter(|hop| *hop > before).min().unwrap_or(last).min(last);
    (before, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading_of(excess: f64, forward: f64, back: f64) -> Reading {
        let exact = |wait: f64| Span { low: wait, high: wait };
        Reading { excess, forward: exact(forward), back: exact(back) }
    }

    /// Queues as two competing loads make them: saw teeth of different lengths.
    fn readings(forward: bool, back: bool, extra: impl Fn(usize) -> f64) -> Vec<Reading> {
        let saw = |n: usize, period: usize, top: f64| top * (0.5 + 0.5 * ((n % period) as f64 / period as f64));
        let reading = |n: usize| {
            let (up, down) = (saw(n, 7, 100.0), saw(n + 2, 5, 90.0));
            let excess = f64::from(u8::from(forward)) * up + f64::from(u8::from(back)) * down + extra(n);
            reading_of(excess, up, down)
        };
        (0..30).map(reading).collect()
    }

    #[test]
    fn answers_that_waited_lie_behind_whatever_the_other_way_added() {
        for back in [false, true] {
            assert_eq!(side(&readings(true, back, |_| 0.0)), Side::Behind, "back {back}");
            assert_eq!(side(&readings(false, back, |_| 0.0)), Side::Before, "back {back}");
        }
    }

    #[test]
    fn a_host_that_takes_its_time_does_not_change_sides() {
        let slow = |n: usize| (n * 7 % 11) as f64 * 4.0 - 20.0;
        assert_eq!(side(&readings(true, true, slow)), Side::Behind);
        assert_eq!(side(&readings(false, false, slow)), Side::Before);
    }

    #[test]
    fn what_follows_neither_queue_tells_nothing() {
        let wild = |n: usize| (n * 7919 % 400) as f64 - 200.0;
        assert_eq!(side(&readings(false, false, wild)), Side::Unclear);
        assert_eq!(side(&readings(true, false, wild)), Side::Unclear);
    }

    #[test]
    fn two_queues_that_cannot_be_told_apart_tell_nothing() {
        let alike = (0..30).map(|n| 80.0 + f64::from(n)).map(|wait| reading_of(wait, wait, wait));
        assert_eq!(side(&alike.collect::<Vec<_>>()), Side::Unclear);
    }

    #[test]
    fn few_answers_and_no_queue_tell_nothing() {
        assert_eq!(side(&readings(true, false, |_| 0.0)[..3]), Side::Unclear);
        assert_eq!(side(&[]), Side::Unclear);
        assert_eq!(side(&[reading_of(0.0, 0.0, 0.0); 20]), Side::Unclear);
    }

    #[test]
    fn the_queue_lies_between_the_last_before_and_the_first_behind() {
        use Side::{Before, Behind, Unclear};
        assert_eq!(between(&[(1, Before), (2, Behind), (3, Behind)], 4), (1, 2));
        assert_eq!(between(&[(1, Behind), (2, Behind)], 3), (0, 1));
        assert_eq!(between(&[(1, Before), (2, Before)], 3), (2, 3));
        assert_eq!(between(&[(1, Before), (2, Unclear), (3, Behind)], 4), (1, 3), "somewhere there");
        assert_eq!(between(&[(1, Behind), (2, Before), (3, Behind)], 4), (2, 3), "hop 1 answers late");
        assert_eq!(between(&[], 4), (0, 4), "anywhere");
    }
}

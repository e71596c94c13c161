//! On which side of a queue a host on the way lies: whether its answers waited in it (spec: identify the bottleneck source).
//!
//! What a queue added to a packet at any moment is known from test packets that travelled the whole way. An answer of a
//! host before the queue does not show it, one of a host behind it does, moment by moment. The path of the answer is
//! unknown. It may have waited in the other direction's queue, too; this is left open for every host.

use crate::packets::queue_waits::Span;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Packets reach this host without having waited.
    Before,
    /// Packets reach it through the queue.
    Behind,
    Unclear,
}

/// Fewer answers than this show nothing.
const FEWEST: usize = 4;

/// How much of what the worse explanation misses the better one may miss, on average.
const LEFT: f64 = 0.75;

/// How much of the wait the better explanation may miss, on average.
const UNEXPLAINED: f64 = 0.5;

/// For a host to lie behind a queue it is less, as one that is busy under load answers late as well: so much at once, and so
/// much where its answers follow the queue better than any constant lateness.
const AT_ONCE: f64 = 0.1;
const FOLLOWING: f64 = 0.25;

/// How much more likely the better explanation must be, as a logarithm: 400 to 1, where what it misses is distributed as
/// Laplace has it.
const MORE_LIKELY: f64 = 6.0;

/// What is missed by less than this is missed by chance, milliseconds: stamps are no better.
const NOISE: f64 = 0.5;

/// The side that these answers of one host show. The destination is `prompt`: the time that it took to answer is known
/// and left out.
pub(crate) fn side(readings: &[Reading], prompt: bool) -> Side {
    let Some(typical) = median(readings.iter().map(|one| one.forward.middle())).filter(|typical| *typical > 0.0) else {
        return Side::Unclear;
    };
    // Where the queue is short both explanations say the same.
    let long = |reading: &&Reading| reading.forward.middle() >= typical / 4.0;
    let telling: Vec<&Reading> = readings.iter().filter(long).collect();
    if telling.len() < FEWEST {
        return Side::Unclear;
    }
    let missed = |behind: bool, back: bool| mean(&telling, |one| one.missed(behind, back));
    let [before, behind] = [false, true].map(|side| missed(side, false).min(missed(side, true)).max(NOISE));
    let (best, worst) = (before.min(behind), before.max(behind));
    let likelier = telling.len() as f64 * (worst - best) / best;
    let wait = mean(&telling, |one| one.forward.middle());
    if likelier < MORE_LIKELY || best > LEFT * worst || best > UNEXPLAINED * wait {
        return Side::Unclear;
    }
    match behind < before {
        false => Side::Before,
        true if prompt || shows_the_wait(&telling, behind, wait) => Side::Behind,
        true => Side::Unclear,
    }
}

/// Whether answers that look as if they had waited may not as well be late for another reason.
fn shows_the_wait(telling: &[&Reading], missed: f64, wait: f64) -> bool {
    // What is known so vaguely would explain any lateness.
    if mean(telling, |one| one.forward.width()) > wait {
        return false;
    }
    let backward = [|_: &Reading| 0.0, |one: &Reading| one.back.middle()];
    let least = |of: &dyn Fn(fn(&Reading) -> f64) -> f64| backward.map(of).into_iter().fold(f64::INFINITY, f64::min);
    let following = least(&|back| mean(telling, |one| (one.excess - one.forward.middle() - back(one)).abs()));
    let constant = least(&|back| {
        let lateness = median(telling.iter().map(|one| one.excess - back(one))).unwrap_or(0.0);
        mean(telling, |one| (one.excess - back(one) - lateness).abs())
    });
    missed <= (AT_ONCE * wait).max(NOISE) || missed <= FOLLOWING * wait && following <= LEFT * constant
}

fn mean(readings: &[&Reading], of: impl Fn(&Reading) -> f64) -> f64 {
    readings.iter().map(|one| of(one)).sum::<f64>() / readings.len() as f64
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Between which two hosts a queue lies: the last that lies before it and the first that lies behind. 0 is the sender, and
/// `last` the destination, which lies behind all known hops.
///
/// Where hosts contradict each other, one of them answers late or was late on the idle line, and which is not known: the
/// queue lies between the last of which all before it say that they do too, and the first of which all behind it do.
pub(crate) fn between(sides: &[(u8, Side)], last: u8) -> (u8, u8) {
    let of = |side: Side| sides.iter().filter(move |(hop, its)| *its == side && *hop < last).map(|(hop, _)| *hop);
    let (first_behind, last_before) = (of(Side::Behind).min().unwrap_or(last), of(Side::Before).max().unwrap_or(0));
    let after = of(Side::Before).filter(|hop| *hop < first_behind).max().unwrap_or(0);
    let before = of(Side::Behind).filter(|hop| *hop > last_before).min().unwrap_or(last);
    (after, before)
}

/// The share of the hosts with a known side that agrees with this place of the queue; the destination does not count.
pub(crate) fn agreeing(sides: &[(u8, Side)], (after, before): (u8, u8), last: u8) -> Option<f64> {
    let located = || sides.iter().filter(|(hop, side)| *hop < last && *side != Side::Unclear);
    let agrees = |(hop, side): &&(u8, Side)| if *side == Side::Before { *hop <= after } else { *hop >= before };
    let (agreeing, all) = (located().filter(agrees).count(), located().count());
    (all > 0).then(|| agreeing as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(readings: &[Reading]) -> Side {
        super::side(readings, false)
    }

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
    fn answers_that_waited_lie_behind_whatever_the_other_direction_added() {
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
    fn a_host_that_is_late_under_load_alone_does_not_lie_behind_a_queue() {
        for wait in [6.0, 15.0, 30.0, 60.0] {
            // Between test packets 20 ms apart, in a queue that rises and falls by a third.
            let queue = |n: usize| wait * (1.0 + ((n * 5 % 13) as f64 / 13.0 - 0.5) / 1.5);
            let span = |n: usize| {
                let into = (n * 7 % 20) as f64;
                Span { low: (queue(n) - into).max(0.0), high: queue(n) + 20.0 - into }
            };
            let found = |excess: &dyn Fn(usize) -> f64| {
                let reading = |n: usize| Reading { excess: excess(n), forward: span(n), back: Span::default() };
                side(&(0..30).map(reading).collect::<Vec<_>>())
            };
            for late in [0.3, 0.6, 1.0, 1.5, 2.0] {
                let random = |n: usize| 2.0 * late * wait * ((n * 11 % 30) as f64 / 30.0);
                assert_ne!(found(&random), Side::Behind, "queue of {wait} ms, late by up to {late} of twice that");
                // A host that is always late by the length of the queue, looks as if it lay behind.
                if !(0.8..=1.2).contains(&late) {
                    assert_ne!(found(&|_| late * wait), Side::Behind, "queue of {wait} ms, late by {late} of it");
                }
            }
            assert_eq!(found(&queue), if wait > 20.0 { Side::Behind } else { Side::Unclear }, "queue of {wait} ms");
        }
    }

    #[test]
    fn the_destination_is_not_late_of_itself() {
        let vague = |n: usize| Reading {
            excess: 10.0 + (n % 3) as f64,
            forward: Span { low: (n % 11) as f64, high: (n % 11 + 20) as f64 },
            back: Span::default(),
        };
        let readings: Vec<Reading> = (0..30).map(vague).collect();
        assert_eq!((super::side(&readings, true), super::side(&readings, false)), (Side::Behind, Side::Unclear));
    }

    #[test]
    fn without_known_waits_of_the_return_path_no_host_lies_behind() {
        let reading = |excess: f64| Reading { back: Span::UNKNOWN, ..reading_of(excess, 100.0, 0.0) };
        assert_eq!(side(&[reading(2.0); 20]), Side::Before);
        assert_eq!(side(&[reading(110.0); 20]), Side::Unclear);
    }

    #[test]
    fn agreement_is_counted_without_the_destination() {
        use Side::{Before, Behind, Unclear};
        let sides = [(1, Behind), (2, Before), (3, Behind), (4, Unclear), (5, Behind)];
        assert_eq!(agreeing(&sides, between(&sides, 5), 5), Some(1.0 / 3.0));
        assert_eq!(agreeing(&[(1, Unclear), (2, Behind)], (0, 2), 2), None);
    }

    #[test]
    fn what_follows_neither_queue_is_inconclusive() {
        let wild = |n: usize| (n * 7919 % 400) as f64 - 200.0;
        assert_eq!(side(&readings(false, false, wild)), Side::Unclear);
        assert_eq!(side(&readings(true, false, wild)), Side::Unclear);
    }

    #[test]
    fn two_queues_that_cannot_be_distinguished_are_inconclusive() {
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
        assert_eq!(
            between(&[(1, Behind), (2, Before), (3, Behind)], 4),
            (0, 3),
            "one of hops 1 and 2 says what is not so"
        );
        assert_eq!(between(&[(1, Before), (2, Behind), (3, Before), (4, Behind), (5, Behind)], 5), (1, 4));
        assert_eq!(between(&[], 4), (0, 4), "anywhere");
    }
}

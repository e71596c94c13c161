//! How much less delay one run adds than another, in words that claim no more than was measured.

use rrul_analysis::comparison::difference::{Bound, Factor};
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_model::units::Delay;

/// Added delay below this is not measurable: timer and scheduling noise of ordinary hosts.
const FLOOR: Delay = Delay(100_000); // 0.1 ms

/// Ratios closer to one than this are called the same.
const SAME: f64 = 1.1;

/// How the delay that the second run's load adds compares with the first's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Improvement {
    /// Not known: no idle or loaded median, or one of them is a loss.
    Unknown,
    BothNone,
    /// Both add the same, within a tenth.
    Same,
    /// The second adds this many times less.
    Less(f64),
    /// The second adds no measurable delay, so less by more than this factor.
    LessThanMeasurable(f64),
    /// The second adds this many times more.
    More(f64),
    /// The first adds no measurable delay, so the second adds more by more than this factor.
    MoreThanMeasurable(f64),
}

impl Improvement {
    /// Compares induced delay at the median: loaded P50 less idle P50.
    pub fn between(first: &PhaseDelays, second: &PhaseDelays) -> Self {
        let (Some(a), Some(b)) = (first.induced_p50, second.induced_p50) else { return Self::Unknown };
        let ratio = |large: Delay, small: Delay| large.0 as f64 / small.0.max(FLOOR.0) as f64;
        match (a >= FLOOR, b >= FLOOR) {
            (false, false) => Self::BothNone,
            (true, false) => Self::LessThanMeasurable(ratio(a, b)),
            (false, true) => Self::MoreThanMeasurable(ratio(b, a)),
            (true, true) if ratio(a.max(b), a.min(b)) < SAME => Self::Same,
            (true, true) if a > b => Self::Less(ratio(a, b)),
            (true, true) => Self::More(ratio(b, a)),
        }
    }

    /// Of how many times better the second is.
    pub(crate) fn of_factor(factor: &Factor) -> Self {
        match factor.bound {
            Some(Bound::BothNone) => Self::BothNone,
            Some(Bound::AtLeast) => Self::LessThanMeasurable(factor.value),
            Some(Bound::AtMost) => Self::MoreThanMeasurable(factor.value.recip()),
            None if factor.value.max(factor.value.recip()) < SAME => Self::Same,
            None if factor.value > 1.0 => Self::Less(factor.value),
            None => Self::More(factor.value.recip()),
        }
    }

    /// The comparison as the end of a sentence: `105x less`.
    pub fn words(self) -> String {
        match self {
            Self::Unknown => "not compared, a median is missing or falls on a lost packet".to_owned(),
            Self::BothNone => "neither adds measurable delay".to_owned(),
            Self::Same => "about the same".to_owned(),
            Self::Less(factor) => format!("{} less", times(factor)),
            Self::LessThanMeasurable(factor) => format!("over {} less", times(factor.floor().max(1.0))),
            Self::More(factor) => format!("{} more", times(factor)),
            Self::MoreThanMeasurable(factor) => format!("over {} more", times(factor.floor().max(1.0))),
        }
    }
}

/// A factor with two figures or whole: `2.4x`, `105x`.
pub(crate) fn times(factor: f64) -> String {
    if factor < 9.95 && factor.fract() != 0.0 { format!("{factor:.1}x") } else { format!("{factor:.0}x") }
}

/// The delay that a run's load adds at the median, in words: `pfifo adds 420 ms`.
pub(crate) fn induced_words(name: &str, delays: &PhaseDelays) -> String {
    match delays.induced_p50 {
        Some(induced) if induced.0 <= 0 => format!("{name} adds no delay"),
        Some(induced) => format!("{name} adds {induced}"),
        None => format!("{name}: added delay unknown"),
    }
}

/// The sentence that compares two runs: `pfifo adds 420 ms, fq_codel adds 4.0 ms: 105x less`.
pub fn improvement_sentence(names: [&str; 2], runs: [&PhaseDelays; 2]) -> String {
    let [first, second] = [0, 1].map(|index| induced_words(names[index], runs[index]));
    format!("{first}, {second}: {}", Improvement::between(runs[0], runs[1]).words())
}

#[cfg(test)]
mod tests {
    use rrul_analysis::statistics::percentile::DelayStatistics;

    use super::*;

    fn delays(idle_us: i64, load_us: Option<i64>) -> PhaseDelays {
        let of = |delay: Option<i64>| {
            DelayStatistics::from_delays(delay.map(|us| Delay(us * 1_000)).into_iter().collect(), 1)
        };
        let loaded = match load_us {
            Some(us) => DelayStatistics::from_delays(vec![Delay(us * 1_000)], 0),
            None => of(None),
        };
        let idle = DelayStatistics::from_delays(vec![Delay(idle_us * 1_000)], 0);
        PhaseDelays { idle, load: loaded, ..PhaseDelays::default() }.with_induced()
    }

    #[test]
    fn the_sentence_names_both_and_the_factor() {
        let sentence = improvement_sentence(
            ["pfifo", "fq_codel"],
            [&delays(16_000, Some(436_000)), &delays(16_000, Some(20_000))],
        );
        assert_eq!(sentence, "pfifo adds 420 ms, fq_codel adds 4.0 ms: 105x less");
    }

    #[test]
    fn a_tiny_denominator_gives_a_bound_instead_of_a_boast() {
        // 420 ms against 0.001 ms would be 420000x; the floor of 0.1 ms allows only "over 4200x".
        let against =
            |us: i64| Improvement::between(&delays(16_000, Some(436_000)), &delays(16_000, Some(16_000 + us))).words();
        assert_eq!(against(1), "over 4200x less");
        assert_eq!(against(-500), "over 4200x less");
        assert_eq!(against(100), "4200x less");
        assert_eq!(
            Improvement::between(&delays(16_000, Some(16_050)), &delays(16_000, Some(16_001))),
            Improvement::BothNone
        );
    }

    #[test]
    fn worse_and_equal_are_called_so() {
        let between = |a, b| Improvement::between(&delays(10_000, Some(a)), &delays(10_000, Some(b))).words();
        assert_eq!(between(20_000, 34_000), "2.4x more");
        assert_eq!(between(20_000, 20_500), "about the same");
        assert_eq!(between(10_000, 20_000), "over 100x more");
    }

    #[test]
    fn a_median_that_was_lost_is_not_compared() {
        let words = improvement_sentence(["a", "b"], [&delays(10_000, None), &delays(10_000, Some(20_000))]);
        assert_eq!(
            words,
            "a: added delay unknown, b adds 10.0 ms: not compared, a median is missing or falls on a lost packet"
        );
    }
}

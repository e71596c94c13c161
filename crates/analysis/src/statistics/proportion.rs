//! Shares of counted packets: intervals, and whether two shares differ by more than chance.
//!
//! For packets that are independent of each other, such as those of one marking among all others. Packets of one stream
//! are lost in bursts: for them use the [block bootstrap](super::block_bootstrap).

use super::block_bootstrap::ConfidenceInterval;

/// Standard normal deviate of 95 %, two-sided.
const DEVIATE: f64 = 1.959_964;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Proportion {
    pub(crate) hits: u64,
    pub(crate) of: u64,
}

impl Proportion {
    /// The share, 0 to 1; `None` of nothing.
    pub(crate) fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// The 95 % interval of the share (Wilson 1927); `None` of nothing.
    pub(crate) fn interval(self) -> Option<ConfidenceInterval> {
        let (p, n) = (self.share()?, self.of as f64);
        let square = DEVIATE * DEVIATE;
        let middle = (p + square / (2.0 * n)) / (1.0 + square / n);
        let reach = DEVIATE / (1.0 + square / n) * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
        Some(ConfidenceInterval { low: (middle - reach).max(0.0), high: (middle + reach).min(1.0) })
    }

    /// The 95 % interval of this share less another (Newcombe 1998, method 10); `None` when either is of nothing.
    pub(crate) fn less(self, other: Self) -> Option<ConfidenceInterval> {
        let (p, q) = (self.share()?, other.share()?);
        let (own, others) = (self.interval()?, other.interval()?);
        let reach = |a: f64, b: f64| (a * a + b * b).sqrt();
        Some(ConfidenceInterval {
            low: p - q - reach(p - own.low, others.high - q),
            high: p - q + reach(own.high - p, q - others.low),
        })
    }

    /// How likely so many hits or more would be here if both shares were the same (Fisher's exact test, one-sided).
    pub(crate) fn chance_of_exceeding(self, other: Self) -> f64 {
        let (hits, all) = (self.hits + other.hits, self.of + other.of);
        let logarithms = LogFactorials::up_to(all);
        let ways = |k: u64| {
            // Hypergeometric: k of the hits among this sample.
            logarithms.choose(hits, k) + logarithms.choose(all - hits, self.of - k) - logarithms.choose(all, self.of)
        };
        (self.hits..=hits.min(self.of)).map(|k| ways(k).exp()).sum::<f64>().min(1.0)
    }
}

/// Logarithms of factorials.
struct LogFactorials(Vec<f64>);

impl LogFactorials {
    /// Counts of more packets than this are all taken for this many: no test sends as many of one marking.
    const MOST: u64 = 1 << 20;

    fn up_to(most: u64) -> Self {
        let mut sum = 0.0;
        let logarithms = (1..=most.min(Self::MOST)).map(|n| {
            sum += (n as f64).ln();
            sum
        });
        Self(std::iter::once(0.0).chain(logarithms).collect())
    }

    fn get(&self, n: u64) -> f64 {
        self.0[(n as usize).min(self.0.len() - 1)]
    }

    /// Logarithm of "n over k"; minus infinity if impossible.
    fn choose(&self, n: u64, k: u64) -> f64 {
        if k > n { f64::NEG_INFINITY } else { self.get(n) - self.get(k) - self.get(n - k) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proportion(hits: u64, of: u64) -> Proportion {
        Proportion { hits, of }
    }

    #[track_caller]
    fn is(interval: Option<ConfidenceInterval>, low: f64, high: f64) {
        let interval = interval.unwrap();
        assert!((interval.low - low).abs() < 6e-5 && (interval.high - high).abs() < 6e-5, "{interval:?}");
    }

    #[test]
    fn intervals_are_those_of_newcombes_papers() {
        // Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
        is(proportion(81, 263).interval(), 0.2553, 0.3662);
        is(proportion(15, 148).interval(), 0.0624, 0.1605);
        is(proportion(0, 20).interval(), 0.0, 0.1611);
        is(proportion(1, 29).interval(), 0.0061, 0.1718);
        // Newcombe (1998), "Interval estimation for the difference between independent proportions", table II, method 10.
        is(proportion(56, 70).less(proportion(48, 80)), 0.0524, 0.3339);
        is(proportion(9, 10).less(proportion(3, 10)), 0.1705, 0.8090);
        is(proportion(5, 56).less(proportion(0, 29)), -0.0381, 0.1926);
    }

    #[test]
    fn fishers_tea_is_tasted_by_chance_once_in_seventy() {
        assert!((proportion(4, 4).chance_of_exceeding(proportion(0, 4)) - 1.0 / 70.0).abs() < 1e-9);
        assert!((proportion(3, 4).chance_of_exceeding(proportion(1, 4)) - 17.0 / 70.0).abs() < 1e-9);
        // All of five lost where of 205 others none was: one of C(210, 5) ways.
        assert!(proportion(5, 5).chance_of_exceeding(proportion(0, 205)) < 1e-8);
        assert!((proportion(0, 5).chance_of_exceeding(proportion(3, 200)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn of_nothing_nothing_is_known() {
        assert_eq!(
            (proportion(0, 0).share(), proportion(0, 0).interval(), proportion(1, 2).less(proportion(0, 0))),
            (None, None, None)
        );
        assert!((proportion(0, 0).chance_of_exceeding(proportion(3, 9)) - 1.0).abs() < 1e-9);
    }
}

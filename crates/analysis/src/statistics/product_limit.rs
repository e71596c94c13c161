//! The distribution of times of which some were cut off: censored observations (Kaplan and Meier 1958).

use rrul_model::units::Delay;

use super::percentile::DelayStatistics;

/// A share of the curve that is this near to another is equal to it.
const EQUAL: f64 = 1e-9;

/// One observed time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observed {
    /// The time until it ended.
    Took(f64),
    /// The time after which it was cut off (censored): it would have taken longer.
    Longer(f64),
    Never,
}

/// Returns each time that was taken with the share of all that took at most this long: the product-limit estimate.
///
/// Without cut-off times it is the empirical distribution. It ends below 1 when the longest times were cut off or never ended.
pub fn product_limit(observed: &[Observed]) -> Vec<(f64, f64)> {
    let mut times: Vec<(f64, bool)> = observed
        .iter()
        .filter_map(|one| match one {
            Observed::Took(time) => Some((*time, true)),
            Observed::Longer(time) => Some((*time, false)),
            Observed::Never => None,
        })
        .collect();
    // Of equal times those that ended come first: what was cut off then was still there to end.
    times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut under_way = observed.len();
    let mut remaining = 1.0;
    let mut curve: Vec<(f64, f64)> = Vec::new();
    for (time, ended) in times {
        if ended {
            remaining *= (under_way - 1) as f64 / under_way as f64;
            match curve.last_mut() {
                Some(last) if last.0.total_cmp(&time).is_eq() => last.1 = 1.0 - remaining,
                _ => curve.push((time, 1.0 - remaining)),
            }
        }
        under_way -= 1;
    }
    curve
}

/// Returns the smallest time that at least `per_mille` of all take at most: a point of [`product_limit`].
///
/// Without cut-off times it is the percentile by nearest rank. `None` when the curve ends below that share.
pub fn quantile(curve: &[(f64, f64)], per_mille: u16) -> Option<f64> {
    let wanted = f64::from(per_mille) / 1000.0;
    curve.iter().find(|(_, share)| *share >= wanted - EQUAL).map(|(time, _)| *time)
}

/// Replaces each cut-off time by its expectation: the mean of what took longer, by the product-limit estimate.
///
/// The mean of the result is the mean of the estimate (Efron 1967, self-consistency). Where the longest time was cut off the
/// estimate has no end: what remains is taken to end at the rate at which times ended once the quickest had (exponential with
/// two parameters, Epstein and Sobel 1954), `limit` at the latest. The result begins with the times that were taken. `None` when no time was taken: nothing can be estimated.
pub fn expected_times(taken: &[f64], cut_off: &[f64], limit: f64) -> Option<Vec<f64>> {
    let took = taken.iter().map(|time| Observed::Took(*time));
    let observed: Vec<Observed> = took.chain(cut_off.iter().map(|time| Observed::Longer(*time))).collect();
    let curve = product_limit(&observed);
    let remaining = 1.0 - curve.last()?.1;
    let tail = tail_time(taken, cut_off, limit);
    let expected = |cut_off: &f64| {
        let mut before = 0.0;
        let (mut weight, mut sum) = (0.0, 0.0);
        for (time, share) in &curve {
            if time > cut_off {
                weight += share - before;
                sum += (share - before) * time;
            }
            before = *share;
        }
        if remaining > EQUAL {
            weight += remaining;
            sum += remaining * tail;
        }
        if weight > EQUAL { (sum / weight).max(*cut_off) } else { *cut_off }
    };
    Some(taken.iter().copied().chain(cut_off.iter().map(expected)).collect())
}

/// Returns the mean of the times that are longer than the longest observed, none of them longer than `limit`.
fn tail_time(taken: &[f64], cut_off: &[f64], limit: f64) -> f64 {
    let all = || taken.iter().chain(cut_off).copied();
    let longest = all().fold(0.0, f64::max);
    let quickest = taken.iter().copied().fold(f64::INFINITY, f64::min);
    let waited: f64 = all().map(|time| (time - quickest).max(0.0)).sum();
    let rate = taken.len() as f64 / waited;
    if limit <= longest || !rate.is_finite() || rate <= 0.0 {
        return longest;
    }
    longest + (1.0 - (-rate * (limit - longest)).exp()) / rate
}

impl DelayStatistics {
    /// Returns the statistics of times of which some were cut off; `None` of nothing.
    ///
    /// `n` counts all; percentiles are of the product-limit estimate and `None` where it ends below them.
    pub fn with_cut_off(answered: Vec<Delay>, lost: u64, cut_off: &[Delay]) -> Option<Self> {
        if cut_off.is_empty() {
            return Self::from_delays(answered, lost);
        }
        let took = answered.iter().map(|delay| Observed::Took(delay.0 as f64));
        let longer = cut_off.iter().map(|delay| Observed::Longer(delay.0 as f64));
        let never = std::iter::repeat_n(Observed::Never, usize::try_from(lost).ok()?);
        let curve = product_limit(&took.chain(longer).chain(never).collect::<Vec<_>>());
        let at = |per_mille| quantile(&curve, per_mille).map(|time| Delay(time as i64));
        Some(Self {
            n: (answered.len() as u64).saturating_add(lost).saturating_add(cut_off.len() as u64),
            lost,
            min: answered.iter().min().copied(),
            p50: at(500),
            p90: at(900),
            p95: at(950),
            p99: at(990),
            max: answered.iter().max().copied(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Observed::{Longer, Never, Took};
    use proptest::prelude::*;

    #[track_caller]
    fn is(observed: &[Observed], curve: &[(f64, f64)]) {
        let made = product_limit(observed);
        let near = made.iter().zip(curve).all(|(a, b)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-12);
        assert!(made.len() == curve.len() && near, "{made:?} is not {curve:?}");
    }

    #[test]
    fn without_cut_off_times_it_is_the_empirical_distribution() {
        is(&[Took(3.0), Took(1.0), Took(1.0), Took(4.0)], &[(1.0, 0.5), (3.0, 0.75), (4.0, 1.0)]);
        is(&[], &[]);
    }

    #[test]
    fn cut_off_times_agree_with_an_example_worked_by_hand() {
        // 1 of 4 ends at 1, one is cut off at 2, 1 of 2 ends at 3: 1 - 3/4 * 1/2. The last is cut off: it ends below 1.
        is(&[Took(1.0), Longer(2.0), Took(3.0), Longer(5.0)], &[(1.0, 0.25), (3.0, 0.625)]);
        // Cut off at the instant at which another ends: both were under way.
        is(&[Took(2.0), Longer(2.0)], &[(2.0, 0.5)]);
        is(&[Took(2.0), Never, Never], &[(2.0, 1.0 / 3.0)]);
    }

    #[test]
    fn quantiles_without_cut_off_times_are_nearest_ranks() {
        let curve = product_limit(&[Took(15.0), Took(20.0), Took(35.0), Took(40.0), Never]);
        let at = |per_mille| quantile(&curve, per_mille);
        assert_eq!(
            [at(200), at(300), at(500), at(800), at(801)],
            [Some(15.0), Some(20.0), Some(35.0), Some(40.0), None]
        );
    }

    #[test]
    fn cut_off_times_are_expected_as_worked_by_hand() {
        // Masses 1/4 at 1, and 3/8 each at 2 and 3: what takes longer than 1.9 takes 2.5.
        assert_eq!(expected_times(&[1.0, 2.0, 3.0], &[1.9], 30.0), Some(vec![1.0, 2.0, 3.0, 2.5]));
        assert_eq!(expected_times(&[2.0], &[0.1], 30.0), Some(vec![2.0, 2.0]));
        assert_eq!(expected_times(&[], &[5.0], 30.0), None);
        assert_eq!(expected_times(&[4.0], &[], 30.0), Some(vec![4.0]));
        // One ended in the 6 that were waited after the quickest: another 6 on average, ended by the limit.
        let tail = 8.0 + 6.0 * (1.0 - (-22.0_f64 / 6.0).exp());
        let found = expected_times(&[2.0], &[8.0], 30.0).unwrap();
        assert!((found[1] - tail).abs() < 1e-9 && tail < 30.0, "{found:?} is not {tail}");
        assert_eq!(expected_times(&[2.0], &[8.0], 8.0), Some(vec![2.0, 8.0]));
    }

    proptest! {
        #[test]
        fn the_mean_of_expected_times_is_that_of_the_estimate(
            taken in prop::collection::vec(0.1..20.0_f64, 1..12), cut_off in prop::collection::vec(0.1..20.0_f64, 0..12)
        ) {
            let expected = expected_times(&taken, &cut_off, 30.0).unwrap();
            let mean = expected.iter().sum::<f64>() / expected.len() as f64;
            let took = taken.iter().map(|time| Took(*time));
            let observed: Vec<Observed> = took.chain(cut_off.iter().map(|time| Longer(*time))).collect();
            let (mut before, mut of_curve) = (0.0, 0.0);
            for (time, share) in product_limit(&observed) {
                of_curve += (share - before) * time;
                before = share;
            }
            of_curve += (1.0 - before) * tail_time(&taken, &cut_off, 30.0);
            prop_assert!((mean - of_curve).abs() < 1e-6, "{} is not {}", mean, of_curve);
            prop_assert!(expected[taken.len()..].iter().zip(&cut_off).all(|(expected, cut_off)| expected >= cut_off));
        }
    }
}

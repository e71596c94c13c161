//! The distribution of times of which some are only known to be longer than something (Kaplan and Meier 1958).

/// One time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Observed {
    /// It took so long.
    Took(f64),
    /// It was cut off after so long, and would have taken longer.
    Longer(f64),
    /// It never ended.
    Never,
}

/// Each time that was taken, and the part of all that took at most so long: the product-limit estimate.
///
/// Without cut-off times it is the empirical distribution. It ends below 1 when the longest were never seen to end.
pub(crate) fn product_limit(observed: &[Observed]) -> Vec<(f64, f64)> {
    let mut times: Vec<(f64, bool)> = observed
        .iter()
        .filter_map(|one| match one {
            Observed::Took(time) => Some((*time, true)),
            Observed::Longer(time) => Some((*time, false)),
            Observed::Never => None,
        })
        .collect();
    // Of equal times those that ended come first: what was cut off then was still there to end.
    times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use Observed::{Longer, Never, Took};

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
}

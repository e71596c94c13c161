//! Bytes between two readings, placed in intervals of time.
//!
//! A connection that is read once, at its end, shows how much it carried, but not when. Spread evenly, such bytes fall
//! into intervals that other traffic filled, and their sum exceeds what the link carries. Here they are placed so that
//! the sums of all traffic are as even as the readings allow. The truth is one of the placements that the readings
//! allow, so the largest sum of this one is not above that of the truth.

use std::collections::BTreeMap;

use rrul_model::time::{TestTime, Window};

use crate::metrics::octets::traffic::{Loose, Part};
use crate::statistics::time_bins::TimeBins;

/// How often each is placed anew, beside the places of the others.
const PASSES: usize = 12;

/// A part of one interval.
#[derive(Debug, Clone, Copy)]
struct Share {
    bin: usize,
    /// The time that both have in common, nanoseconds.
    common: f64,
    octets: f64,
}

/// Returns the bytes of each part in each interval; in `spread` the loose ones are spread evenly.
pub(crate) fn place(
    bins: &TimeBins,
    mut spread: BTreeMap<Part, Vec<f64>>,
    loose: impl Iterator<Item = Loose>,
) -> BTreeMap<Part, Vec<f64>> {
    let lengths: Vec<f64> =
        (0..bins.len()).map(|bin| bins.bin(bin).map_or(0.0, |(_, over)| over.as_nanos() as f64)).collect();
    let mut sums: Vec<f64> = (0..bins.len()).map(|bin| spread.values().map(|octets| octets[bin]).sum()).collect();
    let mut placed: Vec<(Part, Vec<Share>)> =
        loose.map(|loose| (loose.part, even(bins, &loose))).filter(|(_, shares)| shares.len() > 1).collect();
    for (part, shares) in &placed {
        take(spread.entry(*part).or_insert_with(|| vec![0.0; bins.len()]), shares);
    }
    for _ in 0..PASSES {
        for (_, shares) in &mut placed {
            take(&mut sums, shares);
            level(shares, &sums, &lengths);
            put(&mut sums, shares);
        }
    }
    for (part, shares) in &placed {
        put(spread.entry(*part).or_default(), shares);
    }
    spread
}

fn take(octets: &mut [f64], shares: &[Share]) {
    for share in shares {
        octets[share.bin] = (octets[share.bin] - share.octets).max(0.0);
    }
}

fn put(octets: &mut [f64], shares: &[Share]) {
    for share in shares {
        octets[share.bin] += share.octets;
    }
}

fn even(bins: &TimeBins, loose: &Loose) -> Vec<Share> {
    let own = Window { from: loose.from, to: loose.to };
    let length = own.length().as_nanos() as f64;
    let share = |bin: usize| {
        let (middle, over) = bins.bin(bin)?;
        let from = middle - over / 2;
        let window = Window { from, to: from + over };
        let common = window.intersection(&own).length().as_nanos() as f64;
        (common > 0.0).then(|| Share { bin, common, octets: loose.octets * common / length })
    };
    if loose.to <= loose.from || loose.to.0.checked_sub(loose.from.0).is_none() {
        return Vec::new();
    }
    bins.within(Window { from: loose.from.max(TestTime(i64::MIN / 2)), to: loose.to }).filter_map(share).collect()
}

/// Fills the intervals to one level, as far as they lie below it.
fn level(shares: &mut [Share], others: &[f64], lengths: &[f64]) {
    let total: f64 = shares.iter().map(|share| share.octets).sum();
    let pace = |share: &Share| others[share.bin] / lengths[share.bin].max(1.0);
    shares.sort_by(|one, other| pace(one).total_cmp(&pace(other)));
    let (mut time, mut filled, mut level) = (0.0, 0.0, 0.0);
    for (index, share) in shares.iter().enumerate() {
        time += share.common;
        filled += share.common * pace(share);
        level = (total + filled) / time;
        if shares.get(index + 1).is_none_or(|next| pace(next) >= level) {
            break;
        }
    }
    for share in shares {
        share.octets = share.common * (level - pace(share)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rrul_model::flow::Direction;

    use super::*;

    fn bins(count: i64) -> TimeBins {
        TimeBins::covering(Window { from: TestTime(0), to: TestTime(count * 10) }, Duration::from_nanos(10))
    }

    fn loose(from: i64, to: i64, octets: f64) -> Loose {
        Loose { part: Part::ShortFlows, direction: Direction::Up, from: TestTime(from), to: TestTime(to), octets }
    }

    /// The sums of all parts, of which `spread` has the load and with it, spread evenly, the loose ones.
    fn placed(count: i64, spread: &[f64], loose: &[Loose]) -> Vec<f64> {
        let bins = bins(count);
        let mut parts =
            BTreeMap::from([(Part::LoadData, spread.to_vec()), (Part::ShortFlows, vec![0.0; spread.len()])]);
        for share in loose.iter().map(|one| even(&bins, one)).filter(|shares| shares.len() > 1).flatten() {
            for (part, sign) in [(Part::LoadData, -1.0), (Part::ShortFlows, 1.0)] {
                parts.entry(part).and_modify(|octets| octets[share.bin] += sign * share.octets);
            }
        }
        let octets = place(&bins, parts, loose.iter().copied());
        (0..spread.len()).map(|bin| octets.values().map(|octets| octets[bin]).sum()).collect()
    }

    #[test]
    fn each_part_keeps_its_bytes() {
        // The load took 100, 40, 100, 60; short flows carried 100 in all.
        let load = vec![100.0, 40.0, 100.0, 60.0];
        let spread = BTreeMap::from([(Part::LoadData, load.clone()), (Part::ShortFlows, vec![25.0; 4])]);
        let placed = place(&bins(4), spread, [loose(0, 40, 100.0)].into_iter());
        assert_eq!(placed[&Part::LoadData], load);
        for (found, expected) in placed[&Part::ShortFlows].iter().zip([0.0, 60.0, 0.0, 40.0]) {
            assert!((found - expected).abs() < 1e-6, "{placed:?}");
        }
    }

    #[test]
    fn bytes_go_where_the_rest_leaves_room_and_none_is_lost() {
        // 100 bytes in each interval at most: the rest of the link took 100, 40, 100, 60.
        let one = loose(0, 40, 100.0);
        let spread: Vec<f64> = [100.0, 40.0, 100.0, 60.0].iter().map(|rest| rest + 25.0).collect();
        let placed = placed(4, &spread, &[one]);
        for (found, expected) in placed.iter().zip([100.0, 100.0, 100.0, 100.0]) {
            assert!((found - expected).abs() < 1e-6, "{placed:?}");
        }
    }

    #[test]
    fn what_lies_within_one_interval_or_takes_no_time_stays() {
        let spread = vec![5.0, 30.0, 0.0];
        let all = [loose(12, 18, 30.0), loose(3, 3, 5.0), loose(i64::MIN, i64::MAX, 0.0)];
        assert_eq!(placed(3, &spread, &all), spread);
    }

    #[test]
    fn connections_that_overlap_share_the_room() {
        let all = [loose(0, 30, 90.0), loose(10, 20, 60.0), loose(0, 20, 60.0), loose(5, 30, 30.0)];
        let mut spread = vec![0.0; 3];
        for one in &all {
            for share in even(&bins(3), one) {
                spread[share.bin] += share.octets;
            }
        }
        let placed = placed(3, &spread, &all);
        assert!((placed.iter().sum::<f64>() - 240.0).abs() < 1e-6);
        assert!(placed.iter().all(|octets| (octets - 80.0).abs() < 2.0), "{placed:?}");
    }
}

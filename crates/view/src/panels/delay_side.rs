//! An axis on which the delays of several samples can be read, and what it does not reach.

use rrul_analysis::statistics::percentile::percentile;

use crate::delay_sample::{Sample, nanoseconds};
use crate::drawing::axis::{Axis, Unit, tick_words};
use crate::drawing::figure::{Scale, Side};
use crate::text::words;

/// How far an axis of delays reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// As far as can be read of nearly all; the words say what is beyond.
    Nearly,
    All,
}

/// Medians further apart than this are drawn on a logarithmic axis, or the lower one would lie on the edge.
const FAR_APART: f64 = 5.0;
/// A logarithmic axis has at most so many decades; what is below is drawn at its lower end, and counted.
const DECADES: f64 = 1e4;
const STEPS: u32 = 8;

/// The axis on which all of these can be read, and its unit.
pub(crate) fn delay_side(samples: &[&Sample], reach: Reach) -> (Side, Unit) {
    let answered = || samples.iter().filter(|sample| !sample.sorted.is_empty());
    let of = |per_mille| answered().filter_map(move |sample| percentile(&sample.sorted, 0, per_mille)).map(nanoseconds);
    let (low, high) = (of(0).fold(f64::INFINITY, f64::min), of(1000).fold(f64::NEG_INFINITY, f64::max));
    if low > high {
        return (Side::new(Axis { min: 0.0, max: 1.0, step: 0.5 }, Scale::Linear), Unit::of_delays(1e6));
    }
    let common = of(990).fold(f64::NEG_INFINITY, f64::max);
    let top = if reach == Reach::Nearly && high > 1.5 * common && common > 0.0 { common * 8.0 / 7.0 } else { high };
    let (nearest, farthest) = (of(500).fold(f64::INFINITY, f64::min), of(500).fold(0.0, f64::max));
    let far = nearest > 0.0 && (farthest / nearest > FAR_APART || reach == Reach::All && top / nearest > FAR_APART);
    let unit = Unit::of_delays(top);
    if far {
        let positive = answered().filter_map(|sample| {
            sample.sorted.get(sample.sorted.partition_point(|delay| delay.0 <= 0)).copied().map(nanoseconds)
        });
        let lowest = positive.fold(f64::INFINITY, f64::min).max(top / DECADES);
        return (Side::new(Axis::logarithmic(lowest / unit.size, top / unit.size), Scale::Logarithmic), unit);
    }
    (Side::new(Axis::covering(low / unit.size, top / unit.size, STEPS), Scale::Linear), unit)
}

/// How many packets of these samples an axis does not reach, in words; `None` when it reaches all.
pub(crate) fn beyond(samples: &[&Sample], side: &Side, unit: Unit) -> Option<String> {
    // An axis in a unit with digits of its own may end a rounding before the value that it was made for.
    let (from, to) = (side.axis.min * unit.size * (1.0 - 1e-9), side.axis.max * unit.size * (1.0 + 1e-9));
    let sorted = || samples.iter().map(|sample| &sample.sorted);
    let above: usize =
        sorted().map(|delays| delays.len() - delays.partition_point(|delay| nanoseconds(*delay) <= to)).sum();
    let below: usize = sorted().map(|delays| delays.partition_point(|delay| nanoseconds(*delay) < from)).sum();
    let packets =
        |count: usize| format!("{} {}", words::count(count as u64), if count == 1 { "packet" } else { "packets" });
    let mut said = Vec::new();
    if let Some(highest) = sorted().filter_map(|delays| delays.last()).max().filter(|_| above > 0) {
        let end = tick_words(side.axis.max);
        said.push(format!("{} above {end} {}, highest {highest}", packets(above), unit.name));
    }
    if let Some(lowest) = sorted().filter_map(|delays| delays.first()).min().filter(|_| below > 0) {
        let end = tick_words(side.axis.min);
        said.push(format!("{} below {end} {}, lowest {lowest}", packets(below), unit.name));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use rrul_model::units::Delay;

    use super::*;

    fn sample(delays: &[i64], lost: u64) -> Sample {
        Sample { sorted: delays.iter().map(|ms| Delay(ms * 1_000_000)).collect(), lost }
    }

    #[test]
    fn axes_begin_where_data_begins() {
        let (near, far) = (sample(&[16, 17, 20], 0), sample(&[100, 400, 500], 0));
        let (side, unit) = delay_side(&[&near], Reach::Nearly);
        assert_eq!((side.scale, unit.name), (Scale::Linear, "ms"));
        assert!(side.axis.min > 10.0 && side.reaches(16.0) && side.reaches(20.0), "{side:?}");
        let (side, _) = delay_side(&[&near, &far], Reach::Nearly);
        assert_eq!(side.scale, Scale::Logarithmic);
        assert!(side.reaches(16.0) && side.reaches(500.0), "{side:?}");
        assert_eq!(beyond(&[&near, &far], &side, unit), None);
        assert_eq!(delay_side(&[&sample(&[], 2)], Reach::All).0.scale, Scale::Linear);
    }

    #[test]
    fn what_an_axis_does_not_reach_is_counted() {
        let mut many = sample(&[20; 400], 0);
        many.sorted.extend([Delay(900_000_000); 3]);
        let (side, unit) = delay_side(&[&many], Reach::Nearly);
        let said = beyond(&[&many], &side, unit).unwrap();
        assert!(said.starts_with("3 packets above ") && said.ends_with("highest 900 ms"), "{said}");
        let (side, unit) = delay_side(&[&many], Reach::All);
        assert_eq!(beyond(&[&many], &side, unit), None);
    }
}

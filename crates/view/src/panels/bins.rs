//! Time bins for drawing: many values become one per bin of a stated width on the grid of the run's clock.
//!
//! A bin contains what happened in it and nothing else: no window slides, nothing moves backwards in time. Charts print
//! the width of their bins. Drawing only: every number in words comes from the analysis.

use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_analysis::statistics::percentile::percentile;
use rrul_model::units::Delay;

use crate::drawing::axis::nice_step;

/// Most bins across a chart: finer than about 5 pixels each, lines become a smear.
pub(crate) const MOST: f64 = 160.0;

/// Equal bins, whose edges are multiples of their width on the run's clock, over a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bins {
    /// Width in seconds.
    pub(crate) width: f64,
    first: f64,
    count: usize,
}

impl Bins {
    /// Bins over `from` to `to` seconds, as fine as fits and not finer than `finest` seconds.
    pub(crate) fn over(from: f64, to: f64, finest: f64) -> Self {
        Self::at_most(MOST, from, to, finest)
    }

    /// The same with at most so many bins: a surface that can be zoomed has use for more than the pixels it has.
    pub(crate) fn at_most(most: f64, from: f64, to: f64, finest: f64) -> Self {
        let width = nice_step(((to - from) / most).max(finest).max(1e-6));
        let first = (from / width).floor();
        let count = ((to / width).ceil() - first).clamp(1.0, most + 2.0) as usize;
        Self { width, first, count }
    }

    /// The middle of a bin, seconds.
    fn middle(&self, index: usize) -> f64 {
        (self.first + index as f64 + 0.5) * self.width
    }

    /// Which bin an instant falls into; `None` outside.
    fn index(&self, seconds: f64) -> Option<usize> {
        let index = (seconds / self.width).floor() - self.first;
        (0.0..self.count as f64).contains(&index).then_some(index as usize)
    }

    /// The mean rate in each bin, bit/s, over that part of the bin which the series covers; `None` where it covers none.
    pub(crate) fn rates(&self, series: &[RatePoint]) -> Vec<(f64, Option<f64>)> {
        let mut bits = vec![0.0; self.count];
        let mut covered = vec![0.0; self.count];
        let (start, end) = (self.first * self.width, (self.first + self.count as f64) * self.width);
        for point in series {
            let over = point.over.as_secs_f64();
            let from = (point.at.seconds() - over / 2.0).max(start);
            let to = (point.at.seconds() + over / 2.0).min(end);
            let (Some(mut index), true) = (self.index(from), over > 0.0) else { continue };
            while index < self.count {
                let edge = (self.first + index as f64) * self.width;
                if edge >= to {
                    break;
                }
                // Rounding may put a point that begins on an edge into the bin before, of which it then has nothing.
                let share = (to.min(edge + self.width) - from.max(edge)).max(0.0);
                bits[index] += point.rate.0 as f64 * share;
                covered[index] += share;
                index += 1;
            }
        }
        // Under a thousandth of a bin is the rounding of its edges, not a measurement.
        let mean = |index: usize| (covered[index] > self.width * 1e-3).then(|| bits[index] / covered[index]);
        (0..self.count).map(|index| (self.middle(index), mean(index))).collect()
    }

    /// The values whose time falls into each bin, in their order; with the middles of the bins, seconds.
    pub(crate) fn values(&self, values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, Vec<f64>)> {
        let mut binned: Vec<(f64, Vec<f64>)> = (0..self.count).map(|bin| (self.middle(bin), Vec::new())).collect();
        for (seconds, value) in values.filter(|(_, value)| value.is_finite()) {
            if let Some((_, values)) = self.index(seconds).and_then(|index| binned.get_mut(index)) {
                values.push(value);
            }
        }
        binned
    }

    /// The mean of the values in each bin; `None` without any.
    pub(crate) fn means(&self, values: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, Option<f64>)> {
        let mean = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        self.values(values).into_iter().map(|(at, values)| (at, mean(&values))).collect()
    }

    /// The sum of the values in each bin, level from edge to edge; `None` where the bin's middle is not within `observed`.
    pub(crate) fn sums(
        &self,
        values: impl Iterator<Item = (f64, f64)>,
        observed: (f64, f64),
    ) -> Vec<(f64, Option<f64>)> {
        let edges = |(at, values): (f64, Vec<f64>)| {
            let inside = !values.is_empty() || (observed.0 < at && at < observed.1);
            let sum = inside.then(|| values.iter().sum::<f64>());
            [(at - self.width / 2.0, sum), (at + self.width / 2.0, sum)]
        };
        self.values(values).into_iter().flat_map(edges).collect()
    }

    /// The delays in each bin, by the time at which packets were sent.
    pub(crate) fn delays<'a>(&self, packets: impl Iterator<Item = &'a DelayPoint>) -> Vec<DelayBin> {
        let mut answered: Vec<Vec<Delay>> = vec![Vec::new(); self.count];
        let mut lost = vec![0_u64; self.count];
        for packet in packets {
            let Some(index) = self.index(packet.at.seconds()) else { continue };
            match packet.delay {
                Some(delay) => answered[index].push(delay),
                None => lost[index] += 1,
            }
        }
        answered
            .into_iter()
            .zip(lost)
            .enumerate()
            .map(|(index, (mut delays, lost))| {
                delays.sort_unstable();
                DelayBin {
                    at: self.middle(index),
                    median: percentile(&delays, lost, 500),
                    lowest: delays.first().copied(),
                    highest: delays.last().copied(),
                }
            })
            .collect()
    }
}

/// The packets of one bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DelayBin {
    /// Its middle, seconds.
    pub(crate) at: f64,
    /// Median, a lost packet counting as infinitely late; `None` when it falls on a loss, or nothing was sent.
    pub(crate) median: Option<Delay>,
    pub(crate) lowest: Option<Delay>,
    /// The highest delay of an answered packet.
    pub(crate) highest: Option<Delay>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rrul_model::time::TestTime;
    use rrul_model::units::BitRate;

    use super::*;

    fn rate(at_ms: i64, over_ms: u64, rate: u64) -> RatePoint {
        RatePoint { at: TestTime(at_ms * 1_000_000), over: Duration::from_millis(over_ms), rate: BitRate(rate) }
    }

    #[test]
    fn bins_lie_on_the_grid_of_the_clock() {
        let bins = Bins::over(0.0, 70.0, 0.1);
        assert!((bins.width - 0.5).abs() < 1e-12, "{bins:?}");
        assert!((bins.middle(0) - 0.25).abs() < 1e-12);
        assert_eq!(bins.index(30.0), Some(60), "30.0 s begins the bin 30.0 to 30.5");
        assert!((Bins::over(0.0, 300.0, 0.1).width - 2.0).abs() < 1e-12);
        assert!((Bins::over(0.0, 1.0, 0.1).width - 0.1).abs() < 1e-12, "not finer than what was sampled");
    }

    #[test]
    fn a_bin_averages_by_time_what_it_covers() {
        let bins = Bins::over(0.0, 160.0, 0.1);
        // Bin 0 to 1 s: 0.25 s at 100, 0.5 s at 40; the rest was not measured. The second point reaches into bin 1.
        let rates = bins.rates(&[rate(375, 250, 100), rate(1_000, 1_000, 40)]);
        assert_eq!(rates.len(), 160);
        assert!((rates[0].1.unwrap() - (25.0 + 20.0) / 0.75).abs() < 1e-6, "{:?}", rates[0]);
        assert!((rates[1].1.unwrap() - 40.0).abs() < 1e-6);
        assert_eq!(rates[2].1, None);
    }

    #[test]
    fn points_as_wide_as_bins_leave_no_gap() {
        let bins = Bins::over(10.8, 13.0, 0.1);
        let series: Vec<RatePoint> = (0..20).map(|step| rate(11_050 + 100 * step, 100, 100)).collect();
        let measured = bins.rates(&series).into_iter().filter(|(_, rate)| rate.is_some()).count();
        assert_eq!(measured, 20);
    }

    #[test]
    fn values_are_counted_where_they_fall_and_a_bin_without_any_is_nought_only_where_one_looked() {
        let bins = Bins::over(0.0, 160.0, 0.1);
        let values = || [(0.2, 3.0), (0.9, 5.0), (2.0, 7.0), (500.0, 9.0), (1.5, f64::NAN)].into_iter();
        let means = bins.means(values());
        assert_eq!(means[..3].iter().map(|mean| mean.1).collect::<Vec<_>>(), [Some(4.0), None, Some(7.0)]);
        let sums = bins.sums(values(), (0.0, 3.0));
        let expected = [(0.0, Some(8.0)), (1.0, Some(8.0)), (1.0, Some(0.0)), (2.0, Some(0.0)), (2.0, Some(7.0))];
        assert_eq!(sums[..5], expected);
        assert_eq!(sums[6], (3.0, None), "not looked at");
    }

    #[test]
    fn a_bin_that_lost_most_of_its_packets_has_no_median() {
        let packet =
            |at_ms: i64, delay: Option<i64>| DelayPoint { at: TestTime(at_ms * 1_000_000), delay: delay.map(Delay) };
        let packets = [
            packet(10, Some(5)),
            packet(20, Some(7)),
            packet(30, None),
            packet(1_010, Some(5)),
            packet(1_020, None),
            packet(1_030, None),
        ];
        let bins = Bins::over(0.0, 160.0, 0.1).delays(packets.iter());
        assert_eq!((bins[0].median, bins[0].lowest, bins[0].highest), (Some(Delay(7)), Some(Delay(5)), Some(Delay(7))));
        assert_eq!((bins[1].median, bins[1].highest), (None, Some(Delay(5))));
        assert_eq!(bins[2].highest, None);
    }
}

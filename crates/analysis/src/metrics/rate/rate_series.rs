//! The rate of one direction on an even grid, fine enough to see bursts in.

use std::time::Duration;

use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;

use crate::metrics::octets::link_rates::LinkRates;
use crate::series::RatePoint;
use crate::statistics::counter::Counter;

/// Bursts are looked for in steps of this length.
pub(crate) const STEP: Duration = Duration::from_millis(250);
/// Most steps; a longer stretch is looked at in longer ones.
const MOST: u64 = 20_000;

/// Rates in bits per second over stretches of equal length that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateSeries {
    pub(crate) from: TestTime,
    pub(crate) step: Duration,
    pub(crate) rates: Vec<f64>,
}

impl RateSeries {
    /// The rates within `window` of a series on any grid, in steps of this length; a rest at the end that fills no step is left out.
    pub(crate) fn in_steps_of(step: Duration, window: Window, points: &[RatePoint]) -> Self {
        let nanoseconds = (window.length().as_nanos() as u64 / MOST).max(step.as_nanos() as u64);
        let step = Duration::from_nanos(nanoseconds);
        let mut octets = 0.0;
        let mut readings = Vec::new();
        for point in points {
            octets += point.rate.0 as f64 / 8.0 * point.over.as_secs_f64();
            readings.push((point.at + point.over / 2, octets.round() as u64));
        }
        if let Some(first) = points.first() {
            readings.push((first.at - first.over / 2, 0));
        }
        let counter = Counter::new(readings);
        let count = window.length().as_nanos() as u64 / nanoseconds;
        let edge = |index: u64| window.from + Duration::from_nanos(index * nanoseconds);
        let rate = |index| (counter.at(edge(index + 1)) - counter.at(edge(index))) * 8.0 / step.as_secs_f64();
        Self { from: window.from, step, rates: (0..count).map(rate).collect() }
    }

    pub(crate) fn steps(&self, length: Duration) -> usize {
        (length.as_nanos() / self.step.as_nanos().max(1)).max(1) as usize
    }

    pub(crate) fn at(&self, index: usize) -> TestTime {
        self.from + self.step * u32::try_from(index).unwrap_or(u32::MAX)
    }
}

/// The rate of what was to load one direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadRate {
    pub(crate) window: Window,
    points: Vec<RatePoint>,
    /// Packets carried in each of the points; empty where they are unknown.
    packets: Vec<f64>,
}

impl LoadRate {
    /// By what the link carried in all, acknowledgments of the other direction included, as those use the line too;
    /// where nothing of that is known, by the delivered bytes.
    pub(crate) fn new(window: Window, carried: &LinkRates, goodput: &[RatePoint]) -> Self {
        let known = carried.all.iter().any(|point| window.contains(point.at) && point.rate.0 > 0);
        if known {
            Self { window, points: carried.all.clone(), packets: carried.packets.clone() }
        } else {
            Self { window, points: goodput.to_vec(), packets: Vec::new() }
        }
    }

    /// In steps of [`STEP`].
    pub(crate) fn steps(&self) -> RateSeries {
        self.in_steps_of(STEP)
    }

    /// In steps of [`STEP`], on a link that adds `framing` bytes to each packet.
    pub(crate) fn framed_steps(&self, framing: u32) -> RateSeries {
        let framed = self.points.iter().zip(&self.packets).map(|(point, packets)| {
            let bits = packets * f64::from(framing) * 8.0;
            let rate = BitRate(point.rate.0.saturating_add((bits / point.over.as_secs_f64()).round() as u64));
            RatePoint { rate, ..*point }
        });
        let framed: Vec<RatePoint> = framed.collect();
        RateSeries::in_steps_of(STEP, self.window, if framed.is_empty() { &self.points } else { &framed })
    }

    /// In steps of this length.
    pub(crate) fn in_steps_of(&self, step: Duration) -> RateSeries {
        RateSeries::in_steps_of(step, self.window, &self.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_brought_onto_the_grid_without_loss() {
        // 100 ms steps of 1, 2, 3, ... Mbit/s from second 5 on.
        let point = |index: u64| RatePoint {
            at: TestTime(5_000_000_000) + Duration::from_millis(100 * index + 50),
            over: Duration::from_millis(100),
            rate: BitRate(1_000_000 * (index + 1)),
        };
        let points: Vec<RatePoint> = (0..11).map(point).collect();
        let window = Window { from: TestTime(5_000_000_000), to: TestTime(6_100_000_000) };
        let series = RateSeries::in_steps_of(STEP, window, &points);
        // (1 + 2 + 3/2) / 2.5, (3/2 + 4 + 5) / 2.5, (6 + 7 + 8/2) / 2.5, (8/2 + 9 + 10) / 2.5
        let expected = [1.8e6, 4.2e6, 6.8e6, 9.2e6];
        assert_eq!(series.rates.len(), 4);
        for (rate, expected) in series.rates.iter().zip(expected) {
            assert!((rate - expected).abs() < 100.0, "{rate} is not {expected}");
        }
        assert_eq!(series.at(2), TestTime(5_500_000_000));
        assert_eq!(series.steps(Duration::from_secs(2)), 8);
    }

    #[test]
    fn framing_adds_to_a_rate_without_overflow() {
        let window = Window { from: TestTime(0), to: TestTime(2_000_000_000) };
        let point = |rate| RatePoint { at: TestTime(1_000_000_000), over: Duration::from_secs(2), rate: BitRate(rate) };
        let framed = |rate| {
            let load = LoadRate { window, points: vec![point(rate)], packets: vec![1000.0] };
            load.framed_steps(14).rates[0].round() as u64
        };
        assert_eq!(framed(1_000_000), 1_000_000 + 1000 * 14 * 8 / 2);
        assert_eq!(framed(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_window_without_end_gives_a_series_that_has_one() {
        let window = Window { from: TestTime(i64::MIN), to: TestTime(i64::MAX) };
        assert!(RateSeries::in_steps_of(STEP, window, &[]).rates.len() <= MOST as usize);
    }
}

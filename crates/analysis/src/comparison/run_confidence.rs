//! How sure the main figures of one run are, from this run alone: block bootstrap over its scored window.
//!
//! What would differ when the test is run again (another hour, other traffic on the line) is not in it: repetitions
//! show that.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use crate::analysis::Analysis;
use crate::packets::probe_pool::pooled;
use crate::series::DelayPoint;
use crate::statistics::autocorrelation::memory;
use crate::statistics::block_bootstrap::{BlockBootstrap, ConfidenceInterval, block_length};
use crate::statistics::time_bins::TimeBins;

/// Steps in which the memory of delays is looked at.
const STEP: Duration = Duration::from_millis(100);

/// 95 % intervals of figures under load; `None` without such a figure, or with too little of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunConfidence {
    /// Of the sum of goodput down, bit/s.
    pub down: Option<ConfidenceInterval>,
    /// Of the sum of goodput up, bit/s.
    pub up: Option<ConfidenceInterval>,
    /// Of the median round-trip delay of all probes, ns; infinite where it falls on losses.
    pub delay_p50: Option<ConfidenceInterval>,
    /// Of its 95th percentile, ns.
    pub delay_p95: Option<ConfidenceInterval>,
}

impl RunConfidence {
    pub fn from_analysis(run: &Analysis) -> Self {
        let [delay_p50, delay_p95] = delays(run);
        Self { down: rate(run, Direction::Down), up: rate(run, Direction::Up), delay_p50, delay_p95 }
    }

    /// Returns the interval of the sum of goodput in one direction.
    pub fn goodput(&self, direction: Direction) -> Option<ConfidenceInterval> {
        direction.select(self.up, self.down)
    }
}

/// The part of the load that is scored, else all of it.
fn loaded(run: &Analysis, scored: Option<Window>) -> Option<Window> {
    let load = run.test.phases.iter().find(|entry| entry.phase == Phase::Load)?.window;
    Some(scored.map_or(load, |scored| load.intersection(&scored)))
}

fn round_trip(run: &Analysis) -> Delay {
    run.round_trip_delay.pooled.load.as_ref().and_then(|load| load.p50).unwrap_or_default()
}

fn rate(run: &Analysis, direction: Direction) -> Option<ConfidenceInterval> {
    let window = loaded(run, run.scored.direction(direction))?;
    let inside: Vec<_> = run.goodput(direction).sum_series.iter().filter(|point| window.contains(point.at)).collect();
    let rates: Vec<f64> = inside.iter().map(|point| point.rate.0 as f64).collect();
    let step = inside.first()?.over;
    let bootstrap = BlockBootstrap::new(window, block_length(window, round_trip(run), remembered(step, &rates)))?;
    let bits = bootstrap.sums(inside.iter().map(|point| (point.at, point.rate.0 as f64 * point.over.as_secs_f64())));
    let seconds = bootstrap.sums(inside.iter().map(|point| (point.at, point.over.as_secs_f64())));
    bootstrap.interval(|resample| bits.sum(resample) / seconds.sum(resample))
}

fn delays(run: &Analysis) -> [Option<ConfidenceInterval>; 2] {
    let Some(window) = loaded(run, run.scored.common) else { return [None; 2] };
    let pooled = pooled(&run.round_trip_delay.flows);
    let packets = || pooled.iter().flat_map(|entry| &entry.series).filter(|packet| window.contains(packet.at));
    if packets().next().is_none() {
        return [None; 2];
    }
    let block = block_length(window, round_trip(run), remembered(STEP, &means(window, packets())));
    let Some(bootstrap) = BlockBootstrap::new(window, block) else { return [None; 2] };
    let series = bootstrap.percentiles(packets().map(|packet| (packet.at, packet.delay)));
    bootstrap.intervals(|resample| series.percentiles(resample, [500, 950]))
}

/// Mean delay in each step in which some packet was answered.
fn means<'p>(window: Window, packets: impl Iterator<Item = &'p DelayPoint>) -> Vec<f64> {
    let bins = TimeBins::covering(window, STEP);
    let mut sums = vec![(0.0, 0_u32); bins.len()];
    for packet in packets {
        let index = bins.within(Window { from: packet.at, to: TestTime(packet.at.0.saturating_add(1)) }).start;
        if let (Some((sum, count)), Some(delay)) = (sums.get_mut(index), packet.delay) {
            *sum += delay.0 as f64;
            *count += 1;
        }
    }
    sums.into_iter().filter(|(_, count)| *count > 0).map(|(sum, count)| sum / f64::from(count)).collect()
}

/// How long a series remembers.
fn remembered(step: Duration, series: &[f64]) -> Duration {
    // Damaged recordings may hold steps of centuries.
    Duration::try_from_secs_f64(step.as_secs_f64() * memory(series)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use rrul_model::phase::PhaseWindow;
    use rrul_model::units::BitRate;

    use super::*;
    use crate::measured::{Measured, TestDescription};
    use crate::metrics::rate::goodput::{DirectionGoodput, Goodput};
    use crate::series::RatePoint;

    /// A minute of 10 Mbit/s, every second tenth of a second 2 Mbit/s more and the others as much less.
    fn run() -> Analysis {
        let window = Window { from: TestTime(0), to: TestTime(60_000_000_000) };
        let point = |step: i64| RatePoint {
            at: TestTime(step * 100_000_000 + 50_000_000),
            over: STEP,
            rate: BitRate(if step % 2 == 0 { 12_000_000 } else { 8_000_000 }),
        };
        let down = DirectionGoodput { sum_series: (0..600).map(point).collect(), ..DirectionGoodput::default() };
        Analysis {
            measured: Measured {
                test: TestDescription {
                    phases: vec![PhaseWindow { phase: Phase::Load, window }],
                    ..TestDescription::default()
                },
                goodput: Goodput { down, ..Goodput::default() },
                ..Measured::default()
            },
            ..Analysis::default()
        }
    }

    #[test]
    fn a_steady_rate_is_sure_and_what_is_absent_has_no_interval() {
        let confidence = RunConfidence::from_analysis(&run());
        let down = confidence.goodput(Direction::Down).unwrap();
        assert!(down.contains(10e6) && down.high - down.low < 0.4e6, "{down:?}");
        assert_eq!((confidence.up, confidence.delay_p50), (None, None));
        assert_eq!(RunConfidence::from_analysis(&Analysis::default()), RunConfidence::default());
    }

    #[test]
    fn a_rate_that_halves_on_the_way_is_unsure() {
        let mut run = run();
        for point in run.goodput.down.sum_series.iter_mut().skip(300) {
            point.rate = BitRate(point.rate.0 / 2);
        }
        let down = RunConfidence::from_analysis(&run).down.unwrap();
        assert!(down.contains(7.5e6) && down.high - down.low > 1e6, "{down:?}");
    }
}

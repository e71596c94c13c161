//! Whether rate and delay stayed what they were while they were scored.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use serde::Serialize;

use crate::analysis::{Analysis, DelayPoint};
use crate::by_direction::ByDirection;
use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::burst::RateHistory;
use crate::metrics::rate_series::{LoadRate, RateSeries, STEP};
use crate::statistics::autocorrelation::memory;
use crate::statistics::mann_kendall::{Trend, mann_kendall};
use crate::statistics::median::median;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Stationarity",
    path: "stationarity",
    about: "Percentiles and means over a time in which the line changed are of no line that there was. The scored window is \
        held to be stationary when the medians of its halves differ by at most 10 % (delay: or 5 ms), when it has no trend \
        that is both certain (Mann-Kendall, p at most 0.01, on medians of blocks) and larger than that from one end to the \
        other, and when no [rate change](#bursts-and-changes-of-rate) falls into it. Where it is not, look at the halves.\n\n\
        Blocks are as long as 1 s, 4 loaded median round trips, or twice the integrated autocorrelation time, whichever is \
        longest, so that their medians are nearly independent. `null` is unknown: a window of less than 4 s.",
    words: &[
        MetricWord {
            name: "{down,up,round_trip_delay}.stationary",
            about: "whether rate (by arrival) and round-trip delay of the pooled probes were stationary",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "{down,up}.first_half_bps, {down,up}.second_half_bps",
            about: "median rate of either half of the direction's scored window, over steps of 250 ms",
            unit: "bit/s",
            source: "",
        },
        MetricWord {
            name: "round_trip_delay.first_half_ns, round_trip_delay.second_half_ns",
            about: "median delay of either half of the common scored window, of packets that were not lost",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "{down,up}.drift_bps, round_trip_delay.drift_ns",
            about: "what the trend makes from one end of the window to the other: median slope between blocks, times its \
                length; `null` with fewer than ten blocks",
            unit: "bit/s, ns",
            source: "Sen 1968",
        },
        MetricWord {
            name: "{down,up,round_trip_delay}.trend_p",
            about: "how likely blocks without trend would look at least as much like one, two-sided; `null` with fewer than \
                ten blocks",
            unit: "share",
            source: "Mann 1945, Kendall 1975",
        },
        MetricWord {
            name: "{down,up,round_trip_delay}.block_ns, {down,up,round_trip_delay}.blocks",
            about: "length and number of the blocks",
            unit: "ns, count",
            source: "",
        },
    ],
};

/// Shortest block.
const SHORTEST_BLOCK: Duration = Duration::from_secs(1);
/// A block holds this many loaded round trips.
const ROUND_TRIPS: f64 = 4.0;
/// And this many autocorrelation times.
const MEMORIES: f64 = 2.0;
/// Shortest window that is judged.
const SHORTEST: Duration = Duration::from_secs(4);
/// Relative difference of levels that is none.
const MARGIN: f64 = 0.10;
/// Difference of delays that is none.
const DELAY_MARGIN: f64 = 5e6;
/// A trend is certain below this.
const CERTAIN: f64 = 0.01;

/// Whether rate and delay stayed what they were; `None` of what was not loaded or not measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Stationarity {
    /// Rate from server to client.
    pub down: Option<RateStationarity>,
    /// Rate from client to server.
    pub up: Option<RateStationarity>,
    /// Round-trip delay under load.
    pub round_trip_delay: Option<DelayStationarity>,
}

impl Stationarity {
    /// That of the rate of one direction.
    pub fn of(&self, direction: Direction) -> Option<&RateStationarity> {
        match direction {
            Direction::Down => self.down.as_ref(),
            Direction::Up => self.up.as_ref(),
        }
    }

    /// Whether everything that was judged is stationary; `None` when something is not known and nothing is not.
    pub fn whole(&self) -> Option<bool> {
        let rates = [&self.down, &self.up].into_iter().flatten().map(|rate| rate.stationary);
        let all: Vec<Option<bool>> = rates.chain(self.round_trip_delay.map(|delay| delay.stationary)).collect();
        match () {
            () if all.contains(&Some(false)) => Some(false),
            () if all.contains(&None) || all.is_empty() => None,
            () => Some(true),
        }
    }
}

/// Whether the rate of one direction stayed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateStationarity {
    /// Whether it did; `None` when that is not known.
    pub stationary: Option<bool>,
    /// Median of the first half.
    pub first_half_bps: Option<i64>,
    /// Median of the second half.
    pub second_half_bps: Option<i64>,
    /// What the trend makes of the whole window.
    pub drift_bps: Option<i64>,
    /// How likely there is none.
    pub trend_p: Option<f64>,
    /// Length of a block.
    pub block_ns: i64,
    /// How many.
    pub blocks: u64,
}

/// Whether delay stayed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayStationarity {
    /// Whether it did; `None` when that is not known.
    pub stationary: Option<bool>,
    /// Median of the first half.
    pub first_half_ns: Option<i64>,
    /// Median of the second half.
    pub second_half_ns: Option<i64>,
    /// What the trend makes of the whole window.
    pub drift_ns: Option<i64>,
    /// How likely there is none.
    pub trend_p: Option<f64>,
    /// Length of a block.
    pub block_ns: i64,
    /// How many.
    pub blocks: u64,
}

/// Most blocks; a longer window is looked at in longer ones.
const MOST_BLOCKS: u128 = 20_000;

/// Whether rate and delay stayed; `packets` are the pooled probes in the order of time.
pub(crate) fn stationarity(
    analysis: &Analysis,
    rates: &ByDirection<Option<LoadRate>>,
    packets: &[DelayPoint],
) -> Stationarity {
    let round_trip = analysis.round_trip_delay.load.and_then(|load| load.p50);
    let rate = |direction| {
        let (scored, rate) = (analysis.scored.of(direction)?, rates.of(direction).as_ref()?);
        Some(RateStationarity::of(scored, &rate.steps(), analysis.bursts.of(direction)?, round_trip))
    };
    let delays: Vec<_> = packets.iter().filter_map(|packet| Some((packet.at, packet.delay?))).collect();
    let delay = analysis.scored.common.filter(|_| !delays.is_empty());
    Stationarity {
        down: rate(Direction::Down),
        up: rate(Direction::Up),
        round_trip_delay: delay.map(|scored| DelayStationarity::of(scored, &delays, round_trip)),
    }
}

/// The same of any series.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Judged {
    stationary: Option<bool>,
    halves: Option<(f64, f64)>,
    trend: Option<(Trend, f64)>,
    block: Duration,
    blocks: usize,
}

impl RateStationarity {
    /// Of a direction's rate in `scored`; a change of its history within that is none of a stationary line.
    fn of(scored: Window, series: &RateSeries, history: &RateHistory, round_trip: Option<Delay>) -> Self {
        let values =
            || series.rates.iter().enumerate().map(|(index, rate)| (series.at(index) + series.step / 2, *rate));
        let judged = judge(scored, values, round_trip, 0.0);
        let changed = history.rate_changes.iter().any(|change| scored.contains(change.at_ns));
        let whole = |value: f64| value.round() as i64;
        Self {
            stationary: judged.stationary.map(|stationary| stationary && !changed),
            first_half_bps: judged.halves.map(|(first, _)| whole(first)),
            second_half_bps: judged.halves.map(|(_, second)| whole(second)),
            drift_bps: judged.trend.map(|(_, drift)| whole(drift)),
            trend_p: judged.trend.map(|(trend, _)| trend.p),
            block_ns: Delay::from(judged.block).0,
            blocks: judged.blocks as u64,
        }
    }
}

impl DelayStationarity {
    /// Of these delays, in the order of time, in `scored`.
    fn of(scored: Window, delays: &[(TestTime, Delay)], round_trip: Option<Delay>) -> Self {
        let values = || delays.iter().map(|(at, delay)| (*at, delay.0 as f64));
        let judged = judge(scored, values, round_trip, DELAY_MARGIN);
        let whole = |value: f64| value.round() as i64;
        Self {
            stationary: judged.stationary,
            first_half_ns: judged.halves.map(|(first, _)| whole(first)),
            second_half_ns: judged.halves.map(|(_, second)| whole(second)),
            drift_ns: judged.trend.map(|(_, drift)| whole(drift)),
            trend_p: judged.trend.map(|(trend, _)| trend.p),
            block_ns: Delay::from(judged.block).0,
            blocks: judged.blocks as u64,
        }
    }
}

/// Judges values in the order of time.
fn judge<I: Iterator<Item = (TestTime, f64)>>(
    window: Window,
    values: impl Fn() -> I,
    round_trip: Option<Delay>,
    least_margin: f64,
) -> Judged {
    let medians = |length: Duration| -> Vec<f64> {
        let mut blocks: Vec<Vec<f64>> = Vec::new();
        let width = length.as_nanos().max(window.length().as_nanos() / MOST_BLOCKS).max(1);
        let whole = (window.length().as_nanos() / width) as usize;
        blocks.resize_with(whole, Vec::new);
        for (at, value) in values().filter(|(at, _)| window.contains(*at)) {
            let index = u128::from(at.since(window.from).0.cast_unsigned()) / width;
            if let Some(block) = blocks.get_mut(index as usize) {
                block.push(value);
            }
        }
        blocks.iter().filter(|block| !block.is_empty()).map(|block| median(block)).collect()
    };
    let memory = STEP.mul_f64(MEMORIES * memory(&medians(STEP)));
    let round_trips = Duration::from_nanos((round_trip.unwrap_or_default().0.max(0) as f64 * ROUND_TRIPS) as u64);
    let block = SHORTEST_BLOCK.max(memory).max(round_trips);
    let blocks = medians(block);
    let halves: Option<Vec<f64>> = (window.length() >= SHORTEST).then(|| medians(window.length() / 2));
    let halves = halves.and_then(|halves| Some((*halves.first()?, *halves.get(1)?)));
    let trend = mann_kendall(&blocks).map(|trend| (trend, trend.slope * blocks.len() as f64));
    let stationary = halves.map(|(first, second)| {
        let margin = (f64::midpoint(first, second).abs() * MARGIN).max(least_margin);
        let drifts = trend.is_some_and(|(trend, drift)| trend.p <= CERTAIN && drift.abs() > margin);
        (first - second).abs() <= margin && !drifts
    });
    Judged { stationary, halves, trend, block, blocks: blocks.len() }
}

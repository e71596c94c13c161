//! Burst allowances of providers ("PowerBoost"), and other changes of a line's rate while it was loaded.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::rate::rate_series::RateSeries;
use crate::statistics::change_point::{LevelShift, level_shift, level_shifts};
use crate::statistics::median::{RunningMedian, median_filtered};

const SHORTEST_BURST: Duration = Duration::from_secs(2);
/// Shortest stretch behind it.
const SHORTEST_REST: Duration = Duration::from_secs(10);
/// Shortest stretch on either side of a rate change.
const SHORTEST_LEVEL: Duration = Duration::from_secs(5);
/// A burst is over after this part of the load; a later drop is a change of rate.
const LONGEST_PART: f64 = 1.0 / 3.0;
/// How much higher one level is than the other.
const LEAST_FACTOR: f64 = 1.10;
/// The load has ramped up at this share of what follows.
const RAMPED: f64 = 0.90;
/// The filter takes this many steps to either side.
const REACH: usize = 2;

/// What the rate of each direction did under load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Bursts {
    /// Server to client. Null where nothing was to load.
    pub down: Option<RateHistory>,
    /// Client to server. Null where nothing was to load.
    pub up: Option<RateHistory>,
}

impl Bursts {
    pub fn direction(&self, direction: Direction) -> Option<&RateHistory> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// What the rate of one direction did under load.
///
/// Some providers allow a higher rate for the first seconds, until a token bucket is empty. Figures of that time are
/// not those of the line. They are left out of the [scored window](#scored-window).
///
/// The rate in steps of 250 ms is smoothed by a median over 1.25 s. The line has *ramped* at the first step that
/// reaches 90 % of the median of what follows. From there on, the best split into two levels (least sum of absolute
/// deviations) is a **burst** under four conditions. The first level lasted at least 2 s and at most a third of the
/// load. Its median is at least 1.10 times that of the second. The second lasted at least 10 s. Less than 5 % of the
/// second level lies above the middle between the two, so that the sawtooth of congestion control is no burst. Any
/// other change of level is a **rate change**: later, upward, or followed by a return. Only changes between stretches
/// of steady rate are reported. Two other causes look the same by rate alone: a wireless link that changes its rate in
/// its first seconds, and losses that keep streams below their first rate.
///
/// A burst shorter than 2 s or longer than a third of the load is not recognized. The error of its end is
/// about 0.5 s.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(title = "Bursts and changes of rate")]
pub struct RateHistory {
    /// Whether the load was long enough (12 s) to look for a burst.
    pub searched: bool,
    /// Time from the beginning of the load until the rate reached 90 % of the median of what follows. `null` if no byte
    /// arrived.
    pub ramp_ns: Option<i64>,
    /// The burst at the beginning of the load. Null if none was found.
    pub burst: Option<Burst>,
    /// Other changes of the rate, in order of time.
    pub rate_changes: Vec<RateChange>,
}

/// A rate at the beginning of the load that the line did not sustain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Burst {
    /// From the beginning of the load to the end of the burst. `burst` is `null` if none was found.
    ///
    /// Source: spec, Test Requirements.
    pub duration_ns: i64,
    /// That end, in test time.
    pub ended_ns: TestTime,
    /// Median rate in the burst.
    pub peak_bps: u64,
    /// Median rate after the burst.
    pub sustained_bps: u64,
    /// Bytes above the sustained rate in the burst, (peak - sustained) x duration: the size of the token bucket.
    ///
    /// Source: RFC 2697 (committed burst size).
    pub octets: u64,
}

/// A change of the rate to another level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RateChange {
    /// When the rate changed, in test time.
    pub at_ns: TestTime,
    /// Median rate of the stretch before. Both stretches are at least 5 s long, and their rates differ by at least
    /// 10 %.
    pub before_bps: u64,
    /// Median rate of the stretch after.
    pub after_bps: u64,
}

/// What the rate did from the beginning of `series` to its end.
pub(crate) fn rate_history(series: &RateSeries) -> RateHistory {
    let rates = median_filtered(&series.rates, REACH);
    let mut history = RateHistory {
        searched: rates.len() >= series.steps(SHORTEST_BURST) + series.steps(SHORTEST_REST),
        ..RateHistory::default()
    };
    let Some(ramp) = ramp(&rates) else { return history };
    history.ramp_ns = Some(series.at(ramp).since(series.from).0);
    let settled = &rates[ramp..];
    let split = burst(series, settled);
    let rest = split.map_or(ramp, |split| ramp + split.at);
    let shifts = level_shifts(&rates[rest..], series.steps(SHORTEST_LEVEL));
    let is_distinct =
        |shift: &LevelShift| shift.before.max(shift.after) >= LEAST_FACTOR * shift.before.min(shift.after);
    let mut changes: Vec<RateChange> =
        shifts.into_iter().filter(is_distinct).map(|shift| change(series, rest, shift)).collect();
    if let Some(split) = split {
        if changes.iter().any(|change| change.after_bps > change.before_bps) {
            // It came back: no bucket that was empty.
            changes.insert(0, change(series, ramp, split));
        } else {
            history.burst = Some(allowance(series, rest, split));
        }
    }
    history.rate_changes = changes;
    history
}

/// The first step that reaches [`RAMPED`] of the median of what follows; `None` when all is zero.
fn ramp(rates: &[f64]) -> Option<usize> {
    let mut following = RunningMedian::default();
    let mut first = None;
    for (index, rate) in rates.iter().enumerate().rev() {
        following.push(*rate);
        if *rate > 0.0 && *rate >= RAMPED * following.median() {
            first = Some(index);
        }
    }
    first
}

/// A first level that was not kept.
fn burst(series: &RateSeries, settled: &[f64]) -> Option<LevelShift> {
    let split = level_shift(settled, series.steps(SHORTEST_BURST), series.steps(SHORTEST_REST))?;
    let early = split.at as f64 <= series.rates.len() as f64 * LONGEST_PART;
    (early && split.before >= LEAST_FACTOR * split.after).then_some(split)
}

fn change(series: &RateSeries, from: usize, split: LevelShift) -> RateChange {
    RateChange { at_ns: series.at(from + split.at), before_bps: split.before as u64, after_bps: split.after as u64 }
}

fn allowance(series: &RateSeries, end: usize, split: LevelShift) -> Burst {
    let above = series.rates[..end].iter().map(|rate| (rate - split.after).max(0.0)).sum::<f64>();
    Burst {
        duration_ns: series.at(end).since(series.from).0,
        ended_ns: series.at(end),
        peak_bps: split.before as u64,
        sustained_bps: split.after as u64,
        octets: (above * series.step.as_secs_f64() / 8.0) as u64,
    }
}

#[cfg(test)]
#[path = "burst_tests.rs"]
mod tests;

//! Two runs over one line at the same time: how they shared it, how soon, and how the first came back when it was alone
//! again (spec gallery: two RRUL tests, the second 30 s after the first).
//!
//! Both runs' clocks are the client host's; that they can be laid upon each other is checked. All times are on the clock
//! of the run whose load began first.

use std::time::Duration;

use rrul_model::calendar::unix_seconds;
use rrul_model::flow::Direction;
use rrul_model::flow_kind::FlowKind;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, Delay};

use crate::Analysis;
use crate::series::RatePoint;
use crate::statistics::jain_index::{JainStatistics, jain_index};
use crate::statistics::percentile::{DelayStatistics, percentile};

/// What rates are compared in.
const BIN: i64 = 1_000_000_000;
/// Shorter than that, nothing is reported of two loads side by side.
const LEAST_OVERLAP: Duration = Duration::from_secs(5);
/// The beginning of the first load, in which it is still growing.
const GROWING: Duration = Duration::from_secs(5);
/// From this index on, two loads share evenly: of two, the smaller has 38 % at least.
pub const EVEN: f64 = 0.95;
/// So many seconds in a row must be even.
pub const EVEN_FOR: usize = 5;
/// From this part of its rate on, the first has come back.
pub const BACK: f64 = 0.9;
/// So many seconds in a row must be.
pub const BACK_FOR: usize = 3;
/// How far the distance of the two starts may differ by the two clocks, seconds: over a full queue it takes long to connect.
const CLOCKS_AGREE: i64 = 60;

/// The clock of the client host, on which T0 was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientClock {
    pub host: String,
    /// T0 on its clock that never steps, nanoseconds.
    pub origin: i64,
}

/// Two loads that met.
#[derive(Debug, Clone, PartialEq)]
pub struct Competition {
    /// From the first run's T0 to the second's.
    pub offset: Delay,
    pub together: Window,
    /// Each direction that both load.
    pub directions: Vec<DirectionCompetition>,
    /// Round trips of the first run's probes while it was alone before, while both ran, and while it was alone after.
    pub delays: [Option<DelayStatistics>; 3],
}

#[derive(Debug, Clone, PartialEq)]
pub struct DirectionCompetition {
    pub direction: Direction,
    /// Median of the first's rate over the seconds in which it was alone before; `None` without any.
    pub alone: Option<BitRate>,
    /// Mean rates of the first and of the second while both ran.
    pub rates: [BitRate; 2],
    /// Jain's index of the two, second by second, while both ran.
    pub jain: JainStatistics,
    /// From the beginning of the second's load until the first of five seconds in a row whose index is at least 0.95.
    pub convergence: Option<Delay>,
    /// From the end of the second's load until the first of three seconds in a row in which the first has nine tenths of
    /// what it had alone.
    pub recovery: Option<Delay>,
}

/// Why two runs are no competition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCompetition {
    Clocks,
    NoOverlap,
    NoDirection,
}

impl std::fmt::Display for NoCompetition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Clocks => {
                "the two runs were not made on one host, or their clocks disagree, so their overlap is unknown"
            }
            Self::NoOverlap => "the loads of the two runs did not run at the same time for 5 s",
            Self::NoDirection => "no direction is loaded by both runs",
        })
    }
}

impl std::error::Error for NoCompetition {}

impl Competition {
    /// What became of two runs, in either order; which of them began first comes with it.
    ///
    /// # Errors
    /// When they did not meet, or that cannot be known.
    pub fn measure(runs: [&Analysis; 2]) -> Result<(Self, [&Analysis; 2]), NoCompetition> {
        let load = |run: &Analysis| {
            let phase = run.test.phases.iter().find(|entry| entry.phase == Phase::Load);
            phase.map(|entry| entry.window).ok_or(NoCompetition::NoOverlap)
        };
        let distance = distance(runs)?;
        let begins_first = load(runs[0])?.from.0 <= load(runs[1])?.from.0.saturating_add(distance);
        let (runs, offset) = if begins_first { (runs, distance) } else { ([runs[1], runs[0]], -distance) };
        let own = load(runs[0])?;
        let other = shifted(load(runs[1])?, offset);
        let together = own.intersection(&other);
        if together.length() < LEAST_OVERLAP {
            return Err(NoCompetition::NoOverlap);
        }
        let growing = GROWING.min(Window { from: own.from, to: other.from }.length() / 2);
        let before = Window { from: own.from + growing, to: together.from };
        let after = Window { from: together.to, to: own.to };
        let of = |direction| {
            let rates = [0, 1].map(|place| runs[place].goodput(direction).sum_series.as_slice());
            let both = rates.iter().all(|series| !series.is_empty());
            both.then(|| DirectionCompetition::measure(direction, rates, offset, [before, together, after])).flatten()
        };
        let directions: Vec<_> = Direction::ALL.into_iter().filter_map(of).collect();
        if directions.is_empty() {
            return Err(NoCompetition::NoDirection);
        }
        let delays = [before, together, after].map(|window| delays(runs[0], window));
        Ok((Self { offset: Delay(offset), together, directions, delays }, runs))
    }
}

/// From the T0 of the first to that of the second, nanoseconds, by the host's clock that never steps.
fn distance(runs: [&Analysis; 2]) -> Result<i64, NoCompetition> {
    let [Some(first), Some(second)] = runs.map(|run| run.test.client_clock.as_ref()) else {
        return Err(NoCompetition::Clocks);
    };
    let apart = second.origin.checked_sub(first.origin).ok_or(NoCompetition::Clocks)?;
    let [Some(one), Some(two)] = runs.map(|run| unix_seconds(&run.test.created)) else {
        return Err(NoCompetition::Clocks);
    };
    // That clock begins anew with each boot; the wall-clock time shows whether it is the same one.
    let fits = (apart / BIN - (two - one)).abs() <= CLOCKS_AGREE;
    if fits && first.host == second.host { Ok(apart) } else { Err(NoCompetition::Clocks) }
}

fn shifted(window: Window, by: i64) -> Window {
    let shift = |at: TestTime| TestTime(at.0.saturating_add(by));
    Window { from: shift(window.from), to: shift(window.to) }
}

fn delays(run: &Analysis, window: Window) -> Option<DelayStatistics> {
    let probes = run.round_trip_delay.flows.iter().filter(|flow| flow.flow.kind() == FlowKind::UdpProbe);
    let points = || probes.clone().flat_map(|flow| &flow.series).filter(|point| window.contains(point.at));
    let lost = points().filter(|point| point.delay.is_none()).count() as u64;
    DelayStatistics::from_delays(points().filter_map(|point| point.delay).collect(), lost)
}

impl DirectionCompetition {
    fn measure(direction: Direction, rates: [&[RatePoint]; 2], offset: i64, windows: [Window; 3]) -> Option<Self> {
        let [before, together, after] = windows;
        let [first, second] = [seconds(rates[0], 0, together), seconds(rates[1], offset, together)];
        let jain = JainStatistics::from_rates(&[first.clone(), second.clone()])?;
        let mean = |rates: &[f64]| BitRate((rates.iter().sum::<f64>() / rates.len() as f64).round() as u64);
        let mut own: Vec<u64> = seconds(rates[0], 0, before).into_iter().map(|rate| rate.round() as u64).collect();
        own.sort_unstable();
        let alone = percentile(&own, 0, 500).map(BitRate);
        let even: Vec<bool> = first
            .iter()
            .zip(&second)
            .map(|(own, other)| jain_index(&[*own, *other]).is_some_and(|index| index >= EVEN))
            .collect();
        let back = |alone: BitRate| -> Vec<bool> {
            seconds(rates[0], 0, after).into_iter().map(|rate| rate >= BACK * alone.0 as f64).collect()
        };
        Some(Self {
            direction,
            alone,
            rates: [mean(&first), mean(&second)],
            jain,
            convergence: first_of(&even, EVEN_FOR),
            recovery: alone.and_then(|alone| first_of(&back(alone), BACK_FOR)),
        })
    }
}

/// Mean rate in each whole second of the window, bit/s, of a series that begins `shift` later.
fn seconds(series: &[RatePoint], shift: i64, window: Window) -> Vec<f64> {
    let count = usize::try_from(window.to.0.saturating_sub(window.from.0) / BIN).unwrap_or(0);
    let mut bits = vec![0.0; count];
    let end = count as f64;
    for point in series {
        let over = point.over.as_secs_f64();
        let middle = (point.at.0.saturating_add(shift).saturating_sub(window.from.0)) as f64 / BIN as f64;
        let (from, to) = ((middle - over / 2.0).max(0.0), (middle + over / 2.0).min(end));
        let mut at = from;
        while at < to {
            let second = at.floor();
            let until = to.min(second + 1.0);
            bits[(second as usize).min(count - 1)] += point.rate.0 as f64 * (until - at);
            at = until;
        }
    }
    bits
}

/// The time until the first of so many in a row.
fn first_of(seconds: &[bool], in_a_row: usize) -> Option<Delay> {
    let place = seconds.windows(in_a_row).position(|row| row.iter().all(|good| *good))?;
    Some(Delay(place as i64 * BIN))
}

#[cfg(test)]
#[path = "competition_tests.rs"]
mod tests;

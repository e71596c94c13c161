//! Whether rate and delay stayed what they were while they were scored.

use crate::metrics::delay::queueing::Queueing;
use crate::metrics::rate::burst::Bursts;
use crate::metrics::rate::scored_window::ScoredWindow;
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::metrics::rate::burst::{RateChange, RateHistory, rate_history};
use crate::metrics::rate::rate_series::{LoadRate, RateSeries, STEP};
use crate::metrics::rate::saturation::{Saturations, least_queueing};
use crate::metrics::tcp::tcp_round_trip::TcpRoundTrip;
use crate::statistics::autocorrelation::memory;
use crate::statistics::change_point::{LevelShift, level_shifts};
use crate::statistics::mann_kendall::{Trend, mann_kendall};
use crate::statistics::median::{median, median_filtered};
use crate::statistics::percentile::percentile;

const SHORTEST_BLOCK: Duration = Duration::from_secs(1);
/// A block lasts this many loaded round trips.
const ROUND_TRIPS: f64 = 4.0;
/// And this many autocorrelation times.
const MEMORIES: f64 = 2.0;
/// Shortest window that is judged.
const SHORTEST: Duration = Duration::from_secs(4);
/// Bytes that links put around each packet: Ethernet, with preamble and gap, DSL with ATM.
///
/// A link has a constant rate of frames, and one of IP packets only while these are of one size. An upload that
/// carries the acknowledgments of a faster download has a tenth less of it, once these come, by Ethernet's headers alone.
const FRAMINGS: [u32; 3] = [14, 24, 44];
/// Relative difference of levels that is none.
const MARGIN: f64 = 0.10;
/// Difference of delays that is none.
const DELAY_MARGIN: f64 = 5e6;
/// A trend is certain below this.
const CERTAIN: f64 = 0.01;
/// Standard errors by which halves differ that are not of one level.
const ERRORS: f64 = 3.0;
/// Of a step whose packets wait, this many in a thousand may not.
const WAITING: u16 = 100;
/// A reading of a stream is valid for this long where no later one was taken.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);
/// Fewest steps with a queue from which a half's rate is known.
const FEWEST_QUEUED: usize = 6;
/// Shortest stretch on either side of a change of rate, of steps with a queue.
const SHORTEST_LEVEL: Duration = Duration::from_secs(2);
/// The filter takes this many steps to either side.
const REACH: usize = 2;

/// Whether rate and delay were stationary.
///
/// Percentiles and means over a time in which the line changed describe neither state. The scored window is stationary
/// unless one of three conditions is met. The medians of its halves differ by more than 10 % (delay: and 5 ms) and by more
/// than three standard errors, of as many independent steps as autocorrelation leaves. Or it has a trend that is
/// certain (Mann-Kendall, p at most 0.01, on medians of blocks) and as large from one end to the other. Or it contains
/// a rate change. If it is not stationary, use the figures of the halves.
///
/// **Rate** is what the link carried in steps of 250 ms, acknowledgments and probes included. A step has a queue when
/// nine in ten packets waited: it shows the rate of the line. A step without one only shows what the senders sent,
/// which TCP's own sawtooth changes on any line. If both halves have 1.5 s or more of steps with a queue, only these
/// are judged, and a change of 10 % between stretches of 2 s or more is a rate change. If the half with the lower rate
/// has no queue and the other has one, `stationary` is `null`. A link has a constant rate of frames, not of IP packets:
/// a rate that is constant with 14, 24 or 44 bytes of framing added to each packet is stationary. If probes meet no
/// queue (flow queueing) or queueing delay is unknown, and the direction was saturated, a step has a queue when the
/// smoothed round trip of a stream of the load is above its minimum. Otherwise all steps are judged, and [rate
/// changes](#bursts-and-changes-of-rate) count.
///
/// Blocks are as long as 1 s, 4 loaded median round trips, or twice the integrated autocorrelation time, whichever is
/// longest, so that their medians are nearly independent. `null` is unknown: a window of less than 4 s.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Stationarity")]
pub struct Stationarity {
    /// The rate from server to client. Null where nothing was to load.
    pub down: Option<RateStationarity>,
    /// The rate from client to server. Null where nothing was to load.
    pub up: Option<RateStationarity>,
    /// The round-trip delay of the pooled probes under load. Null without probes or load.
    pub round_trip_delay: Option<DelayStationarity>,
}

impl Stationarity {
    pub fn direction(&self, direction: Direction) -> Option<&RateStationarity> {
        direction.select(self.up.as_ref(), self.down.as_ref())
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

/// Whether the rate of one direction was stationary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RateStationarity {
    /// Whether the rate (by arrival) was stationary. Null when that is not known.
    pub stationary: Option<bool>,
    /// Median rate of the first half of the direction's scored window, over the steps that are judged.
    pub first_half_bps: Option<i64>,
    /// Median rate of the second half.
    pub second_half_bps: Option<i64>,
    /// Change over the window by the trend: median slope between blocks, times the length of the window. Null with
    /// fewer than ten blocks.
    ///
    /// Source: Sen 1968.
    pub drift_bps: Option<i64>,
    /// Two-sided p-value of the trend test: probability of a trend at least this strong without one. Null with fewer
    /// than ten blocks.
    ///
    /// Unit: share. Source: Mann 1945, Kendall 1975.
    pub trend_p: Option<f64>,
    /// Length of a block.
    pub block_ns: i64,
    /// Number of blocks.
    ///
    /// Unit: count.
    pub blocks: u64,
    /// Share of the steps in which nine in ten packets waited. Null when the queueing delay is unknown.
    ///
    /// Unit: share.
    pub queued_share: Option<f64>,
    /// The largest rate change within the scored window. Null without one.
    pub change: Option<RateChange>,
}

/// Whether the round-trip delay was stationary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DelayStationarity {
    /// Whether the round-trip delay was stationary. Null when that is not known.
    pub stationary: Option<bool>,
    /// Median delay of the first half of the common scored window, of packets that were not lost.
    pub first_half_ns: Option<i64>,
    /// Median delay of the second half.
    pub second_half_ns: Option<i64>,
    /// Change over the window by the trend: median slope between blocks, times the length of the window. Null with
    /// fewer than ten blocks.
    ///
    /// Source: Sen 1968.
    pub drift_ns: Option<i64>,
    /// Two-sided p-value of the trend test: probability of a trend at least this strong without one. Null with fewer
    /// than ten blocks.
    ///
    /// Unit: share. Source: Mann 1945, Kendall 1975.
    pub trend_p: Option<f64>,
    /// Length of a block.
    pub block_ns: i64,
    /// Number of blocks.
    ///
    /// Unit: count.
    pub blocks: u64,
}

/// Most blocks; a longer window is looked at in longer ones.
const MOST_BLOCKS: u128 = 20_000;

/// Whether rate and delay stayed.
pub(crate) fn stationarity(
    queueing: Queueing<'_>,
    windows: &ScoredWindow,
    bursts: &Bursts,
    tcp: &[TcpRoundTrip],
    saturation: &Saturations,
    rates: &ByDirection<Option<LoadRate>>,
) -> Stationarity {
    let round_trip = queueing.round_trip.load.and_then(|load| load.p50);
    let rate = |direction| {
        let (scored, rate) = (windows.direction(direction)?, rates.get(direction).as_ref()?);
        let probes = queueing.waits(direction, rates.get(direction.opposite()).is_none());
        // Acknowledgments that wait in the other direction's queue make round trips longer, too: only where this
        // direction is known to have been full do its streams' round trips show its queue.
        let full = saturation.direction(direction).is_some_and(|saturation| saturation.saturated == Some(true));
        let streams = if full { own_waits(tcp, direction) } else { Vec::new() };
        let queueing = &Waits { probes, streams };
        let history = bursts.direction(direction)?;
        let bare = RateStationarity::judge(scored, &rate.steps(), history, round_trip, queueing);
        let constant = |framing: &u32| {
            let steps = rate.framed_steps(*framing);
            let history = rate_history(&steps);
            RateStationarity::judge(scored, &steps, &history, round_trip, queueing).stationary == Some(true)
        };
        let stationary = bare.stationary.map(|stationary| stationary || FRAMINGS.iter().any(constant));
        Some(RateStationarity { stationary, change: bare.change.filter(|_| stationary != Some(true)), ..bare })
    };
    let delays: Vec<_> = queueing.packets.iter().filter_map(|packet| Some((packet.at, packet.delay?))).collect();
    let delay = windows.common.filter(|_| !delays.is_empty());
    Stationarity {
        down: rate(Direction::Down),
        up: rate(Direction::Up),
        round_trip_delay: delay.map(|scored| DelayStationarity::judge(scored, &delays, round_trip)),
    }
}

/// How long packets waited in one direction, in the order of time.
struct Waits {
    /// Probes; `None` when not known.
    probes: Option<Vec<(TestTime, Delay)>>,
    /// The streams of the load.
    streams: Vec<(TestTime, Delay)>,
}

/// How much longer than its least each round trip of the streams of one direction was, as their kernels say.
fn own_waits(tcp: &[TcpRoundTrip], direction: Direction) -> Vec<(TestTime, Delay)> {
    let streams = tcp.iter().filter(|stream| stream.flow.direction == Some(direction));
    let of_stream = |stream: &TcpRoundTrip| {
        let least = stream.min_rtt_ns.map(Delay);
        let points = stream.series.iter();
        points.filter_map(|point| Some((point.at, point.delay? - least?))).collect::<Vec<_>>()
    };
    let mut waits: Vec<_> = streams.flat_map(of_stream).collect();
    waits.sort_unstable_by_key(|(at, _)| *at);
    waits
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

/// Steps of the rate within the scored window.
struct Steps {
    /// The middle of each, and its rate.
    rates: Vec<(TestTime, f64)>,
    /// Whether probes waited in it; `None` when unknown.
    queued: Option<Vec<bool>>,
    /// Whether a stream of the load waited in it.
    own_queued: Vec<bool>,
}

impl Steps {
    fn new(scored: Window, series: &RateSeries, waits: &Waits) -> Self {
        let middle = |index| series.at(index) + series.step / 2;
        let inside = series.rates.iter().enumerate().map(|(index, rate)| (middle(index), *rate));
        let rates: Vec<(TestTime, f64)> = inside.filter(|(at, _)| scored.contains(*at)).collect();
        let least = least_queueing(median(&rates.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>()));
        let within = |delays: &[(TestTime, Delay)], at: TestTime| -> Vec<Delay> {
            let from = delays.partition_point(|(sent, _)| *sent < at - series.step / 2);
            let to = delays.partition_point(|(sent, _)| *sent < at + series.step / 2);
            delays[from..to.max(from)].iter().map(|(_, delay)| *delay).collect()
        };
        let probes_wait = |delays: &[(TestTime, Delay)], at| {
            let mut delays = within(delays, at);
            delays.sort_unstable();
            percentile(&delays, 0, WAITING).is_some_and(|delay| delay >= least)
        };
        // A link that has a packet of any stream to send is busy. Streams may be read less often than once a step.
        let stream_waits = |at: TestTime| {
            let mut from = at - series.step / 2;
            let to = at + series.step / 2;
            let read = |from: TestTime| waits.streams.partition_point(|(read, _)| *read < from);
            if let Some((last, _)) = waits.streams[..read(to)].last() {
                from = from.min((*last).max(to - LONGEST_INTERVAL));
            }
            let longest = waits.streams[read(from)..read(to)].iter().map(|(_, delay)| *delay).max();
            longest.is_some_and(|delay| delay >= least)
        };
        let each = |waits: &dyn Fn(TestTime) -> bool| rates.iter().map(|(at, _)| waits(*at)).collect();
        let queued = waits.probes.as_ref().map(|probes| each(&|at| probes_wait(probes, at)));
        let own_queued = each(&stream_waits);
        Self { rates, queued, own_queued }
    }

    /// Those that are judged, whether they are the ones with a queue, and whether that is conclusive: where the half
    /// with the lower rate had no queue and the other had one, senders gave less, and the line is unknown.
    fn judged(&self, scored: Window) -> Judgeable {
        let all = |conclusive| Judgeable { rates: self.rates.clone(), full: false, conclusive };
        let middle = scored.from + scored.length() / 2;
        let half = |queued: &[bool], second: bool| {
            let ours = self.rates.iter().zip(queued).filter(|((at, _), _)| (*at >= middle) == second);
            let rates: Vec<f64> = ours.clone().map(|((_, rate), _)| *rate).collect();
            (ours.filter(|(_, queued)| **queued).count(), median(&rates))
        };
        let full = |queued: &[bool]| {
            let full = self.rates.iter().zip(queued).filter(|(_, queued)| **queued).map(|(step, _)| *step);
            Judgeable { rates: full.collect(), full: true, conclusive: true }
        };
        if let Some(queued) = &self.queued {
            let [(first, before), (second, after)] = [false, true].map(|part| half(queued, part));
            match (first >= FEWEST_QUEUED, second >= FEWEST_QUEUED) {
                (true, true) => return full(queued),
                (true, false) => return all(after >= before),
                (false, true) => return all(before >= after),
                (false, false) => {}
            }
        }
        // Probes meet no queue where each flow has its own; the streams of the load know theirs.
        let own = [false, true].map(|part| half(&self.own_queued, part).0);
        if own.iter().all(|count| *count >= FEWEST_QUEUED) {
            return full(&self.own_queued);
        }
        all(!self.queued.as_ref().is_some_and(|queued| queued.contains(&true)))
    }
}

/// The steps that are judged.
struct Judgeable {
    rates: Vec<(TestTime, f64)>,
    full: bool,
    conclusive: bool,
}

impl RateStationarity {
    /// Judges a direction's rate in `scored`; a change of its history within that window makes it not stationary.
    fn judge(
        scored: Window,
        series: &RateSeries,
        history: &RateHistory,
        round_trip: Option<Delay>,
        queueing: &Waits,
    ) -> Self {
        let steps = Steps::new(scored, series, queueing);
        let Judgeable { rates, full, conclusive } = steps.judged(scored);
        let judged = judge(scored, || rates.iter().copied(), round_trip, 0.0);
        let size = |change: &RateChange| change.before_bps.abs_diff(change.after_bps);
        let change = if full {
            changes_while_full(&rates, series.steps(SHORTEST_LEVEL)).into_iter().max_by_key(size)
        } else {
            let inside = history.rate_changes.iter().filter(|change| scored.contains(change.at_ns));
            inside.copied().max_by_key(size)
        };
        let whole = |value: f64| value.round() as i64;
        let count = |queued: &Vec<bool>| queued.iter().filter(|queued| **queued).count() as f64 / queued.len() as f64;
        Self {
            stationary: judged.stationary.map(|stationary| stationary && change.is_none()).filter(|_| conclusive),
            first_half_bps: judged.halves.map(|(first, _)| whole(first)),
            second_half_bps: judged.halves.map(|(_, second)| whole(second)),
            drift_bps: judged.trend.map(|(_, drift)| whole(drift)),
            trend_p: judged.trend.map(|(trend, _)| trend.p),
            block_ns: Delay::from(judged.block).0,
            blocks: judged.blocks as u64,
            queued_share: steps.queued.as_ref().filter(|queued| !queued.is_empty()).map(count),
            change,
        }
    }
}

/// Changes of the rate of a line that was full: between two levels, or to another level and back.
fn changes_while_full(rates: &[(TestTime, f64)], least: usize) -> Vec<RateChange> {
    let smooth = median_filtered(&rates.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>(), REACH);
    let differ = |one: f64, other: f64| (one - other).abs() > MARGIN * one.max(other);
    let shifts = level_shifts(&smooth, least).into_iter().filter(|shift| differ(shift.before, shift.after));
    let change = |shift: LevelShift| {
        let at_ns = rates.get(shift.at)?.0;
        Some(RateChange { at_ns, before_bps: shift.before as u64, after_bps: shift.after as u64 })
    };
    let level = median(&smooth);
    // 1 above the level of the whole, -1 below, 0 near it.
    let side = |rate: f64| if differ(rate, level) { (rate - level).signum() } else { 0.0 };
    let mut at = 0;
    let stretches = smooth.chunk_by(|one, other| side(*one).total_cmp(&side(*other)).is_eq()).filter_map(|stretch| {
        let begun = at;
        at += stretch.len();
        let away = stretch.first().is_some_and(|rate| side(*rate) != 0.0);
        (away && stretch.len() >= least).then(|| LevelShift { at: begun, before: level, after: median(stretch) })
    });
    shifts.chain(stretches.collect::<Vec<LevelShift>>()).filter_map(change).collect()
}

impl DelayStationarity {
    /// Judges these delays, in the order of time, in `scored`.
    fn judge(scored: Window, delays: &[(TestTime, Delay)], round_trip: Option<Delay>) -> Self {
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
    let steps = medians(STEP);
    let memory = STEP.mul_f64(MEMORIES * memory(&steps));
    let round_trips = Duration::from_nanos((round_trip.unwrap_or_default().0.max(0) as f64 * ROUND_TRIPS) as u64);
    let block = SHORTEST_BLOCK.max(memory).max(round_trips);
    let blocks = medians(block);
    let halves: Option<Vec<f64>> = (window.length() >= SHORTEST).then(|| medians(window.length() / 2));
    let halves = halves.and_then(|halves| Some((*halves.first()?, *halves.get(1)?)));
    let trend = mann_kendall(&blocks).map(|trend| (trend, trend.slope * blocks.len() as f64));
    let stationary = halves.map(|(first, second)| {
        let margin = (f64::midpoint(first, second).abs() * MARGIN).max(least_margin);
        let drifts = trend.is_some_and(|(trend, drift)| trend.p <= CERTAIN && drift.abs() > margin);
        let apart = (first - second).abs();
        (apart <= margin || apart <= chance(&steps)) && !drifts
    });
    Judged { stationary, halves, trend, block, blocks: blocks.len() }
}

/// By how much the medians of the halves of such a series may differ by chance: its spread about them, over as many
/// independent values as its autocorrelation leaves, and more where these are few (Student's t, roughly).
fn chance(steps: &[f64]) -> f64 {
    let (first, second) = steps.split_at(steps.len() / 2);
    let rest = |half: &[f64]| {
        let level = median(half);
        half.iter().map(|value| value - level).collect::<Vec<f64>>()
    };
    let rest = [rest(first), rest(second)].concat();
    let count = rest.len().max(1) as f64;
    let variance = rest.iter().map(|value| value * value).sum::<f64>() / count;
    // Either half has half of the independent values.
    let independent = (count / memory(&rest) / 2.0).max(1.0);
    ERRORS * (1.0 + 1.0 / independent) * (2.0 * variance / independent).sqrt()
}

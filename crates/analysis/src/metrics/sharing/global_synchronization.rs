//! TCP global synchronization: streams that lose and back off together, so that the line runs dry (RFC 2309 section 2).

use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{TcpInfo, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::rate::goodput::DirectionGoodput;
use crate::metrics::rate::stream_rates::StreamRates;
use crate::packets::tcp_readings::{TcpReadings, within};
use crate::statistics::median::median;
use crate::statistics::percentile::percentile;

/// Streams back off together: variance ratio above this, ...
const RATIO: f64 = 1.5;
/// ... co-loss index above this, ...
const CO_LOSS: f64 = 0.5;
/// ... and at least so many dips of the sum ...
const DIPS: u64 = 3;
/// ... below this part of its median.
const DIP: f64 = 0.8;

/// A congestion window that falls by this part has been reduced, and not just moved.
const REDUCTION: f64 = 0.2;

/// Fewer intervals than this say nothing of variance.
const LEAST_INTERVALS: usize = 20;

/// Shortest interval.
const PERIOD: Duration = Duration::from_millis(100);
/// Reductions less far apart than this are beside each other, and what falls on within it is one: two readings.
const BESIDE: Duration = Duration::from_millis(200);

/// Whether streams are synchronized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Synchronized {
    /// The variance ratio is above 1.5, the co-loss index above 0.5, and at least 3 dips occurred: the streams lose
    /// packets together and the line runs dry.
    Yes,
    /// They are not.
    No,
    /// One stream, fewer than 20 intervals, or senders that did not report.
    #[default]
    Unknown,
}

/// Global synchronization by direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct GlobalSynchronization {
    /// Server to client.
    pub down: DirectionSynchronization,
    /// Client to server.
    pub up: DirectionSynchronization,
}

impl GlobalSynchronization {
    pub fn direction(&self, direction: Direction) -> &DirectionSynchronization {
        direction.select(&self.up, &self.down)
    }
}

/// Whether the streams of one direction lose packets and back off together.
///
/// Whether the streams of one direction lose and back off together, so that the line runs empty: the effect of a short
/// queue without active management (RFC 2309 section 2; RFC 7567 section 2). Computed in the steady part of the load
/// from the receivers' rates, as for [sharing](#sharing), in intervals no shorter than the senders' median round trip,
/// and from the congestion windows that the senders' kernels report. Linux streams rarely synchronize: on virtual links
/// of 20 Mbit/s and 40 ms, eight of them had a variance ratio of 0.003 over a pfifo of 200 packets, and of 0.8 over one
/// of 5 packets, which they left half unused without backing off together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Global synchronization")]
pub struct DirectionSynchronization {
    /// Whether the streams are synchronized.
    pub synchronized: Synchronized,
    /// Streams.
    ///
    /// Unit: count.
    pub streams: u64,
    /// Length of an interval.
    pub interval_ns: i64,
    /// Variance of the sum of the rates over the sum of their variances: n in lock-step, 1 if independent, less if one
    /// gains what another loses; null if nothing varies.
    pub variance_ratio: Option<f64>,
    /// Mean share c of the other streams that reduce their window less than a round trip (and 200 ms) before or after
    /// one does, corrected for chance p: (c - p) / (1 - p). 0: independent; 1: always all together. Null without a
    /// reduction.
    ///
    /// Unit: up to 1.
    pub co_loss_index: Option<f64>,
    /// Windows that fell by a fifth or more within two round trips, and at least 200 ms.
    ///
    /// Unit: count. Source: RFC 5681, RFC 9438.
    pub reductions: u64,
    /// Stretches in which the sum lay below 0.8 of its median.
    ///
    /// Unit: count.
    pub dips: u64,
    /// Each reduction and its stream.
    #[serde(skip)]
    pub reduction_series: Vec<(TestTime, FlowId)>,
}

/// Judges the streams of each direction within its window.
pub(crate) fn global_synchronization<'a>(
    recording: &Recording,
    tcp: &TcpReadings,
    goodput: impl Fn(Direction) -> &'a DirectionGoodput,
    window: impl Fn(Direction) -> Window,
) -> GlobalSynchronization {
    let of = |direction| of_direction(recording, tcp, goodput(direction), direction, window(direction));
    GlobalSynchronization { down: of(Direction::Down), up: of(Direction::Up) }
}

fn of_direction(
    recording: &Recording,
    tcp: &TcpReadings,
    goodput: &DirectionGoodput,
    direction: Direction,
    window: Window,
) -> DirectionSynchronization {
    let senders = Senders::new(tcp, goodput, direction, window);
    let round_trip = senders.round_trip();
    let rates = StreamRates::within(recording, tcp, goodput, direction, window, PERIOD.max(round_trip));
    let octets = rates.select(|_| true);
    let mut found = DirectionSynchronization {
        streams: octets.len() as u64,
        interval_ns: Delay::from(rates.interval).0,
        ..DirectionSynchronization::default()
    };
    if octets.len() < 2 || rates.intervals() < LEAST_INTERVALS {
        return found;
    }
    let sums: Vec<f64> = (0..rates.intervals()).map(|at| octets.iter().map(|one| one[at]).sum()).collect();
    found.variance_ratio = variance_ratio(&octets, &sums);
    found.dips = dips(&sums);
    let flows: Vec<FlowId> = rates.streams.iter().map(|(flow, _)| flow.id).collect();
    let known = flows.iter().all(|flow| senders.0.contains_key(flow));
    found.reduction_series = senders.reductions(&flows);
    found.reductions = found.reduction_series.len() as u64;
    if known {
        let apart = BESIDE.max(round_trip);
        found.co_loss_index = co_loss_index(&found.reduction_series, &flows, window.length(), apart);
    }
    found.synchronized = match (found.variance_ratio, found.co_loss_index) {
        _ if !known => Synchronized::Unknown,
        (Some(ratio), Some(index)) if ratio > RATIO && index > CO_LOSS && found.dips >= DIPS => Synchronized::Yes,
        _ => Synchronized::No,
    };
    found
}

/// Variance of the sum over the sum of the variances: n in lock-step, 1 when independent, less when what one loses
/// another gains, as on a line that is always full. `None` when nothing varies.
fn variance_ratio(streams: &[Vec<f64>], sums: &[f64]) -> Option<f64> {
    let variances: f64 = streams.iter().map(|one| variance(one)).sum();
    (variances > 0.0).then(|| variance(sums) / variances)
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n
}

/// Stretches of intervals below [`DIP`] of the median.
fn dips(sums: &[f64]) -> u64 {
    let limit = median(sums) * DIP;
    let below: Vec<bool> = sums.iter().map(|sum| *sum < limit).collect();
    below.chunk_by(|a, b| a == b).filter(|run| run[0]).count() as u64
}

/// How many of the other streams reduce beside a reduction, less what chance has it, over all less chance (Cohen's kappa
/// has this form): 0 when independent, 1 when always all do.
///
/// Beside is less than `apart` before or after. By chance a stream does so with the probability that a stretch twice as
/// long contains a reduction of it (they come at random: Poisson).
fn co_loss_index(reductions: &[(TestTime, FlowId)], flows: &[FlowId], time: Duration, apart: Duration) -> Option<f64> {
    let mut count: HashMap<FlowId, f64> = HashMap::new();
    for (_, flow) in reductions {
        *count.entry(*flow).or_default() += 1.0;
    }
    let stretches = time.as_secs_f64() / (2.0 * apart.as_secs_f64());
    let probability = |flow: &FlowId| 1.0 - (-count.get(flow).copied().unwrap_or(0.0) / stretches).exp();
    let all: f64 = flows.iter().map(probability).sum();
    let (mut together, mut by_chance) = (0.0, 0.0);
    for (at, flow) in reductions {
        let from = reductions.partition_point(|(other, _)| *other + apart <= *at);
        let near = reductions[from..].iter().take_while(|(other, _)| *other < *at + apart);
        let mut others: Vec<FlowId> = near.map(|(_, flow)| *flow).filter(|other| other != flow).collect();
        others.sort_unstable();
        others.dedup();
        together += others.len() as f64;
        by_chance += all - probability(flow);
    }
    let most = reductions.len() as f64 * (flows.len() as f64 - 1.0);
    (by_chance < most).then(|| (together - by_chance) / (most - by_chance))
}

/// What the senders' kernels say of their streams, in the order of time.
struct Senders<'a>(HashMap<FlowId, &'a [TcpInfo]>);

impl<'a> Senders<'a> {
    fn new(tcp: &'a TcpReadings, goodput: &DirectionGoodput, direction: Direction, window: Window) -> Self {
        let flows = goodput.flows.iter().map(|entry| entry.flow.id);
        let of = |flow| (flow, within(tcp.at(sender(direction), flow), window));
        Self(flows.map(of).filter(|(_, rows)| !rows.is_empty()).collect())
    }

    /// Median of the smoothed round-trip times.
    fn round_trip(&self) -> Duration {
        let mut all: Vec<u32> = self.0.values().copied().flatten().map(|row| row.rtt).filter(|rtt| *rtt > 0).collect();
        all.sort_unstable();
        Duration::from_micros(percentile(&all, 0, 500).unwrap_or(0).into())
    }

    /// Every reduction of a window of these streams, in the order of time.
    fn reductions(&self, flows: &[FlowId]) -> Vec<(TestTime, FlowId)> {
        let of = |flow: &FlowId| {
            let rows = self.0.get(flow).copied().unwrap_or_default();
            reductions(rows).into_iter().map(|at| (at, *flow)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = flows.iter().flat_map(of).collect();
        all.sort_unstable();
        all
    }
}

/// When a window fell by [`REDUCTION`] below what it had been within the last two round trips (a kernel lowers it over
/// one, RFC 6937), and at least two readings. What goes on falling in that time is still the same reduction.
fn reductions(rows: &[TcpInfo]) -> Vec<TestTime> {
    let mut found: Vec<TestTime> = Vec::new();
    let mut since = 0;
    for (place, row) in rows.iter().enumerate() {
        let span = BESIDE.max(Duration::from_micros(2 * u64::from(row.rtt)));
        if found.last().is_some_and(|last| row.at < *last + span) {
            since = place;
            continue;
        }
        while rows[since].at + span < row.at {
            since += 1;
        }
        let highest = rows[since..place].iter().map(|row| row.snd_cwnd).max().unwrap_or(0);
        if f64::from(row.snd_cwnd) <= f64::from(highest) * (1.0 - REDUCTION) {
            found.push(row.at);
        }
    }
    found
}

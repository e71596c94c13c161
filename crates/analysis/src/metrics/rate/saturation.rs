//! Whether a direction was full: without that, figures under load are not of a loaded line.

use std::time::Duration;

use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::{ObservationPoint, TcpInfo, receiver, sender};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::metrics::delay::queueing::Queueing;
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::rate::rate_series::LoadRate;
use crate::metrics::tcp::stream_limits::StreamLimits;
use crate::packets::tcp_readings::{TcpReadings, is_program_limited, measured_anew};
use crate::statistics::counter::Counter;
use crate::statistics::percentile::percentile;

/// Part of an interface's speed that leaves no room: the rest is headers and gaps.
const NEARLY: f64 = 0.9;
/// Rates are looked at by the second.
const SECOND: Duration = Duration::from_secs(1);
/// Seconds in a moving average, and moving averages that are compared.
const AVERAGED: usize = 4;
/// Standard deviation of moving averages, as a part of their mean, below which a rate has settled.
const SETTLED: f64 = 0.05;
/// Part of the time that senders must be limited by the network.
const NETWORK_LIMITED: f64 = 0.9;
/// Queueing that shows a bottleneck is at least this.
const LEAST_QUEUEING: Delay = Delay(2_000_000);
/// And at least the time that this many full packets take.
const PACKETS: f64 = 2.0;
const PACKET_BITS: f64 = 1514.0 * 8.0;

/// Whether each direction was saturated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Saturations {
    /// Server to client. Null where nothing was to load.
    pub down: Option<Saturation>,
    /// Client to server. Null where nothing was to load.
    pub up: Option<Saturation>,
}

impl Saturations {
    pub fn direction(&self, direction: Direction) -> Option<&Saturation> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// Whether one direction was saturated.
///
/// A direction is saturated when three conditions were met for 4 s at some time. First, its rate had settled: the
/// standard deviation of the last four moving averages over 4 s is below 5 % of their mean. Second, the network limited
/// its senders for at least 90 % of the time in which they had data. They always had data, and the program had limited
/// at most 10 % of the delivery rates read. Third, the bottleneck showed in one of four ways. Packets waited for twice
/// the time of one full packet and at least 2 ms (median of the 4 s); were marked CE; were retransmitted; or took
/// nine tenths of the speed of a host's interface. `null` is unknown: the load was too short, or what a criterion needs
/// was not recorded.
///
/// A stream that random loss limits also settles and retransmits. Without `queueing`, the evidence `retransmissions`
/// alone does not prove saturation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Saturation")]
pub struct Saturation {
    /// Whether it was, at any time of the load.
    ///
    /// Source: draft-ietf-ippm-responsiveness (stability of moving averages).
    pub saturated: Option<bool>,
    /// Beginning of the first such 4 s, in test time; `null` without any.
    pub since_ns: Option<TestTime>,
    /// Part of the load's whole seconds that lie in such a stretch.
    ///
    /// Unit: share.
    pub share: Option<f64>,
    /// What the packets met at the bottleneck in these stretches.
    pub evidence: Vec<SaturationSign>,
    /// ACK starvation: ACKs that waited in the other direction's queue kept this direction from saturation. Reported
    /// when the direction was not saturated, no host limited its senders for over 5 % of the time, and its ACKs waited
    /// at least 20 ms and at least one idle round trip. Null otherwise.
    pub ack_starvation: Option<AckStarvation>,
}

/// ACKs that waited in the queue of the other direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AckStarvation {
    /// Median queueing delay of the other direction under load.
    ///
    /// Source: RFC 3449 section 2.
    pub queueing_delay_ns: i64,
    /// The same as a multiple of the idle round trip.
    ///
    /// Unit: ratio.
    pub idle_round_trips: f64,
    /// ACKs of this direction's load that arrived per second of the load. Null when they were not counted.
    ///
    /// Unit: 1/s. Source: RFC 3449 section 2.
    pub acknowledgements_per_second: Option<f64>,
    /// Share of the ACKs that did not arrive. Null when they were not counted.
    ///
    /// Unit: share.
    pub missing_share: Option<f64>,
}

/// A queue that is as long as the idle round trip halves what a window of TCP carries, and is at least this.
const LATE: Delay = Delay(20_000_000);
/// The part of the time that a host may hold senders back without being the cause.
const HOST_LIMITED: f64 = 0.05;

impl AckStarvation {
    /// Looks for it in a direction that is known not to be full although only the network limited its senders.
    fn detect(recording: &Recording, known: &Known<'_>, found: &Saturations, direction: Direction) -> Option<Self> {
        found.direction(direction).filter(|this| this.saturated == Some(false))?;
        let limits = &known.stream_limits.direction(direction).pooled;
        let held = [limits.rwnd_limited, limits.sndbuf_limited, limits.idle, limits.app_limited];
        if limits.rwnd_limited.is_none() || held.iter().flatten().any(|share| *share > HOST_LIMITED) {
            return None;
        }
        let idle = known.queueing.round_trip.idle?.p50?;
        let queueing = known.queueing.one_way.direction(direction.opposite()).queueing_delay.load?.p50?;
        if queueing < idle.max(LATE) {
            return None;
        }
        // Those of this direction's load travel the other way.
        let load = recording.phase(Phase::Load)?.length().as_secs_f64();
        let counted = known.link_octets.load.as_ref().and_then(|load| load.direction(direction).all.acknowledgements);
        Some(Self {
            queueing_delay_ns: queueing.0,
            idle_round_trips: queueing.0 as f64 / idle.0.max(1) as f64,
            acknowledgements_per_second: counted.filter(|_| load > 0.0).map(|acks| acks.received as f64 / load),
            missing_share: counted.and_then(|acks| acks.thinning),
        })
    }
}

/// What shows that packets met a bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SaturationSign {
    /// Packets waited.
    Queueing,
    /// Packets were marked CE.
    Marks,
    /// Packets were retransmitted.
    Retransmissions,
    /// Nine tenths of what the slowest interface of the two hosts can carry.
    Interface,
}

/// What else is known of the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) queueing: Queueing<'a>,
    pub(crate) stream_limits: &'a StreamLimits,
    pub(crate) link_octets: &'a LinkOctets,
}

/// Whether each direction was full.
pub(crate) fn saturations(
    recording: &Recording,
    tcp: &TcpReadings,
    known: &Known<'_>,
    rates: &ByDirection<Option<LoadRate>>,
) -> Saturations {
    let of = |direction| {
        let rate = rates.get(direction).as_ref()?;
        let queueing = known.queueing.waits(direction, rates.get(direction.opposite()).is_none());
        let kernel = Kernel::gather(recording, tcp, direction);
        Some(Saturation::judge(&kernel, rate, queueing.as_deref(), slowest_interface(recording)))
    };
    let mut found = Saturations { down: of(Direction::Down), up: of(Direction::Up) };
    let starved = ByDirection::each(|direction| AckStarvation::detect(recording, known, &found, direction));
    for (saturation, starved) in [(&mut found.down, starved.down), (&mut found.up, starved.up)] {
        if let Some(saturation) = saturation {
            saturation.ack_starvation = starved;
        }
    }
    found
}

/// Whether the network alone limited the load's senders of one direction within `window`; `None` when that was not recorded.
pub(crate) fn network_limited(
    recording: &Recording,
    tcp: &TcpReadings,
    direction: Direction,
    window: Window,
) -> Option<bool> {
    Kernel::gather(recording, tcp, direction).network_limited(window)
}

/// The shortest wait that shows a bottleneck at this rate.
pub(crate) fn least_queueing(rate: f64) -> Delay {
    Delay((PACKETS * PACKET_BITS / rate.max(1.0) * 1e9) as i64).max(LEAST_QUEUEING)
}

/// Bits per second of the slowest interface on the way out of either host, as drivers say; `None` when none says so.
fn slowest_interface(recording: &Recording) -> Option<f64> {
    let hosts = [ObservationPoint::Client, ObservationPoint::Server].map(|point| &recording.host(point).state);
    let speeds = hosts.into_iter().flat_map(|state| state.interfaces_in_use().filter_map(|interface| interface.speed));
    speeds.filter(|speed| *speed > 0).min().map(|megabits| f64::from(megabits) * 1e6)
}

impl Saturation {
    fn judge(kernel: &Kernel, rate: &LoadRate, queueing: Option<&[(TestTime, Delay)]>, interface: Option<f64>) -> Self {
        let seconds = rate.in_steps_of(SECOND);
        let mut saturation = Self::default();
        let (mut unknown, mut refuted, mut covered) = (false, false, vec![false; seconds.rates.len()]);
        for (end, rates) in seconds.rates.windows(2 * AVERAGED - 1).enumerate() {
            // The last of the moving averages is over the last four seconds of these.
            let first = end + AVERAGED - 1;
            let window = Window { from: seconds.at(first), to: seconds.at(first + AVERAGED) };
            let mean = rates[AVERAGED - 1..].iter().sum::<f64>() / AVERAGED as f64;
            let mut evidence = evidence(kernel, queueing, window, mean);
            if interface.is_some_and(|speed| mean >= NEARLY * speed) {
                evidence.get_or_insert_default().push(SaturationSign::Interface);
            }
            let held =
                [Some(settled(rates)), kernel.network_limited(window), evidence.as_ref().map(|all| !all.is_empty())];
            match held {
                _ if held.contains(&Some(false)) => refuted = true,
                _ if held.contains(&None) => unknown = true,
                _ => {
                    saturation.since_ns = saturation.since_ns.or(Some(window.from));
                    covered[first..first + AVERAGED].fill(true);
                    saturation.evidence.extend(evidence.unwrap_or_default());
                }
            }
        }
        saturation.evidence.sort_unstable();
        saturation.evidence.dedup();
        let count = covered.iter().filter(|covered| **covered).count();
        saturation.saturated = match (count > 0, unknown, refuted) {
            (true, ..) => Some(true),
            (false, false, true) => Some(false),
            _ => None,
        };
        saturation.share = saturation.saturated.map(|_| count as f64 / covered.len() as f64);
        saturation
    }
}

/// Whether the moving averages over these seven seconds are close together.
fn settled(rates: &[f64]) -> bool {
    let averages: Vec<f64> = rates.windows(AVERAGED).map(|part| part.iter().sum::<f64>() / AVERAGED as f64).collect();
    let mean = averages.iter().sum::<f64>() / averages.len() as f64;
    let variance = averages.iter().map(|average| (average - mean).powi(2)).sum::<f64>() / averages.len() as f64;
    mean > 0.0 && variance.sqrt() < SETTLED * mean
}

/// What showed within `window`; `None` when something of it is not known and nothing else shows.
fn evidence(
    kernel: &Kernel,
    queueing: Option<&[(TestTime, Delay)]>,
    window: Window,
    rate: f64,
) -> Option<Vec<SaturationSign>> {
    let mut found = Vec::new();
    let waited = queueing.and_then(|packets| {
        let from = packets.partition_point(|(sent, _)| *sent < window.from);
        let to = packets.partition_point(|(sent, _)| *sent < window.to);
        let mut delays: Vec<Delay> = packets.get(from..to)?.iter().map(|(_, delay)| *delay).collect();
        delays.sort_unstable();
        percentile(&delays, 0, 500)
    });
    if waited.is_some_and(|delay| delay >= least_queueing(rate)) {
        found.push(SaturationSign::Queueing);
    }
    if Kernel::grew(&kernel.marked, window) {
        found.push(SaturationSign::Marks);
    }
    if Kernel::grew(&kernel.retransmitted, window) {
        found.push(SaturationSign::Retransmissions);
    }
    let known = waited.is_some() && !kernel.busy.is_empty();
    (known || !found.is_empty()).then_some(found)
}

/// What the kernels of both ends counted for the flows of one direction.
struct Kernel {
    busy: Vec<Counter>,
    receiver_limited: Vec<Counter>,
    buffer_limited: Vec<Counter>,
    retransmitted: Vec<Counter>,
    marked: Vec<Counter>,
    /// When a measurement of the delivery rate was read, and whether the sender's program limited it.
    app_limited: Vec<(TestTime, bool)>,
}

impl Kernel {
    fn gather(recording: &Recording, tcp: &TcpReadings, direction: Direction) -> Self {
        // Other programs' recordings hold no counters.
        let flows = recording.header.flows.iter().filter(|_| recording.header.imported.is_none());
        let flows: Vec<&FlowSpec> =
            flows.filter(|flow| flow.is_load_stream() && flow.direction == Some(direction)).collect();
        let counters = |point: fn(Direction) -> ObservationPoint, field: fn(&TcpInfo) -> u64| {
            let readings = |flow: &&FlowSpec| {
                let rows = tcp.at(point(direction), flow.id);
                (flow.window.from, rows.iter().map(|row| (row.at, field(row))).collect::<Vec<_>>())
            };
            let read = flows.iter().map(readings).filter(|(_, readings)| !readings.is_empty());
            read.map(|(opened, readings)| Counter::new(readings).starting_from_zero_at(opened)).collect()
        };
        let rates = flows.iter().flat_map(|flow| measured_anew(tcp.at(sender(direction), flow.id)));
        let mut app_limited: Vec<_> = rates.map(|row| (row.at, is_program_limited(row))).collect();
        app_limited.sort_unstable_by_key(|(at, _)| *at);
        Self {
            app_limited,
            busy: counters(sender, |row| row.busy_time),
            receiver_limited: counters(sender, |row| row.rwnd_limited),
            buffer_limited: counters(sender, |row| row.sndbuf_limited),
            retransmitted: counters(sender, |row| row.bytes_retrans),
            marked: counters(receiver, |row| u64::from(row.received_ce_bytes)),
        }
    }

    /// Whether senders always had data and were held by the network alone in `window`; `None` without readings of it.
    fn network_limited(&self, window: Window) -> Option<bool> {
        let grown = |counters: &[Counter]| counters.iter().map(|counter| growth(counter, window)).sum::<f64>();
        let busy = grown(&self.busy);
        let held = grown(&self.receiver_limited) + grown(&self.buffer_limited);
        // Microseconds of all flows together, as far as they were read.
        let read = |counter: &Counter| {
            let (first, last) = counter.first().zip(counter.last())?;
            Some(Window { from: first.0, to: last.0 }.intersection(&window).length().as_secs_f64() * 1e6)
        };
        let length: f64 = self.busy.iter().filter_map(read).sum();
        let [from, to] = [window.from, window.to].map(|edge| self.app_limited.partition_point(|(at, _)| *at < edge));
        let readings = self.app_limited.get(from..to).unwrap_or_default();
        let by_program = readings.iter().filter(|(_, limited)| *limited).count() as f64;
        let limited = busy >= NETWORK_LIMITED * length
            && busy - held >= NETWORK_LIMITED * busy
            && by_program <= (1.0 - NETWORK_LIMITED) * readings.len() as f64;
        (length > 0.0).then_some(limited)
    }

    fn grew(counters: &[Counter], window: Window) -> bool {
        counters.iter().any(|counter| growth(counter, window) > 0.0)
    }
}

fn growth(counter: &Counter, window: Window) -> f64 {
    if window.to <= window.from { 0.0 } else { counter.at(window.to) - counter.at(window.from) }
}

//! What scores look at: the raw packets and connections of one class and family in one direction.
//!
//! Conditions within a window are always computed from the packets in it, never from those of smaller windows: a
//! percentile of percentiles is none. Counts of losses merge by adding.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::measured::Measured;
use crate::metrics::delay::one_way_delay::Clocks;
use crate::packets::probe_pool::is_headline;
use crate::series::DelayPoint;
use crate::statistics::percentile::percentiles;

/// The packets and connections of one class and family in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreCell {
    pub class: ServiceClass,
    pub family: AddressFamily,
    /// Direction of the flow. Round trips and new connections go both ways, and are the same in both cells.
    pub direction: Direction,
    /// Round-trip delay of each UDP probe.
    delays: Vec<DelayPoint>,
    /// One-way delay of each probe, or its round trip where the directions cannot be separated.
    direction_delays: Vec<DelayPoint>,
    /// Whether `direction_delays` are round trips.
    of_round_trips: bool,
    /// Connect time of each new connection.
    connects: Vec<(TestTime, Option<rrul_model::units::Delay>)>,
    /// Each probe and each voice packet, and whether it was lost or came too late to be played.
    packets: Vec<(TestTime, bool)>,
}

/// Packets, and those of them that did not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Losses {
    /// Packets sent.
    pub sent: u64,
    /// Of those, lost, or of a voice stream and too late.
    pub gone: u64,
}

impl Losses {
    /// As a share; `None` without packets.
    pub fn share(self) -> Option<f64> {
        (self.sent > 0).then(|| self.gone as f64 / self.sent as f64)
    }

    /// Those of two stretches of time together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { sent: self.sent + other.sent, gone: self.gone + other.gone }
    }
}

/// What a cell's packets and connections met in one window. Milliseconds; infinite where the rank falls on a loss;
/// `None` without data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Conditions {
    /// 95th percentile of round-trip delay.
    pub delay_ms: Option<f64>,
    /// 95th percentile of packet delay variation (RFC 5481).
    pub delay_variation_ms: Option<f64>,
    /// 95th percentile of the time to connect.
    pub connect_ms: Option<f64>,
    /// Probes and voice packets, those that did not serve among them.
    pub losses: Losses,
    /// Whether at least half of the probes came as far as this way: what it would have done to the others is unknown.
    pub heard: bool,
}

impl ScoreCell {
    /// Every cell of which the run has anything, in the order of classes in the plan.
    pub fn all(analysis: &Measured) -> Vec<Self> {
        let probes = analysis
            .round_trip_delay
            .flows
            .iter()
            .filter(|entry| entry.flow.kind() == FlowKind::UdpProbe)
            .map(|entry| &entry.flow);
        let connects = analysis.connections.flows.iter().map(|entry| &entry.flow);
        let voices = analysis.voip.iter().flat_map(|voip| &voip.flows).map(|entry| &entry.flow);
        let mut kinds: Vec<(ServiceClass, AddressFamily)> = Vec::new();
        for flow in probes.chain(connects).chain(voices) {
            if !kinds.contains(&(flow.class, flow.family)) {
                kinds.push((flow.class, flow.family));
            }
        }
        let cell = |(class, family)| Direction::ALL.map(|direction| Self::gather(analysis, class, family, direction));
        kinds.into_iter().flat_map(cell).collect()
    }

    /// Whether a score counts it: best effort and expedited forwarding are to be served well, background is meant to wait.
    pub fn counts(&self) -> bool {
        counts(self.class)
    }

    /// Whether delay variation is of round trips, because the directions cannot be separated.
    pub fn of_round_trips(&self) -> bool {
        self.of_round_trips
    }

    fn gather(analysis: &Measured, class: ServiceClass, family: AddressFamily, direction: Direction) -> Self {
        let ours = |flow: &FlowLabel| flow.class == class && flow.family == family;
        let probes =
            || analysis.round_trip_delay.flows.iter().filter(|e| e.flow.kind() == FlowKind::UdpProbe && ours(&e.flow));
        let delays: Vec<DelayPoint> = probes().flat_map(|entry| entry.series.iter().copied()).collect();
        let both = || analysis.one_way_delay.legs.iter().filter(|leg| ours(&leg.flow));
        let legs = || both().filter(|leg| leg.direction == direction);
        // A packet whose direction of loss is unknown counts against both: neither is taken for good.
        let attributed = legs().next().is_some() && both().all(|leg| leg.unattributed == 0);
        let drifting = analysis.one_way_delay.clocks.as_ref().is_none_or(Clocks::is_drift_uncertain);
        let direction_delays: Vec<DelayPoint> =
            if attributed { legs().flat_map(|leg| leg.series.iter().copied()).collect() } else { delays.clone() };
        let mut packets: Vec<(TestTime, bool)> =
            direction_delays.iter().map(|point| (point.at, point.delay.is_none())).collect();
        let voices = analysis.voip.iter().flat_map(|voip| &voip.flows);
        for voice in voices.filter(|entry| ours(&entry.flow) && entry.flow.direction == Some(direction)) {
            packets.extend(voice.series.iter().map(|point| (point.at, point.delay.is_none() || point.late)));
        }
        let of_round_trips = !attributed || drifting;
        let connects = analysis.connections.flows.iter().filter(|entry| ours(&entry.flow));
        let mut cell = Self {
            class,
            family,
            direction,
            direction_delays: if of_round_trips { delays.clone() } else { direction_delays },
            of_round_trips,
            delays,
            connects: connects.flat_map(|entry| entry.series.iter().copied()).collect(),
            packets,
        };
        cell.delays.sort_by_key(|point| point.at);
        cell.direction_delays.sort_by_key(|point| point.at);
        cell.connects.sort_by_key(|(at, _)| *at);
        cell.packets.sort_by_key(|(at, _)| *at);
        cell
    }

    /// What was met within a window, by when packets were sent and connections begun.
    pub fn within(&self, window: Window) -> Conditions {
        let times = |points: &[DelayPoint]| -> Vec<Option<i64>> {
            let within = part(points, window, |point| point.at);
            within.iter().map(|point| point.delay.map(|delay| delay.0)).collect()
        };
        let (delays, direction_delays) = (times(&self.delays), times(&self.direction_delays));
        let heard = 2 * direction_delays.len() >= delays.len();
        let least = direction_delays.iter().flatten().min().copied();
        let above_least: Vec<Option<i64>> =
            direction_delays.iter().map(|delay| Some(delay.as_ref()?.saturating_sub(least?))).collect();
        let connects = part(&self.connects, window, |(at, _)| *at).iter();
        let packets = part(&self.packets, window, |(at, _)| *at);
        let gone = packets.iter().filter(|(_, gone)| *gone).count();
        Conditions {
            delay_ms: p95_ms(&delays),
            delay_variation_ms: p95_ms(&above_least).filter(|_| heard),
            connect_ms: p95_ms(&connects.map(|(_, time)| time.map(|time| time.0)).collect::<Vec<_>>()),
            losses: Losses { sent: packets.len() as u64, gone: gone as u64 },
            heard,
        }
    }
}

/// What of a series in the order of time lies in a window.
fn part<T>(series: &[T], window: Window, at: impl Fn(&T) -> TestTime) -> &[T] {
    let from = series.partition_point(|one| at(one) < window.from);
    let to = series.partition_point(|one| at(one) < window.to);
    series.get(from..to).unwrap_or_default()
}

/// Whether scores count a class, as headlines do.
pub(crate) fn counts(class: ServiceClass) -> bool {
    is_headline(class)
}

/// The 95th percentile of nanoseconds in milliseconds, what is missing taken for infinite; `None` of nothing.
pub(crate) fn p95_ms(times: &[Option<i64>]) -> Option<f64> {
    let mut known: Vec<i64> = times.iter().copied().flatten().collect();
    let missing = (times.len() - known.len()) as u64;
    let [time] = percentiles(&mut known, missing, [950]);
    (!times.is_empty()).then(|| time.map_or(f64::INFINITY, |time| time as f64 / 1e6))
}

//! Delay by direction (RFC 7679): what queues add on the way up and on the way down, from clocks that are not matched.
//!
//! The queueing delay is how far a packet lies above the line that drift draws beneath the idle line's packets; nothing
//! is assumed for it. Absolute one-way delay assumes that the smallest round trip is the same both ways.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::by_phase::ByPhase;
use crate::clock_offset::{ALLOWED_ERROR, Change, ClockOffset, OffsetSegment};
use crate::flow_label::FlowLabel;
use crate::metrics::delay::delay_variation::{DelayVariation, Singleton};
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::delay::round_trip_delay::PhaseDelays;
use crate::packets::by_number::ByNumber;
use crate::packets::one_way_flow::{OneWayFlow, PacketTransit};
use crate::packets::probe_pool::HeadlineClasses;
use crate::series::DelayPoint;
use crate::statistics::percentile::percentiles;

/// Beyond the noise of the idle line, the sum of both ways and the round trip may differ by this, nanoseconds.
const CHECK_TOLERANCE: i64 = 100_000;

/// Queueing delay and one-way delay in each direction.
///
/// From UDP probes with timestamps of sender and receiver, whose clocks are not synchronized. The clock drift is the
/// slope of the lower bound of the idle delays before and after the load, both directions together (Moon, Skelly and
/// Towsley 1999; Zhang, Liu and Xia 2002). Delays under load are never used: a growing queue and a drifting clock look
/// the same until the queue has drained.
///
/// **Queueing delay** is the delay of a packet above that line. It needs no further assumption. It is slightly negative
/// for a packet that was faster than all idle packets. **One-way delay** assumes that the smallest round trip is half
/// up and half down, which two hosts cannot verify. Its error is up to `clocks.bound_ns`, the same for all packets of a
/// direction.
///
/// Where a clock stepped or a route changed by 2 ms or more, the test is split, and each part has its own line. A floor
/// that rises under or after the load is a queue, with two exceptions that show a changed route: other hops answer path
/// traces, or the line is as quiet after the load as before it and carries at most half of its loaded rate. A changed
/// route and a standing queue, both under load only, cannot be distinguished.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Delay by direction")]
pub struct OneWayDelay {
    /// How the two hosts' clocks relate. Null when no packet went both ways.
    pub clocks: Option<Clocks>,
    /// Whether the queueing delays of both directions add up to that of the round trip. Null when queueing delay is
    /// unknown.
    pub check: Option<Check>,
    /// Client to server: the UDP probes of best effort and expedited forwarding together (of all classes where neither
    /// was sent).
    pub up: DirectionDelay,
    /// Server to client: the same probes.
    pub down: DirectionDelay,
    /// Each UDP probe flow in each direction.
    pub legs: Vec<LegDelay>,
}

impl OneWayDelay {
    /// The pooled UDP probes of one direction together: best effort and expedited forwarding.
    pub fn direction(&self, direction: Direction) -> &DirectionDelay {
        direction.select(&self.up, &self.down)
    }
}

/// The two hosts' clocks against each other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Clocks {
    /// Why the queueing delay is unknown in both directions: no idle phase before the load, too few packets, an
    /// unsteady line, queues that had not drained, or delays that contradict the line. One-way delay then includes the
    /// drift, and only the round trip is reliable. `null` if it is known in at least one direction.
    pub skew_uncertain: Option<String>,
    /// Why the queueing delay of each direction is unknown: `queueing_error_ns` is above 2 ms and above 10 % of the
    /// loaded median. Null when it is known.
    pub queueing_unknown: ByDirection<Option<String>>,
    /// Largest shift of queueing delays by drift at the end of the load: the error of the skew times the time. If no
    /// drained idle phase follows the load, the skew lies in an interval. The interval is what the idle line before the
    /// load gives, at most 100 ppm unless that line shows more, and such that no later packet is faster than the idle
    /// line. `null` if it is unbounded.
    pub queueing_error_ns: Option<i64>,
    /// Rate at which the server's clock gains on the client's.
    ///
    /// Source: RFC 2330 section 10.
    pub skew_ppm: f64,
    /// Standard deviation of the skews of four interleaved quarters of the idle packets. The skew of all packets is
    /// more accurate. `null` with too few packets.
    pub skew_error_ppm: Option<f64>,
    /// Delay of the median idle packet above the fastest of its kind: the noise of hosts and idle line.
    pub floor_spread_ns: Option<i64>,
    /// Largest error of absolute one-way delays: half the smallest round trip (maximum over the segments), plus the
    /// drift if it is uncertain.
    ///
    /// Source: RFC 7679 section 3.7.1.
    pub bound_ns: i64,
    /// Segments of the test, separated by clock steps and route changes; one if nothing changed.
    pub segments: Vec<ClockSegment>,
    /// Wall-clock steps of more than 0.5 ms. Kernel timestamps use the wall clock; packets with timestamps around a
    /// step are in no statistics.
    ///
    /// Unit: count.
    pub wall_clock_steps: u64,
}

impl Clocks {
    /// Returns why the queueing delay of a direction is unknown; `None` when it is known.
    pub fn unknown_reason(&self, direction: Direction) -> Option<&str> {
        self.queueing_unknown.get(direction).as_ref().or(self.skew_uncertain.as_ref()).map(String::as_str)
    }

    /// Whether drift may add more than 2 ms to delays by direction.
    pub fn is_drift_uncertain(&self) -> bool {
        self.skew_uncertain.is_some() || self.queueing_error_ns.is_none_or(|error| error as f64 > ALLOWED_ERROR)
    }
}

/// A stretch in which neither clock stepped and no route changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClockSegment {
    /// Where a segment begins, from T0 on the client's clock; `null` of the first.
    pub from_ns: Option<i64>,
    /// What ended the segment before; empty for the first.
    pub changes: Vec<SegmentChange>,
    /// The server's clock less the client's where the segment begins, or at T0.
    ///
    /// Source: RFC 2330 section 10.
    pub offset_ns: i64,
    /// Largest error of that offset.
    pub bound_ns: i64,
}

/// A clock that stepped or a route that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SegmentChange {
    /// What changed.
    pub what: Changed,
    /// Direction of a route that changed. Null for a clock.
    pub direction: Option<Direction>,
    /// Address family of a route that changed. Null for a clock.
    pub family: Option<AddressFamily>,
    /// How far forward the clock stepped, or how much longer the route became.
    pub by_ns: i64,
}

/// What ends a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// The client's clock stepped.
    ClientClock,
    /// The server's clock stepped.
    ServerClock,
    /// A route became longer or shorter.
    Route,
}

/// The sum of both directions' queueing against that of the round trip, which needs no clock in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Probes with known delays in both directions, within one segment.
    ///
    /// Unit: count.
    pub n: u64,
    /// Median magnitude of (queueing up + queueing down) - (round trip - smallest round trip), which needs no common
    /// clock.
    pub median_error_ns: i64,
    /// Largest magnitude of the same.
    pub max_error_ns: i64,
    /// Whether the median error is within twice the noise of the idle line and 0.1 ms.
    pub consistent: bool,
}

/// Delays of one direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct DirectionDelay {
    /// Delay above that of the fastest idle packet. For request-response flows: above the fastest idle message of the
    /// flow, in answered exchanges only. Its phases are null if the clock drift is uncertain or no packet was sent
    /// idle.
    pub queueing_delay: PhaseDelays,
    /// Delay from sending to arrival, if the smallest round trip is the same in both directions. Its error is up to
    /// `one_way_delay.clocks.bound_ns`.
    ///
    /// Source: RFC 7679.
    pub one_way_delay: PhaseDelays,
}

/// Delays of one flow in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LegDelay {
    /// Name of the probe flow, which has one class and family.
    pub flow: FlowLabel,
    /// Direction of its packets.
    pub direction: Direction,
    /// By phase.
    #[serde(flatten)]
    pub delays: DirectionDelay,
    /// Variation of its one-way delay by phase.
    ///
    /// Source: RFC 5481.
    pub delay_variation: ByPhase<Option<DelayVariation>>,
    /// Lost packets of unknown direction, because the server's records are missing; in no statistics of a direction.
    ///
    /// Unit: count.
    pub unattributed: u64,
    /// Packets with a timestamp around a step of a host's wall clock; in no statistics.
    ///
    /// Unit: count.
    pub misstamped: u64,
    /// The queueing delay of each packet, by the client's time at which it was sent; empty where it is uncertain.
    #[serde(skip)]
    pub queueing_series: Vec<DelayPoint>,
    /// Absolute one-way delay of each packet.
    #[serde(skip)]
    pub series: Vec<DelayPoint>,
}

/// Delay by direction of these flows.
///
/// The server reports every packet that reached it until `complete_until`, on its clock; `None` when it does to the end.
pub(crate) fn one_way_delay(
    one_way_flows: &[OneWayFlow<'_>],
    clock: Option<&ClockOffset>,
    judgement: &Judgement<'_>,
    complete_until: Option<TestTime>,
) -> OneWayDelay {
    let Some(clock) = clock else { return OneWayDelay::default() };
    let probes: Vec<&OneWayFlow<'_>> =
        one_way_flows.iter().filter(|one_way| one_way.flow.kind() == FlowKind::UdpProbe).collect();
    let legs: Vec<LegDelay> =
        probes.iter().map(|one_way| leg_delay(one_way, clock, judgement, complete_until)).collect();
    let classes = HeadlineClasses::among(
        legs.iter().filter(|one_way| !one_way.series.is_empty()).map(|one_way| one_way.flow.class),
    );
    let pooled = ByDirection::each(|direction| {
        let ours =
            || legs.iter().filter(|one_way| one_way.direction == direction && classes.contains(one_way.flow.class));
        DirectionDelay {
            queueing_delay: judgement.phase_delays(ours().flat_map(|one_way| &one_way.queueing_series)),
            one_way_delay: judgement.phase_delays(ours().flat_map(|one_way| &one_way.series)),
        }
    });
    OneWayDelay { clocks: Some(clocks(clock)), check: check(&probes, clock), up: pooled.up, down: pooled.down, legs }
}

fn leg_delay(
    one_way: &OneWayFlow<'_>,
    clock: &ClockOffset,
    judgement: &Judgement<'_>,
    complete_until: Option<TestTime>,
) -> LegDelay {
    let complete_until = complete_until.map(|until| clock.client_time(until) - judgement.waiting_time);
    let (mut unattributed, mut misstamped) = (0, 0);
    let mut singletons: Vec<Singleton> = Vec::new();
    let mut queueing = Vec::new();
    for one in decided(one_way, clock, judgement) {
        if clock.is_misstamped(one_way.direction, one.sent, one.received) {
            misstamped += 1;
            continue;
        }
        let (at, delay) = crossing(one_way.direction, &one, clock);
        if one.received.is_none() && !(one_way.attributed && complete_until.is_none_or(|until| at <= until)) {
            unattributed += 1;
            continue;
        }
        let delay = delay.filter(|delay| *delay <= Delay::from(judgement.waiting_time));
        singletons.push(Singleton { sequence: one.sequence, sent: at, delay });
        if clock.unknown(one_way.direction).is_none() {
            let wait = one
                .received
                .filter(|_| delay.is_some())
                .and_then(|received| clock.queueing_delay(one_way.flow, one_way.direction, one.sent, received));
            queueing.push(DelayPoint { at, delay: wait });
        }
    }
    let point = |one: &Singleton| DelayPoint { at: one.sent, delay: one.delay };
    let series: Vec<DelayPoint> = singletons.iter().map(point).collect();
    let variation = ByPhase::each(|phase| {
        let sample: Vec<Singleton> =
            singletons.iter().filter(|one| judgement.phase(one.sent) == Some(phase)).copied().collect();
        let variation = DelayVariation::from_sample(&sample);
        // Drift adds up over a phase, but not between adjacent packets.
        if clock.is_drift_uncertain() { variation.map(DelayVariation::without_pdv) } else { variation }
    });
    LegDelay {
        flow: one_way.flow.into(),
        direction: one_way.direction,
        delays: DirectionDelay {
            queueing_delay: judgement.phase_delays(queueing.iter()),
            one_way_delay: judgement.phase_delays(series.iter()),
        },
        delay_variation: variation,
        unattributed,
        misstamped,
        queueing_series: queueing,
        series,
    }
}

/// When a packet was sent on the client's clock, and how long it took.
fn crossing(direction: Direction, one: &PacketTransit, clock: &ClockOffset) -> (TestTime, Option<Delay>) {
    let delay = one.received.map(|received| clock.one_way_delay(direction, one.sent, received));
    let at = match (direction, one.received, delay) {
        (Direction::Up, ..) => one.sent,
        // The client's own stamp is nearer to the truth than the server's carried over.
        (Direction::Down, Some(received), Some(delay)) => TestTime(received.0.saturating_sub(delay.0)),
        (Direction::Down, ..) => clock.client_time(one.sent),
    };
    (at, delay)
}

/// The packets whose fate is known: as of round trips, those of the last moments only when all of them arrived.
fn decided(
    one_way: &OneWayFlow<'_>,
    clock: &ClockOffset,
    judgement: &Judgement<'_>,
) -> impl Iterator<Item = PacketTransit> {
    let last = judgement.end - judgement.waiting_time;
    let late = move |one: &PacketTransit| crossing(one_way.direction, one, clock).0 > last;
    let in_time = |one: &PacketTransit| {
        crossing(one_way.direction, one, clock).1.is_some_and(|delay| delay <= Delay::from(judgement.waiting_time))
    };
    let all_arrived = one_way.transits.iter().filter(|one| late(one)).all(in_time);
    one_way.transits.iter().filter(move |one| all_arrived || !late(one)).copied()
}

fn clocks(clock: &ClockOffset) -> Clocks {
    let segment = |segment: OffsetSegment| ClockSegment {
        from_ns: segment.from.map(|from| from.0),
        changes: segment.changes.iter().map(change).collect(),
        offset_ns: segment.offset.0,
        bound_ns: segment.bound.0,
    };
    Clocks {
        skew_uncertain: clock.uncertain().map(str::to_owned),
        queueing_unknown: ByDirection::each(|direction| clock.unknown(direction).map(str::to_owned)),
        queueing_error_ns: clock.drift_error().map(|error| error.0),
        skew_ppm: clock.skew_ppm(),
        skew_error_ppm: clock.skew_error_ppm(),
        floor_spread_ns: clock.floor_spread().map(|spread| spread.0),
        bound_ns: clock.bound().0,
        segments: clock.segments().into_iter().map(segment).collect(),
        wall_clock_steps: clock.wall_clock_steps() as u64,
    }
}

fn change(change: &Change) -> SegmentChange {
    use rrul_model::observation::ObservationPoint::{Client, Server};
    match change {
        Change::ClockStep { host: Client, by } => {
            SegmentChange { what: Changed::ClientClock, direction: None, family: None, by_ns: by.0 }
        }
        Change::ClockStep { host: Server, by } => {
            SegmentChange { what: Changed::ServerClock, direction: None, family: None, by_ns: by.0 }
        }
        Change::RouteChange { family, direction, by } => {
            SegmentChange { what: Changed::Route, direction: Some(*direction), family: Some(*family), by_ns: by.0 }
        }
    }
}

/// Compares, packet by packet, the sum of both ways' queueing with the round trip less the smallest of its kind.
fn check(probes: &[&OneWayFlow<'_>], clock: &ClockOffset) -> Option<Check> {
    /// Both ways of one probe.
    struct Both {
        kind: (usize, usize),
        round_trip: i64,
        queueing: i64,
    }
    let numbered = |one_way: &&OneWayFlow<'_>| {
        let packets = one_way.transits.iter().map(|one| (one.sequence, *one)).collect();
        (one_way.flow.id, ByNumber::first(packets))
    };
    let back = probes.iter().filter(|one_way| one_way.direction == Direction::Down);
    let down: HashMap<FlowId, ByNumber<PacketTransit>> = back.map(numbered).collect();
    let mut both: Vec<Both> = Vec::new();
    for one_way in probes.iter().filter(|one_way| one_way.direction == Direction::Up) {
        let Some(replies) = down.get(&one_way.flow.id) else { continue };
        for there in &one_way.transits {
            let Some(back) = replies.get(there.sequence) else { continue };
            let (Some(arrived), Some(returned)) = (there.received, back.received) else { continue };
            if clock.is_misstamped(Direction::Up, there.sent, there.received)
                || clock.is_misstamped(Direction::Down, back.sent, back.received)
            {
                continue;
            }
            let (Some(up), Some(way_back)) = (
                clock.queueing_delay(one_way.flow, Direction::Up, there.sent, arrived),
                clock.queueing_delay(one_way.flow, Direction::Down, back.sent, returned),
            ) else {
                continue;
            };
            // What crosses a step has no round trip either.
            let Some(kind) = clock.same_segment(one_way.flow, (there.sent, arrived), (back.sent, returned)) else {
                continue;
            };
            let round_trip = (arrived.since(there.sent) + returned.since(back.sent)).0;
            both.push(Both { kind, round_trip, queueing: (up + way_back).0 });
        }
    }
    let mut least: HashMap<(usize, usize), i64> = HashMap::new();
    for one in &both {
        let entry = least.entry(one.kind).or_insert(one.round_trip);
        *entry = one.round_trip.min(*entry);
    }
    let error = |one: &Both| {
        let queueing = one.round_trip.saturating_sub(least.get(&one.kind).copied().unwrap_or_default());
        one.queueing.saturating_sub(queueing).saturating_abs()
    };
    let mut errors: Vec<i64> = both.iter().map(error).collect();
    let max_error_ns = errors.iter().max().copied()?;
    let [median_error_ns] = percentiles(&mut errors, 0, [500]);
    let median_error_ns = median_error_ns?;
    let noise = clock.floor_spread().unwrap_or_default().0.saturating_mul(2);
    Some(Check {
        n: errors.len() as u64,
        median_error_ns,
        max_error_ns,
        consistent: median_error_ns <= noise.saturating_add(CHECK_TOLERANCE),
    })
}

//! The hops of a path: which hosts answer from each, how often and after what time, idle and under load.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::observation::FULL_HOP_LIMIT;
use rrul_model::phase::Phase;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_phase::ByPhase;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::path::path_packets::{LONG, Packet, Traced};
use crate::packets::queue_side::Side;
use crate::series::DelayPoint;
use crate::statistics::percentile::{DelayStatistics, percentile};

/// One hop: a router, or the destination.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Hop {
    /// Number of the hop, counted from the sender, from 1.
    pub hop: u8,
    /// Whether it is the other host of the test.
    pub far_end: bool,
    /// Addresses that answered, the most frequent first.
    pub addresses: Vec<String>,
    /// Packets and answers by phase.
    pub phases: ByPhase<HopAnswers>,
    /// Median under load less 5th percentile of the idle line, of answers from one address.
    pub queueing_ns: Option<i64>,
    /// `before` or `behind` the queue of the trace's direction; `null` where the answers are inconclusive: fewer than
    /// four, fewer than three on the idle line, or than two that agree, or if the better explanation leaves more than
    /// three quarters of the error of the other, or more than half of the queueing delay, or is not 400 times as
    /// likely. For `behind`, the error of the queueing delay must be below the delay itself, and at most a tenth of it
    /// may be unexplained, or a quarter if the answers follow it better than any constant lateness.
    #[schemars(extend("enum" = ["before", "behind", null]))]
    pub side: Option<&'static str>,
    /// Round trips over time, by the client's clock; lost ones without a delay.
    #[serde(skip)]
    pub series: Vec<DelayPoint>,
}

/// Packets to one hop in one phase. Hosts on the way answer as often as they please: what is not answered is not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct HopAnswers {
    /// Packets to that hop.
    ///
    /// Unit: count.
    pub sent: u64,
    /// Answers. Hosts on the path limit their answers, so a missing answer is not a loss.
    ///
    /// Unit: count.
    pub answered: u64,
    /// Round-trip times of the answers, between kernel timestamps; for the other host without its processing time.
    ///
    /// Source: RFC 2681.
    pub round_trip: Option<DelayStatistics>,
}

impl Side {
    /// The word used in data.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::Before => Some("before"),
            Self::Behind => Some("behind"),
            Self::Unclear => None,
        }
    }
}

/// Packets by the hop that they were meant for; those for the destination have the number after the last router.
pub(crate) struct ByHop<'a> {
    pub(crate) hops: BTreeMap<u8, Vec<&'a Packet>>,
    /// The number of the destination.
    pub(crate) last: u8,
}

impl<'a> ByHop<'a> {
    /// `routers` lie between both ends.
    pub(crate) fn new(traced: &'a Traced, routers: Option<u8>, plain: u8) -> Self {
        // Where the destination has not reported it, the furthest host that answered is the last known.
        let furthest = || {
            let answered = traced.packets.iter().filter(|packet| packet.answer.is_some_and(|one| !one.is_far_ends()));
            answered.map(|packet| packet.hop_limit).filter(|limit| *limit < FULL_HOP_LIMIT).max().unwrap_or(0)
        };
        let last = routers.unwrap_or_else(furthest).saturating_add(1);
        let mut hops: BTreeMap<u8, Vec<&Packet>> = BTreeMap::new();
        for packet in traced.packets.iter().filter(|packet| packet.octet == plain && packet.length < LONG) {
            let from_far_end = packet.answer.is_some_and(|answer| answer.is_far_ends());
            if from_far_end || packet.hop_limit >= FULL_HOP_LIMIT {
                hops.entry(last).or_default().push(packet);
            } else if packet.hop_limit < last {
                hops.entry(packet.hop_limit).or_default().push(packet);
            }
        }
        Self { hops, last }
    }
}

/// What an idle round trip to an address takes: in the middle, and at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Baseline {
    pub(crate) median: Delay,
    pub(crate) p5: Delay,
    /// Whether the answers that say so were hardly all late: several exist, or two that agree.
    pub(crate) is_sure: bool,
}

/// So many answers are enough of the idle phase alone.
const ENOUGH: usize = 3;

/// Two that differ by no more agree.
const AGREEING: Delay = Delay(1_000_000);

/// For this long after the load queues may still drain.
const DRAINING: Duration = Duration::from_secs(2);

/// The baselines of one hop by address: of the idle phase, and where it has hardly answered then, of the time after the load,
/// of the survey before it as well.
pub(crate) fn baselines(packets: &[&Packet], judgement: &Judgement<'_>) -> BTreeMap<u16, Baseline> {
    let drained = judgement.window(Phase::After).map(|after| after.from + DRAINING);
    let mut trips: BTreeMap<u16, [Vec<Delay>; 3]> = BTreeMap::new();
    for packet in packets {
        let Some(answer) = packet.answer else { continue };
        let place = match judgement.phase(packet.at) {
            Some(Phase::Idle) => 0,
            Some(Phase::After) if drained.is_some_and(|drained| packet.at >= drained) => 1,
            Some(Phase::Survey) => 2,
            _ => continue,
        };
        trips.entry(answer.source).or_default()[place].push(answer.round_trip);
    }
    let baseline = |trips: [Vec<Delay>; 3]| {
        let mut pooled: Vec<Delay> = Vec::new();
        for more in trips {
            if pooled.len() < ENOUGH {
                pooled.extend(more);
            }
        }
        pooled.sort_unstable();
        let is_sure = match pooled[..] {
            [] | [_] => false,
            [one, other] => other - one <= AGREEING,
            _ => true,
        };
        Some(Baseline { median: percentile(&pooled, 0, 500)?, p5: percentile(&pooled, 0, 50)?, is_sure })
    };
    trips.into_iter().filter_map(|(source, trips)| Some((source, baseline(trips)?))).collect()
}

/// One hop from the packets that were meant for it.
pub(crate) fn hop(
    number: u8,
    last: u8,
    packets: &[&Packet],
    traced: &Traced,
    side: Side,
    judgement: &Judgement<'_>,
) -> Hop {
    let phase = |at: TestTime| judgement.phase(at);
    let phases = ByPhase::each(|wanted| {
        let ours = || packets.iter().filter(|packet| phase(packet.at) == Some(wanted));
        let trips: Vec<Delay> = ours().filter_map(|packet| Some(packet.answer?.round_trip)).collect();
        let (sent, answered) = (ours().count() as u64, trips.len() as u64);
        HopAnswers { sent, answered, round_trip: DelayStatistics::from_delays(trips, 0) }
    });
    let mut seen: BTreeMap<u16, usize> = BTreeMap::new();
    for answer in packets.iter().filter_map(|packet| packet.answer) {
        *seen.entry(answer.source).or_default() += 1;
    }
    let mut seen: Vec<(u16, usize)> = seen.into_iter().collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let addresses = seen.iter().filter_map(|(source, _)| traced.addresses.get(source).cloned()).collect();
    let series =
        packets.iter().map(|packet| DelayPoint { at: packet.at, delay: packet.answer.map(|one| one.round_trip) });
    Hop {
        hop: number,
        far_end: number == last,
        addresses,
        phases,
        queueing_ns: queueing(packets, judgement),
        side: side.word(),
        series: series.collect(),
    }
}

fn queueing(packets: &[&Packet], judgement: &Judgement<'_>) -> Option<i64> {
    let baselines = baselines(packets, judgement);
    let loaded = packets.iter().filter(|packet| judgement.phase(packet.at) == Some(Phase::Load));
    let above = |packet: &&Packet| {
        let answer = packet.answer?;
        Some(answer.round_trip.0.saturating_sub(baselines.get(&answer.source)?.p5.0))
    };
    let mut above: Vec<i64> = loaded.filter_map(above).collect();
    above.sort_unstable();
    percentile(&above, 0, 500)
}

//! Path traces: the hops of each way, what load makes of them, and the verdict on the bottleneck (spec: the equivalent of
//! tcptraceroute or mtr shall be run continuously in both directions to identify the bottleneck source).

mod words;

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde::Serialize;

use crate::analysis::FlowLabel;
use crate::clock_offset::ClockOffset;
use crate::metrics::bottleneck::{Bottleneck, Evidence};
use crate::metrics::host_health::HostHealth;
use crate::metrics::icmp_messages::in_words;
use crate::metrics::one_way_delay::{LegDelay, OneWayDelay};
use crate::metrics::path_hops::{self, ByHop, Hop};
use crate::metrics::path_marks::{self, Remarking};
use crate::metrics::path_mtu::{self, PathMtu};
use crate::metrics::path_packets::{self, PATH_TRACE, Packet, Traced};
use crate::metrics::round_trip_delay::Judgement;
use crate::queue_side::{self, Reading, Side, Span};
use crate::statistics::percentile::percentile;
pub(crate) use words::GROUP;

/// Between test packets further apart than this nothing is assumed of a queue.
const WIDEST_GAP: i64 = 250_000_000;

/// Everything about one trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathTrace {
    /// Which flow.
    pub flow: FlowLabel,
    /// Which way its packets went.
    pub direction: Direction,
    /// Which family.
    pub family: AddressFamily,
    /// Whether the sender saw the headers that hosts on the way quote, which takes a privilege.
    pub sees_quoted_headers: bool,
    /// Routers on the way, as most packets to the far end tell.
    pub routers: Option<u8>,
    /// When that changed.
    pub route_changes: Vec<RouteChange>,
    /// Where the queue is.
    pub bottleneck: Bottleneck,
    /// Every hop, the far end last.
    pub hops: Vec<Hop>,
    /// Who rewrites markings.
    pub remarkings: Vec<Remarking>,
    /// The largest packet that gets through whole.
    pub path_mtu: Option<PathMtu>,
    /// What hosts on the way have said beside "hop limit exceeded".
    pub messages: Vec<PathMessage>,
    /// Answers that are about no packet of the trace.
    pub strays: u64,
}

/// From here on the path had so many routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RouteChange {
    /// When, on the client's clock, nanoseconds from T0.
    pub at_ns: i64,
    /// Routers from then on.
    pub routers: u8,
}

/// Messages of one kind from one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathMessage {
    /// Type and code in words.
    pub message: String,
    /// Who said it; `None` when that is not told.
    pub address: Option<String>,
    /// How many.
    pub count: u64,
}

/// Every trace of a recording, in the order of the plan.
pub(crate) fn path_traces(
    recording: &Recording,
    one_way: &OneWayDelay,
    clock: Option<&ClockOffset>,
    hosts: &[HostHealth],
    judgement: &Judgement<'_>,
) -> Vec<PathTrace> {
    let flows = recording.header.flows.iter().filter(|flow| flow.flow_type == PATH_TRACE);
    let trace = |flow: &FlowSpec| {
        let direction = flow.direction?;
        let traced = path_packets::traced(recording, flow, direction, clock);
        if traced.packets.is_empty() {
            return None;
        }
        let sender = path_packets::sender(direction);
        let host = hosts.iter().find(|host| host.host == sender);
        let own = host.and_then(|host| host.transmit_queueing).and_then(|queueing| queueing.p50);
        let waits = |way| Waits::of(one_way, flow, way);
        let around = Surroundings { own, forward: waits(direction), back: waits(opposite(direction)), judgement };
        Some(path_trace(flow, direction, &traced, &around, one_way))
    };
    flows.filter_map(trace).collect()
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    }
}

/// What else is known.
struct Surroundings<'a> {
    own: Option<Delay>,
    forward: Waits,
    back: Waits,
    judgement: &'a Judgement<'a>,
}

fn path_trace(
    flow: &FlowSpec,
    direction: Direction,
    traced: &Traced,
    around: &Surroundings<'_>,
    one_way: &OneWayDelay,
) -> PathTrace {
    let phase = |at: TestTime| around.judgement.phase(at);
    let (routers, route_changes) = route(traced, phase);
    let by_hop = ByHop::of(traced, routers, flow.class.octet());
    let far_end = by_hop
        .hops
        .get(&by_hop.last)
        .and_then(|packets| path_hops::baselines(packets, phase).values().map(|baseline| baseline.median).min());
    let sides: Vec<(u8, Side)> =
        by_hop.hops.iter().map(|(hop, packets)| (*hop, side(packets, around, far_end))).collect();
    let side_of = |hop: u8| sides.iter().find(|(number, _)| *number == hop).map_or(Side::Unclear, |(_, side)| *side);
    let hop = |(number, packets): (&u8, &Vec<&Packet>)| {
        path_hops::hop(*number, by_hop.last, packets, traced, side_of(*number), phase)
    };
    let hops: Vec<Hop> = by_hop.hops.iter().map(hop).collect();
    let uncertain = one_way.clocks.as_ref().and_then(|clocks| clocks.skew_uncertain.clone());
    let queue = around.forward.median(around.judgement).ok_or_else(|| {
        let unknown = "no test packets of its family tell how long the queue of one direction is";
        uncertain.unwrap_or_else(|| unknown.to_owned())
    });
    let evidence = Evidence { direction, queue, host_queue: around.own, sides: &sides, last: by_hop.last, hops: &hops };
    let idle = |packet: &&Packet| matches!(phase(packet.at), Some(Phase::Before | Phase::Idle));
    PathTrace {
        flow: flow.into(),
        direction,
        family: flow.family,
        sees_quoted_headers: traced.sees_quotes,
        routers,
        route_changes,
        bottleneck: evidence.verdict(),
        remarkings: path_marks::remarkings(traced.packets.iter().filter(idle), by_hop.last),
        path_mtu: path_mtu::path_mtu(traced, flow.family),
        messages: messages(traced, flow.family),
        strays: traced.strays,
        hops,
    }
}

/// Routers on the way, under load if there was one; and when their number changed.
fn route(traced: &Traced, phase: impl Fn(TestTime) -> Option<Phase>) -> (Option<u8>, Vec<RouteChange>) {
    let told: Vec<(TestTime, u8)> =
        traced.packets.iter().filter_map(|packet| Some((packet.at, packet.routers()?))).collect();
    let most = |phase_only: bool| {
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for (_, routers) in told.iter().filter(|(at, _)| !phase_only || phase(*at) == Some(Phase::Load)) {
            *counts.entry(*routers).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(routers, _)| routers)
    };
    let changes = told.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let changes = changes.map(|pair| RouteChange { at_ns: pair[1].0.0, routers: pair[1].1 });
    (most(true).or_else(|| most(false)), changes.collect())
}

/// On which side of the queue a hop lies, by its answers under load. `far_end` is what a round trip to there takes idle.
fn side(packets: &[&Packet], around: &Surroundings<'_>, far_end: Option<Delay>) -> Side {
    let phase = |at: TestTime| around.judgement.phase(at);
    let baselines = path_hops::baselines(packets, phase);
    // All of the load, not what is scored alone: a queue that is growing tells as much.
    let load = around.judgement.phases.iter().find(|entry| entry.phase == Phase::Load).map(|entry| entry.window);
    let loaded = packets.iter().filter(|packet| load.is_some_and(|load| load.contains(packet.at)));
    let reading = |packet: &&Packet| {
        let answer = packet.answer?;
        let baseline = baselines.get(&answer.source)?.median;
        let forward = around.forward.between(packet.at.0, packet.at.0)?;
        // A test packet that finds the other queue as this answer does was sent earlier, by how much longer its way to there
        // is: at most what lies between the far end and this hop.
        let further = far_end.map_or(0, |far_end| (far_end.0 - baseline.0).max(0) / 2);
        let back = |waited: i64| {
            let answered = packet.at.0 + baseline.0 / 2 + waited;
            // Without test packets the other way nothing is known of its queue: taken for none.
            if around.back.0.is_empty() { Some((0, 0)) } else { around.back.between(answered - further, answered) }
        };
        let waited = forward.0.midpoint(forward.1);
        let (not_waited, waited) = (back(0)?, back(waited)?);
        Some(Reading {
            excess: milliseconds(answer.round_trip.0 - baseline.0),
            forward: span(forward),
            back: [span(not_waited), span(waited)],
        })
    };
    queue_side::side(&loaded.filter_map(reading).collect::<Vec<_>>())
}

fn milliseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn span((low, high): (i64, i64)) -> Span {
    Span { low: milliseconds(low), high: milliseconds(high) }
}

/// How long test packets waited in the queues of one direction, by when they were sent, ascending.
#[derive(Debug, Default)]
struct Waits(Vec<(i64, i64)>);

impl Waits {
    /// Those of the test packets that are most like this trace's: of its family, and of its class if there are any.
    fn of(one_way: &OneWayDelay, flow: &FlowSpec, direction: Direction) -> Self {
        let ours = |leg: &&LegDelay| leg.direction == direction && leg.flow.family == flow.family;
        let mut alike: Vec<&LegDelay> =
            one_way.legs.iter().filter(ours).filter(|leg| leg.flow.class == flow.class).collect();
        if alike.is_empty() {
            alike.extend(one_way.legs.iter().find(ours));
        }
        let points = alike.iter().flat_map(|leg| &leg.queueing_series);
        let mut waits: Vec<(i64, i64)> = points.filter_map(|point| Some((point.at.0, point.delay?.0.max(0)))).collect();
        waits.sort_unstable();
        Self(waits)
    }

    /// The least and the longest wait of packets sent between these moments: of those that were, of the last before and of
    /// the first after them; `None` where the nearest were sent too long before or after.
    fn between(&self, from: i64, to: i64) -> Option<(i64, i64)> {
        let Self(points) = self;
        let first = points.partition_point(|(at, _)| *at <= from).checked_sub(1)?;
        let last = points.partition_point(|(at, _)| *at < to).max(first);
        let inside = points.get(first..=last)?;
        let near = from - inside.first()?.0 <= WIDEST_GAP && inside.last()?.0 - to <= WIDEST_GAP;
        let waits = || inside.iter().map(|(_, wait)| *wait);
        near.then_some((waits().min()?, waits().max()?))
    }

    /// The median under load.
    fn median(&self, judgement: &Judgement<'_>) -> Option<Delay> {
        let loaded = self.0.iter().filter(|(at, _)| judgement.phase(TestTime(*at)) == Some(Phase::Load));
        let mut waits: Vec<i64> = loaded.map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        percentile(&waits, 0, 500).map(Delay)
    }
}

fn messages(traced: &Traced, family: AddressFamily) -> Vec<PathMessage> {
    let expired = |kind: u8| match family {
        AddressFamily::Ipv4 => kind == 11,
        AddressFamily::Ipv6 => kind == 3,
    };
    let mut counts: BTreeMap<(u8, u8, u16), u64> = BTreeMap::new();
    for answer in traced.packets.iter().filter_map(|packet| packet.answer) {
        if !answer.is_far_ends() && !expired(answer.kind) {
            *counts.entry((answer.kind, answer.code, answer.source)).or_default() += 1;
        }
    }
    let message = |((kind, code, source), count)| PathMessage {
        message: in_words(family, kind, code),
        address: traced.addresses.get(&source).cloned(),
        count,
    };
    counts.into_iter().map(message).collect()
}

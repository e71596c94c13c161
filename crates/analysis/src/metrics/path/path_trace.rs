//! Path traces: the hops of each way, what load makes of them, and the verdict on the bottleneck (spec: the equivalent of
//! tcptraceroute or mtr shall be run continuously in both directions to identify the bottleneck source).

use std::collections::BTreeMap;
use std::rc::Rc;

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::sender;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::metrics::host::host_health::HostHealth;
use crate::metrics::loss::icmp_messages::in_words;
use crate::metrics::path::bottleneck;
use crate::metrics::path::bottleneck::{Bottleneck, BottleneckInput};
use crate::metrics::rate::rate_series::LoadRate;
use crate::packets::one_way_flow::{OneWayFlow, PacketTransit};

use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::path::path_hops;
use crate::metrics::path::path_hops::{ByHop, Hop};
use crate::metrics::path::path_marks;
use crate::metrics::path::path_marks::Remarking;
use crate::metrics::path::path_mtu;
use crate::metrics::path::path_mtu::PathMtu;
use crate::metrics::path::path_packets::{Answer, Packet, Traced, Traces};
use crate::packets::queue_side;
use crate::packets::queue_side::{Reading, Side};
use crate::packets::queue_waits::{QueueWaits, QueuedPacket, Span};
use crate::statistics::percentile::percentile;

/// One path trace: the hops in one direction over one address family.
///
/// One for each family and direction. UDP packets expire at each router on the path, one per second and router, fewer
/// on a slow line, throughout the test; the routers answer. Addresses and ports stay the same, so load balancers treat
/// the packets alike. Routers answer with low priority, seldom more than once a second. A hop that does not answer, or
/// answers late, says nothing about the traffic that it forwards. The location of the queue follows from all hops
/// together. A packet leaves a queue behind the test packets that arrived earlier and ahead of those that arrived
/// later, so their queueing delays (`one_way_delay`) bound its own, in both directions. Answers of hosts behind the
/// queue show that delay, those of hosts before it do not. The return path of an answer may add the other direction's
/// delay; both cases are tried for every hop.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Path traces")]
pub struct PathTrace {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Direction of the trace; `up` is sent by the client.
    pub direction: Direction,
    /// Address family.
    pub family: AddressFamily,
    /// Whether the sender can open raw sockets (CAP_NET_RAW) to see the headers that routers quote. Per-hop remarking
    /// needs them.
    ///
    /// Source: RFC 792, RFC 4443.
    pub sees_quoted_headers: bool,
    /// Routers on the path, from the hop limit with which packets reach the destination. `null` if unknown.
    ///
    /// Unit: count.
    pub routers: Option<u8>,
    /// When the number of routers changed.
    pub route_changes: Vec<RouteChange>,
    /// Location of the queue. Null when unknown.
    pub bottleneck: Bottleneck,
    /// Every hop; the other host is the last.
    pub hops: Vec<Hop>,
    /// Per-hop remarking, on the idle line.
    pub remarkings: Vec<Remarking>,
    /// Largest packet that gets through whole. Null when it was not searched.
    pub path_mtu: Option<PathMtu>,
    /// What hosts on the path sent beside "hop limit exceeded".
    pub messages: Vec<PathMessage>,
    /// Answers about no packet of the trace, or about one that was answered before.
    ///
    /// Unit: count.
    pub strays: u64,
}

/// From here on the path had so many routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RouteChange {
    /// When the number of routers changed, in test time.
    pub at_ns: i64,
    /// Routers from then on.
    ///
    /// Unit: count.
    pub routers: u8,
}

/// Messages of one kind from one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathMessage {
    /// Type and code of the message, as text.
    ///
    /// Source: RFC 792, RFC 4443.
    pub message: String,
    /// Who sent it. Null when addresses are private.
    pub address: Option<String>,
    /// Messages.
    ///
    /// Unit: count.
    pub count: u64,
}

/// Every trace of a recording, in the order of the plan.
pub(crate) fn path_traces(
    recording: &Recording,
    one_way_flows: &[OneWayFlow<'_>],
    clock: Option<&ClockOffset>,
    hosts: &[HostHealth],
    judgement: &Judgement<'_>,
    rates: &ByDirection<Option<LoadRate>>,
) -> Vec<PathTrace> {
    let mut traces = Traces::gather(recording);
    let segments = clock.map(ClockOffset::segments).unwrap_or_default();
    let begins: Vec<TestTime> = segments.iter().filter_map(|segment| segment.from).collect();
    let mut known: BTreeMap<(AddressFamily, u8, Direction), Rc<QueueWaits>> = BTreeMap::new();
    let mut trace = |flow: &FlowSpec| {
        // Of a foreign file in which flows share a number, the first has its rows.
        let traced = traces.take(flow, clock).filter(|traced| !traced.packets.is_empty())?;
        let direction = flow.direction?;
        let sender = sender(direction);
        let host = hosts.iter().find(|host| host.host == sender);
        let own = host.and_then(|host| host.transmit_queueing).and_then(|queueing| queueing.p50);
        let mut waits = |direction: Direction| {
            let found =
                || Rc::new(clock.map(|clock| queue_waits(one_way_flows, clock, flow, direction)).unwrap_or_default());
            Rc::clone(known.entry((flow.family, flow.class.octet(), direction)).or_insert_with(found))
        };
        let (forward, back) = (waits(direction), waits(direction.opposite()));
        let uncertain = clock.and_then(|clock| clock.unknown(direction));
        // What the load itself carried: where others share the line, the step in which it got most is nearest to its rate.
        let most = |rate: &LoadRate| rate.steps().rates.into_iter().reduce(f64::max);
        let rate = rates.get(direction).as_ref().and_then(most).filter(|rate| *rate > 0.0);
        let worth_naming = bottleneck::worth_naming(rate);
        let around = Surroundings { own, forward, back, uncertain, begins: &begins, judgement, worth_naming };
        Some(path_trace(flow, direction, &traced, &around))
    };
    let flows = recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::PathTrace);
    flows.filter_map(&mut trace).collect()
}

/// What is known of the queues of one direction by test packets like this trace's: of its family and marking.
fn queue_waits(
    one_way_flows: &[OneWayFlow<'_>],
    clock: &ClockOffset,
    flow: &FlowSpec,
    direction: Direction,
) -> QueueWaits {
    let like = |one_way: &&OneWayFlow<'_>| {
        (one_way.direction, one_way.flow.family, one_way.flow.class.octet())
            == (direction, flow.family, flow.class.octet())
    };
    let queued = |one_way: &OneWayFlow<'_>, one: &PacketTransit| {
        let received = one.received?;
        if clock.is_misstamped(direction, one.sent, one.received) {
            return None;
        }
        let wait = clock.queueing_delay(one_way.flow, direction, one.sent, received)?.0.max(0);
        let crossing = clock.one_way_delay(direction, one.sent, received).0;
        Some(match direction {
            Direction::Up => QueuedPacket { sent: one.sent.0, arrived: one.sent.0.saturating_add(crossing), wait },
            Direction::Down => QueuedPacket { sent: received.0.saturating_sub(crossing), arrived: received.0, wait },
        })
    };
    let one_way_flows = one_way_flows.iter().filter(like);
    QueueWaits::new(
        one_way_flows.flat_map(|one_way| one_way.transits.iter().filter_map(move |one| queued(one_way, one))),
    )
}

/// What else is known.
struct Surroundings<'a> {
    own: Option<Delay>,
    forward: Rc<QueueWaits>,
    back: Rc<QueueWaits>,
    /// Why the queueing delay of one direction alone is unknown.
    uncertain: Option<&'a str>,
    /// When a clock stepped or a route became longer: round trips before and behind do not compare.
    begins: &'a [TestTime],
    judgement: &'a Judgement<'a>,
    worth_naming: Delay,
}

fn path_trace(flow: &FlowSpec, direction: Direction, traced: &Traced, around: &Surroundings<'_>) -> PathTrace {
    let phase = |at: TestTime| around.judgement.phase(at);
    let (routers, route_changes) = route(traced, phase);
    let by_hop = ByHop::new(traced, routers, flow.class.octet());
    let side = |(hop, packets): (&u8, &Vec<&Packet>)| (*hop, around.side(packets, *hop == by_hop.last, flow.family));
    let sides: Vec<(u8, Side)> = by_hop.hops.iter().map(side).collect();
    let side_of = |hop: u8| sides.iter().find(|(number, _)| *number == hop).map_or(Side::Unclear, |(_, side)| *side);
    let hop = |(number, packets): (&u8, &Vec<&Packet>)| {
        path_hops::hop(*number, by_hop.last, packets, traced, side_of(*number), around.judgement)
    };
    let hops: Vec<Hop> = by_hop.hops.iter().map(hop).collect();
    let queue = around.median_wait().ok_or_else(|| {
        let unknown = "no test packets of its family and marking show the queue of one direction";
        around.uncertain.unwrap_or(unknown).to_owned()
    });
    let evidence = BottleneckInput {
        direction,
        queue,
        host_queue: around.own,
        sides: &sides,
        last: by_hop.last,
        hops: &hops,
        worth_naming: around.worth_naming,
    };
    let idle = |packet: &&Packet| matches!(phase(packet.at), Some(Phase::Survey | Phase::Idle));
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

/// Routers on the way, under load if the plan has one; and when their number changed.
fn route(traced: &Traced, phase: impl Fn(TestTime) -> Option<Phase>) -> (Option<u8>, Vec<RouteChange>) {
    let router_counts: Vec<(TestTime, u8)> =
        traced.packets.iter().filter_map(|packet| Some((packet.at, packet.routers()?))).collect();
    let most = |phase_only: bool| {
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for (_, routers) in router_counts.iter().filter(|(at, _)| !phase_only || phase(*at) == Some(Phase::Load)) {
            *counts.entry(*routers).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(routers, _)| routers)
    };
    let changes = router_counts.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let changes = changes.map(|pair| RouteChange { at_ns: pair[1].0.0, routers: pair[1].1 });
    (most(true).or_else(|| most(false)), changes.collect())
}

impl Surroundings<'_> {
    /// On which side of the queue a hop lies, by its answers under load.
    fn side(&self, packets: &[&Packet], far_end: bool, family: AddressFamily) -> Side {
        // What others say of packets that were meant for this hop does not come from there.
        let own = |answer: &Answer| if far_end { answer.is_far_ends() } else { answer.is_expiry(family) };
        let ours = packets.iter().copied().filter(|packet| packet.answer.as_ref().is_some_and(own));
        let ours: Vec<&Packet> = ours.collect();
        let stretches = ours.chunk_by(|one, next| self.stretch(one.at) == self.stretch(next.at));
        queue_side::side(&stretches.flat_map(|stretch| self.readings(stretch)).collect::<Vec<_>>(), far_end)
    }

    /// What the answers of one host tell, of a stretch of time in which its round trips compare.
    fn readings(&self, packets: &[&Packet]) -> Vec<Reading> {
        let baselines = path_hops::baselines(packets, self.judgement);
        let loaded = packets.iter().filter(|packet| self.load().is_some_and(|load| load.contains(packet.at)));
        let reading = |packet: &&Packet| {
            let answer = packet.answer?;
            let baseline = baselines.get(&answer.source).filter(|baseline| baseline.is_sure)?.median;
            let forward = self.forward.of_sent(packet.at.0)?;
            let back = if self.back.is_empty() { Span::UNKNOWN } else { self.back.of_arrived(answer.at.0)? };
            let excess = answer.round_trip.0.saturating_sub(baseline.0) as f64 / 1e6;
            Some(Reading { excess, forward, back })
        };
        loaded.filter_map(reading).collect()
    }

    /// Between which changes of the clocks and of the route a moment lies.
    fn stretch(&self, at: TestTime) -> usize {
        self.begins.partition_point(|begin| *begin <= at)
    }

    /// The whole load, not only the scored window: a growing queue is evidence as well.
    fn load(&self) -> Option<Window> {
        self.judgement.phases.iter().find(|entry| entry.phase == Phase::Load).map(|entry| entry.window)
    }

    /// The median of the trace's own direction under load.
    fn median_wait(&self) -> Option<Delay> {
        let load = self.load()?;
        let mut waits: Vec<i64> = self.forward.sent_within(load.from.0..load.to.0).collect();
        waits.sort_unstable();
        percentile(&waits, 0, 500).map(Delay)
    }
}

fn messages(traced: &Traced, family: AddressFamily) -> Vec<PathMessage> {
    let mut counts: BTreeMap<(u8, u8, u16), u64> = BTreeMap::new();
    for answer in traced.packets.iter().filter_map(|packet| packet.answer) {
        if !answer.is_far_ends() && !answer.is_own_links() && !answer.is_expiry(family) {
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

//! How many test packets were lost, doubled and reordered on either way (RFC 7680, RFC 5560, RFC 4737).

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::flow_kind::FlowKind;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::loss::reordering::{Displacement, Reordering};
use crate::packets::attribution::{Attributed, DirectionFates, Fate, LossAttribution};
use crate::packets::probe_pool::HeadlineClasses;
use crate::statistics::autocorrelation::memory;
use crate::statistics::block_bootstrap::{BlockBootstrap, ConfidenceInterval, block_length};
use crate::statistics::loss_runs::{LossRuns, LossRunsSummary};

/// The memory of losses is looked for in counts of this long.
const MEMORY_CELL: Duration = Duration::from_millis(100);
const MOST_MEMORY_CELLS: u128 = 1000;

/// The fate of the packets of some flows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PacketFates {
    /// Client to server: the UDP probes of best effort and expedited forwarding together, as under [round-trip
    /// delay](#round-trip-delay). Null without any.
    pub up: Option<DirectionFate>,
    /// Server to client: the same probes. Null without any.
    pub down: Option<DirectionFate>,
    /// Each flow of UDP probes and of exchanges over UDP.
    pub flows: Vec<FlowFate>,
}

impl PacketFates {
    /// The pooled UDP probe flows together in one direction, best effort and expedited forwarding; `None` when no packet was sent.
    pub fn pooled(&self, direction: Direction) -> Option<&DirectionFate> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// The fate of the packets of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowFate {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Client to server.
    pub up: DirectionFate,
    /// Server to client.
    pub down: DirectionFate,
}

/// The fate of packets in one direction, by phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DirectionFate {
    /// Evidence that attributes losses to the direction; of several flows the weakest.
    pub evidence: LossAttribution,
    /// Sent on the idle line.
    ///
    /// Source: spec, Variables Under Test.
    pub idle: Option<PacketFate>,
    /// Sent under load, in the scored window.
    ///
    /// Source: spec, Variables Under Test.
    pub load: Option<PacketFate>,
    /// Sent after the load.
    ///
    /// Source: spec, Variables Under Test.
    pub after: Option<PacketFate>,
    /// Sent from the baseline to the end.
    pub all: Option<PacketFate>,
}

impl DirectionFate {
    /// The fate of the packets sent in one phase; none of the survey and of phase `web`.
    pub fn phase(&self, phase: Phase) -> Option<&PacketFate> {
        match phase {
            Phase::Survey | Phase::Web => None,
            Phase::Idle => self.idle.as_ref(),
            Phase::Load => self.load.as_ref(),
            Phase::After => self.after.as_ref(),
        }
    }
}

/// The fate of the packets of one sample in one direction.
///
/// Up, a packet is a test packet. Down, it is a reply: one for each copy of a test packet that reached the reflector,
/// by the reflector's count. So copies and reordering on the way up are not counted again on the way down. In both
/// directions a packet belongs to the phase in which the *test packet* was sent. `load` is the [scored
/// window](#scored-window), `all` everything from the baseline on.
///
/// A packet without an answer is attributed to a direction by the server's report of every packet that reached it
/// (`exact`). If that report is incomplete, because the control connection or the server was lost, by the windows of 64
/// packets in the replies (`window`). Then a packet that arrives more than 64 packets late counts as lost, copies and
/// order are known only for answered packets, and after an outage of more than 64 packets the earlier ones are
/// `unattributed`. Packets that a host loses before they leave it, and those over the server's limit, count as lost in
/// their direction. Packets of unknown fate, because the run was interrupted, are left out, as under `loss`.
///
/// For request-response over UDP, an exchange without a response within its timeout is lost; in direction up if its
/// request did not reach the server. Copies and order of responses are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Packet fate")]
pub struct PacketFate {
    /// Packets: `arrived`, `lost` and `unattributed` together.
    ///
    /// Unit: count.
    pub sent: u64,
    /// Of those, arrived within the waiting time; copies are not counted.
    ///
    /// Unit: count. Source: RFC 7680 section 2.
    pub arrived: u64,
    /// Of those, not arrived within the waiting time.
    ///
    /// Unit: count. Source: RFC 7680 section 2.
    pub lost: u64,
    /// Of those lost, arrived after the waiting time.
    ///
    /// Unit: count. Source: RFC 7680 section 2.6.
    pub late: u64,
    /// Packets without an answer whose loss direction is unknown; counted in both directions.
    ///
    /// Unit: count.
    pub unattributed: u64,
    /// Copies that arrived beside the first; `null` where they are unknown.
    ///
    /// Unit: count. Source: RFC 5560.
    pub duplicated: Option<u64>,
    /// Lost packets as a share of those sent, when none of the unattributed was lost in this direction.
    ///
    /// Unit: share. Source: RFC 7680 section 4.1.
    pub share_least: f64,
    /// The same when all of the unattributed were.
    ///
    /// Unit: share. Source: RFC 7680 section 4.1.
    pub share_most: f64,
    /// Lower end of the 95 % interval of the share, by block bootstrap because losses come in bursts; from 0 to 3/n
    /// when none of n packets was lost. It is the interval for runs of this length on the same path at this time. Null
    /// with unattributed packets, or with fewer than five blocks. A block is the longest of 1 s, four loaded round
    /// trips, and three times the correlation time of the series.
    ///
    /// Unit: share. Source: Künsch 1989; Hanley and Lippman-Hand 1983.
    pub share_ci95_low: Option<f64>,
    /// Upper end of the same.
    ///
    /// Unit: share.
    pub share_ci95_high: Option<f64>,
    /// [Runs](#loss-runs) of packets that did not arrive in time; `null` with unattributed packets.
    ///
    /// Source: RFC 3357.
    pub loss_runs: Option<LossRunsSummary>,
    /// [Reordering](#reordering) of the packets that arrived; `null` where the order means nothing.
    ///
    /// Source: RFC 4737.
    pub reordering: Option<Reordering>,
}

/// The packets of one or several flows in one direction, within one window of time.
struct Sample {
    packets: Vec<(TestTime, Fate)>,
    runs: LossRuns,
    copies: Option<u64>,
    order: Option<Vec<Option<Displacement>>>,
}

impl Sample {
    fn new(fates: &DirectionFates, window: Window) -> Self {
        let packets: Vec<_> = fates.packets.iter().copied().filter(|(at, _)| window.contains(*at)).collect();
        let within = |at: &&TestTime| window.contains(**at);
        let order = fates.order.as_ref().map(|order| {
            order.iter().filter(|(at, _)| window.contains(*at)).map(|(_, displacement)| *displacement).collect()
        });
        Self {
            runs: LossRuns::from_fates(packets.iter().map(|(_, fate)| is_lost(*fate))),
            copies: fates.copies.as_ref().map(|copies| copies.iter().filter(within).count() as u64),
            order,
            packets,
        }
    }

    /// The packets of several flows: what is known of each is known of all.
    fn and(mut self, other: Self) -> Self {
        self.packets.extend(other.packets);
        let joined = |mut mine: Vec<_>, others: Vec<_>| {
            mine.extend(others);
            mine
        };
        Self {
            packets: self.packets,
            runs: self.runs.and(other.runs),
            copies: self.copies.zip(other.copies).map(|(mine, others)| mine + others),
            order: self.order.zip(other.order).map(|(mine, others)| joined(mine, others)),
        }
    }

    fn fate(mut self, window: Window, round_trip: Delay) -> Option<PacketFate> {
        if self.packets.is_empty() {
            return None;
        }
        self.packets.sort_by_key(|(at, _)| *at);
        let count = |wanted: Fate| self.packets.iter().filter(|(_, fate)| *fate == wanted).count() as u64;
        let (arrived, late, unattributed) = (count(Fate::Arrived), count(Fate::Late), count(Fate::Open));
        let (sent, lost) = (self.packets.len() as u64, count(Fate::Lost) + late);
        let interval = if unattributed > 0 { None } else { self.interval(lost, window, round_trip) };
        Some(PacketFate {
            sent,
            arrived,
            lost,
            late,
            unattributed,
            duplicated: self.copies,
            share_least: lost as f64 / sent as f64,
            share_most: (lost + unattributed) as f64 / sent as f64,
            share_ci95_low: interval.map(|interval| interval.low),
            share_ci95_high: interval.map(|interval| interval.high),
            loss_runs: (unattributed == 0).then(|| self.runs.summary()),
            reordering: self.order.map(Reordering::from_displacements),
        })
    }

    /// The interval of the share of lost packets, which are in the order of time.
    fn interval(&self, lost: u64, window: Window, round_trip: Delay) -> Option<ConfidenceInterval> {
        let n = self.packets.len();
        if lost == 0 {
            return Some(ConfidenceInterval { low: 0.0, high: (3.0 / n as f64).min(1.0) });
        }
        let indicator = |fate: Fate| if is_lost(fate) { 1.0 } else { 0.0 };
        let bootstrap = BlockBootstrap::new(window, block_length(window, round_trip, self.remembered(window)))?;
        let losses = bootstrap.sums(self.packets.iter().map(|(at, fate)| (*at, indicator(*fate))));
        let packets = bootstrap.sums(self.packets.iter().map(|(at, _)| (*at, 1.0)));
        bootstrap.interval(|resample| losses.sum(resample) / packets.sum(resample))
    }

    /// For how long a loss makes another likelier.
    fn remembered(&self, window: Window) -> Duration {
        let length = window.length();
        let cells = (length.as_nanos() / MEMORY_CELL.as_nanos()).clamp(1, MOST_MEMORY_CELLS) as usize;
        let mut lost = vec![0.0; cells];
        for (at, _) in self.packets.iter().filter(|(_, fate)| is_lost(*fate)) {
            let past = at.since(window.from).0.max(0).cast_unsigned();
            let cell = u128::from(past) * cells as u128 / length.as_nanos().max(1);
            lost[(cell as usize).min(cells - 1)] += 1.0;
        }
        Duration::try_from_secs_f64(length.as_secs_f64() * memory(&lost) / cells as f64).unwrap_or_default()
    }
}

fn is_lost(fate: Fate) -> bool {
    matches!(fate, Fate::Lost | Fate::Late)
}

/// Returns the flows of UDP probes that are pooled: those of the classes of headlines.
pub(crate) fn pooled_probes<'f, 'a>(attributed: &'f [Attributed<'a>]) -> Vec<&'f Attributed<'a>> {
    let probes = || attributed.iter().filter(|entry| entry.flow.kind() == FlowKind::UdpProbe);
    let sent =
        probes().filter(|entry| Direction::ALL.iter().any(|direction| !entry.fates.get(*direction).packets.is_empty()));
    let classes = HeadlineClasses::among(sent.map(|entry| entry.flow.class));
    probes().filter(|entry| classes.contains(entry.flow.class)).collect()
}

/// The fate of the packets of these flows, pooled and each.
pub(crate) fn packet_fates(attributed: &[Attributed<'_>], judgement: &Judgement<'_>, round_trip: Delay) -> PacketFates {
    let of = |flows: &[&Attributed<'_>], direction| direction_fate(flows, direction, judgement, round_trip);
    let probes = pooled_probes(attributed);
    let flow = |entry: &Attributed<'_>| {
        let both = ByDirection::each(|direction| of(&[entry], direction));
        Some(FlowFate { flow: entry.flow.into(), up: both.up?, down: both.down? })
    };
    PacketFates {
        up: of(&probes, Direction::Up),
        down: of(&probes, Direction::Down),
        flows: attributed.iter().filter_map(flow).collect(),
    }
}

fn direction_fate(
    flows: &[&Attributed<'_>],
    direction: Direction,
    judgement: &Judgement<'_>,
    round_trip: Delay,
) -> Option<DirectionFate> {
    let evidence = flows.iter().map(|entry| entry.evidence).min()?;
    let within = |window: Window| {
        let samples = flows.iter().map(|entry| Sample::new(entry.fates.get(direction), window));
        samples.reduce(Sample::and)?.fate(window, round_trip)
    };
    let phase = |phase: Phase| within(judgement.window(phase)?);
    // The survey before the baseline disturbs itself.
    let windows = || judgement.phases.iter().filter(|entry| entry.phase != Phase::Survey).map(|entry| entry.window);
    let (from, to) = (windows().map(|window| window.from).min(), windows().map(|window| window.to).max());
    let all = from.zip(to).and_then(|(from, to)| within(Window { from, to }));
    Some(DirectionFate {
        evidence,
        idle: phase(Phase::Idle),
        load: phase(Phase::Load),
        after: phase(Phase::After),
        all,
    })
}

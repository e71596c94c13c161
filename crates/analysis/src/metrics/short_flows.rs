//! Short flows: how long a few octets take over a new connection, and at which rate.

use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, Transfer};
use rrul_model::phase::{PhaseWindow, reset_at};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};
use serde::Serialize;

use crate::analysis::FlowLabel;
use crate::join::SHORT_FLOW;
use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::unloaded::ByLoad;
use crate::statistics::percentile::{DelayStatistics, percentile};

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Short flows",
    path: "short_flows",
    about: "Transfers of a given size, each over a new TCP connection, begun open loop at the instants of a Poisson process \
        (flow type `short_flow`; spec, \"Short Flow Transfer Rate\"). The same schedule runs idle and loaded.",
    words: &[
        MetricWord::new(
            "{groups,flows}[].{unloaded,load,after}",
            "[transfers](#transfers-in-one-phase) that were begun before the load (phases `before` and `idle`), in the \
             scored window, after the load; `null` without any",
            "",
            "spec, Variables Under Test",
        ),
        MetricWord::new(
            "{groups,flows}[].loaded_over_unloaded",
            "median completion time under load over that before it; `null` when either is unknown or falls on a transfer \
             that was not completed",
            "ratio",
            "",
        ),
        MetricWord::new(
            "groups[].direction, groups[].size_octets, groups[].class, groups[].family",
            "which: the way of the octets, how many, class and family of the connection",
            "",
            "",
        ),
        MetricWord::new("flows[].flow", "which", "", ""),
    ],
};

/// The words for one phase.
pub(crate) const TRANSFERS: MetricGroup = MetricGroup {
    title: "Transfers in one phase",
    path: "#transfers",
    about: "A transfer is given up after 30 s, and all that go on when listening ends. Of those that were begun in the last \
        5 s before that, all of a flow count when each came to an end of its own, and none otherwise.",
    words: &[
        MetricWord::new(
            "completion",
            "[statistics](#statistics-of-delays) of the time from `connect` until the client knows that the receiver has \
             every octet: at the last octet of a download, at the confirmation of an upload. Transfers that were not \
             completed count as infinitely late (`lost`)",
            "ns",
            "",
        ),
        MetricWord::new(
            "rate_p50_bps",
            "size over completion time at the median; `null` when that falls on a transfer that was not completed",
            "bit/s",
            "",
        ),
        MetricWord::new(
            "rate_p5_bps",
            "the same of the slowest of twenty: size over the 95th percentile of the completion time",
            "bit/s",
            "",
        ),
        MetricWord::new("retried", "transfers of which a SYN was sent again, by the client's kernel", "count", ""),
        MetricWord::new("unanswered", "given up without a handshake", "count", ""),
        MetricWord::new("broken", "connected, and broken or given up before the last octet", "count", ""),
        MetricWord::new("refused", "refused: reset, or the server said it takes no more", "count", ""),
        MetricWord::new("impossible", "that the client's host or the network called impossible", "count", ""),
    ],
};

/// Those that were begun less than this before the end of listening, or of the phase at whose end they are reset, count as a
/// whole or not at all.
const LATE: Duration = Duration::from_secs(5);

/// The short flows of a test.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ShortFlows {
    /// Those of one kind.
    pub groups: Vec<TransferGroup>,
    /// Those of each flow.
    pub flows: Vec<FlowTransfers>,
}

/// What is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TransferKind {
    /// Which way the octets travel.
    pub direction: Direction,
    /// How many.
    #[serde(rename = "size_octets")]
    pub size: ByteCount,
    /// The class.
    pub class: ServiceClass,
    /// The family.
    pub family: AddressFamily,
}

/// Transfers of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferGroup {
    /// Which.
    #[serde(flatten)]
    pub kind: TransferKind,
    /// By what the load did.
    #[serde(flatten)]
    pub transfers: ByLoad<TransferStatistics>,
    /// Median under load over that before it.
    pub loaded_over_unloaded: Option<f64>,
}

/// Transfers of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowTransfers {
    /// Who.
    pub flow: FlowLabel,
    /// By what the load did.
    #[serde(flatten)]
    pub transfers: ByLoad<TransferStatistics>,
    /// Median under load over that before it.
    pub loaded_over_unloaded: Option<f64>,
}

/// Transfers that were begun in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransferStatistics {
    /// Until the receiver had everything; transfers that were not completed count as infinitely late.
    pub completion: DelayStatistics,
    /// Size over completion time at the median.
    pub rate_p50_bps: Option<BitRate>,
    /// The same of the slowest of twenty.
    pub rate_p5_bps: Option<BitRate>,
    /// Of which a SYN was sent again.
    pub retried: u64,
    /// Given up without a handshake.
    pub unanswered: u64,
    /// Broken or given up after the handshake.
    pub broken: u64,
    /// Refused.
    pub refused: u64,
    /// Not possible.
    pub impossible: u64,
}

impl TransferStatistics {
    fn of(rows: &[&Transfer]) -> Option<Self> {
        let count = |wanted: &dyn Fn(&Transfer) -> bool| rows.iter().filter(|row| wanted(row)).count() as u64;
        let reached = |how: u8| count(&|row: &Transfer| row.reached == how);
        let completed = || rows.iter().filter(|row| row.reached == Transfer::COMPLETE);
        let (complete, unanswered) = (reached(Transfer::COMPLETE), reached(Transfer::UNANSWERED));
        let (broken, refused) = (reached(Transfer::CONNECTED), reached(Transfer::REFUSED));
        let missing = rows.len() as u64 - complete;
        // Of each transfer its own size: those of one flow are alike, but nothing says so.
        let mut pace: Vec<_> = completed().map(|row| Pace { took: row.took, octets: row.octets }).collect();
        pace.sort_unstable_by(|one, other| one.slowness().total_cmp(&other.slowness()));
        let rate = |per_mille| percentile(&pace, missing, per_mille).and_then(Pace::rate);
        Some(Self {
            completion: DelayStatistics::of(completed().map(|row| row.took).collect(), missing)?,
            rate_p50_bps: rate(500),
            rate_p5_bps: rate(950),
            retried: count(&|row| row.syn_retransmits > 0),
            unanswered,
            broken,
            refused,
            impossible: missing - unanswered - broken - refused,
        })
    }
}

/// How fast one transfer was.
#[derive(Debug, Clone, Copy)]
struct Pace {
    took: Delay,
    octets: ByteCount,
}

impl Pace {
    fn slowness(&self) -> f64 {
        self.took.0 as f64 / self.octets.0.max(1) as f64
    }

    fn rate(self) -> Option<BitRate> {
        let took = u64::try_from(self.took.0).ok().filter(|took| *took > 0)?;
        Some(self.octets.per(Duration::from_nanos(took)))
    }
}

/// The transfers of the plan's flows of that type; `phases` has the scored window in place of the load.
pub(crate) fn short_flows(recording: &Recording, phases: &[PhaseWindow], end: TestTime) -> ShortFlows {
    let mut rows: HashMap<FlowId, Vec<Transfer>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transfer.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let own = |spec: &FlowSpec| {
        let mut own = rows.get(&spec.id).cloned().unwrap_or_default();
        own.sort_by_key(|row| row.sequence);
        own.dedup_by_key(|row| row.sequence);
        let end = end.min(reset_at(&recording.header.phases, spec.window));
        let late = |row: &Transfer| row.started + LATE > end;
        let cut = |row: &Transfer| [Transfer::UNANSWERED, Transfer::CONNECTED].contains(&row.reached);
        if own.iter().any(|row| late(row) && cut(row)) {
            own.retain(|row| !late(row));
        }
        own
    };
    let specs = || recording.header.flows.iter().filter(|flow| flow.flow_type == SHORT_FLOW);
    let flows: Vec<(&FlowSpec, Vec<Transfer>)> = specs().map(|spec| (spec, own(spec))).collect();
    let by_load = |rows: &[&Transfer]| ByLoad::of(phases, rows, |row| row.started, TransferStatistics::of);
    let ratio = |transfers: &ByLoad<TransferStatistics>| transfers.ratio(|statistics| statistics.completion.p50);
    let mut found = ShortFlows::default();
    let mut kinds: Vec<(TransferKind, Vec<&Transfer>)> = Vec::new();
    for (spec, rows) in &flows {
        let transfers = by_load(&rows.iter().collect::<Vec<_>>());
        let loaded_over_unloaded = ratio(&transfers);
        found.flows.push(FlowTransfers { flow: (*spec).into(), transfers, loaded_over_unloaded });
        let kind = TransferKind {
            direction: spec.direction.unwrap_or(Direction::Down),
            size: spec.parameters.size("size", ByteCount(0)),
            class: spec.class,
            family: spec.family,
        };
        match kinds.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, all)) => all.extend(rows),
            None => kinds.push((kind, rows.iter().collect())),
        }
    }
    found.groups = kinds
        .into_iter()
        .map(|(kind, rows)| {
            let transfers = by_load(&rows);
            TransferGroup { kind, loaded_over_unloaded: ratio(&transfers), transfers }
        })
        .collect();
    found
}

//! Short flows: how long a few bytes take over a new connection, and at which rate.

use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, Transfer};
use rrul_model::phase::{PhaseWindow, reset_at};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::delay::unloaded::{ByLoad, loaded_phases};
use crate::statistics::percentile::DelayStatistics;
use crate::statistics::product_limit::{Observed, product_limit, quantile};

/// When a transfer is given up.
const LONGEST: Delay = Delay(30_000_000_000);
/// What broke less than this before its flow was stopped was cut off by that.
const STOPPING: Duration = Duration::from_millis(500);

/// The short flows of a test.
///
/// Transfers of a given size, each over a new TCP connection, begun open loop at the instants of a Poisson process
/// (flow type `short_flow`; spec, "Short Flow Transfer Rate"). The same schedule runs idle and loaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Short flows")]
pub struct ShortFlows {
    /// Transfers of one kind.
    pub groups: Vec<TransferGroup>,
    /// Transfers of each flow.
    pub flows: Vec<FlowTransfers>,
}

/// The kind of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransferKind {
    /// Direction of the data.
    pub direction: Direction,
    /// Size of a transfer.
    #[serde(rename = "size_octets")]
    pub size: ByteCount,
    /// Service class of the connection.
    pub class: ServiceClass,
    /// Address family of the connection.
    pub family: AddressFamily,
}

/// Transfers of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TransferGroup {
    /// What its transfers have in common.
    #[serde(flatten)]
    pub kind: TransferKind,
    /// By what the load did.
    #[serde(flatten)]
    pub transfers: ByLoad<TransferStatistics>,
    /// Median completion time under load over that before it. Null when either is unknown or falls on a transfer that
    /// was not completed.
    ///
    /// Unit: ratio.
    pub loaded_over_unloaded: Option<f64>,
}

/// Transfers of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowTransfers {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// By what the load did.
    #[serde(flatten)]
    pub transfers: ByLoad<TransferStatistics>,
    /// Median completion time under load over that before it. Null when either is unknown or falls on a transfer that
    /// was not completed.
    ///
    /// Unit: ratio.
    pub loaded_over_unloaded: Option<f64>,
}

/// Transfers begun in one phase.
///
/// A transfer is given up after 30 s. One still under way at the end of the load or the test is cut off (censored): it
/// would have taken longer. Percentiles are of the product-limit estimate (Kaplan and Meier 1958), which counts it as
/// under way until then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Transfers in one phase")]
pub struct TransferStatistics {
    /// [Statistics](#statistics-of-delays) of the time from `connect` until the client knows that the receiver has
    /// every byte: at the last byte of a download, at the confirmation of an upload. Transfers that failed count as
    /// infinitely late (`lost`); those that were cut off are in `n` and not in `lost`.
    pub completion: DelayStatistics,
    /// Size over the median completion time. `null` if the median falls on an incomplete transfer.
    pub rate_p50_bps: Option<BitRate>,
    /// Size over the 95th percentile of the completion time: the slowest of twenty.
    pub rate_p5_bps: Option<BitRate>,
    /// Still under way at the end of the load or of the test.
    ///
    /// Unit: count.
    pub cut_short: u64,
    /// Transfers of which a SYN was retransmitted, by the client's kernel.
    ///
    /// Unit: count.
    pub retried: u64,
    /// Given up without a handshake.
    ///
    /// Unit: count.
    pub unanswered: u64,
    /// Connected, and broken or given up before the last byte.
    ///
    /// Unit: count.
    pub broken: u64,
    /// Refused: reset, or the server accepts no more.
    ///
    /// Unit: count.
    pub refused: u64,
    /// Impossible according to the client's host or the network.
    ///
    /// Unit: count.
    pub impossible: u64,
}

impl TransferStatistics {
    fn from_transfers(all: &[&Followed]) -> Option<Self> {
        let whole = || all.iter().filter(|one| one.cut_off.is_none()).map(|one| &one.row);
        let reached = |how: u8| whole().filter(|row| row.reached == how).count() as u64;
        let completed = || whole().filter(|row| row.reached == Transfer::COMPLETE);
        let (complete, unanswered) = (reached(Transfer::COMPLETE), reached(Transfer::UNANSWERED));
        let (broken, refused) = (reached(Transfer::CONNECTED), reached(Transfer::REFUSED));
        let missing = whole().count() as u64 - complete;
        let cut_off: Vec<Delay> = all.iter().filter_map(|one| one.cut_off).collect();
        // Of each transfer its own size: those of one flow are alike, but nothing says so.
        let pace: Vec<Pace> = completed().map(|row| Pace { took: row.took, octets: row.octets }).collect();
        let took = pace.iter().map(|pace| Observed::Took(pace.slowness()));
        let longer = all
            .iter()
            .filter_map(|one| Some(Observed::Longer(Pace { took: one.cut_off?, octets: one.row.octets }.slowness())));
        let never = std::iter::repeat_n(Observed::Never, usize::try_from(missing).ok()?);
        let curve = product_limit(&took.chain(longer).chain(never).collect::<Vec<_>>());
        let rate = |per_mille| {
            let slowness = quantile(&curve, per_mille)?;
            pace.iter().find(|pace| pace.slowness().total_cmp(&slowness).is_eq())?.rate()
        };
        Some(Self {
            completion: DelayStatistics::with_cut_off(completed().map(|row| row.took).collect(), missing, &cut_off)?,
            rate_p50_bps: rate(500),
            rate_p5_bps: rate(950),
            cut_short: cut_off.len() as u64,
            retried: all.iter().filter(|one| one.row.syn_retransmits > 0).count() as u64,
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

/// A transfer and the time after which it was cut off, if it was.
#[derive(Debug, Clone, Copy)]
struct Followed {
    row: Transfer,
    cut_off: Option<Delay>,
}

/// Returns after how long a transfer was cut off: by the end of the load if it began under load, else when its flow was stopped.
/// `None` when it came to an end of its own before.
fn cut_off(row: &Transfer, under_load: Option<Window>, stopped: TestTime) -> Option<Delay> {
    let ended = row.started + Duration::from_nanos(row.took.0.max(0).cast_unsigned());
    let until = under_load.filter(|load| load.contains(row.started)).map(|load| load.to);
    let outlasts = |until: TestTime| ended > until;
    let given_up = row.took >= LONGEST;
    let cut = match row.reached {
        Transfer::COMPLETE => until.is_some_and(outlasts),
        Transfer::UNANSWERED => !given_up,
        Transfer::CONNECTED => !given_up && (until.is_some_and(outlasts) || outlasts(stopped - STOPPING)),
        _ => false,
    };
    cut.then(|| until.map_or(row.took, |until| row.took.min(until.since(row.started))))
}

/// The transfers of the plan's flows of that type; `phases` has the scored window in place of the load.
pub(crate) fn short_flows(recording: &Recording, phases: &[PhaseWindow], end: TestTime) -> ShortFlows {
    let mut rows: HashMap<FlowId, Vec<Transfer>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transfer.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let header = &recording.header;
    let under_load = loaded_phases(&header.phases);
    let own = |spec: &FlowSpec| -> Vec<Followed> {
        let mut own = rows.get(&spec.id).cloned().unwrap_or_default();
        own.sort_unstable_by_key(|row| row.sequence);
        own.dedup_by_key(|row| row.sequence);
        let stopped = end.min(reset_at(&header.phases, spec.window));
        own.into_iter().map(|row| Followed { row, cut_off: cut_off(&row, under_load, stopped) }).collect()
    };
    let specs = || header.flows.iter().filter(|flow| flow.kind() == FlowKind::ShortFlow);
    let flows: Vec<(&FlowSpec, Vec<Followed>)> = specs().map(|spec| (spec, own(spec))).collect();
    let by_load =
        |rows: &[&Followed]| ByLoad::group(phases, rows, |one| one.row.started, TransferStatistics::from_transfers);
    let ratio = |transfers: &ByLoad<TransferStatistics>| transfers.ratio(|statistics| statistics.completion.p50);
    let mut found = ShortFlows::default();
    let mut kinds: Vec<(TransferKind, Vec<&Followed>)> = Vec::new();
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

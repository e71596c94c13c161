//! DNS lookups: time until the answer, and the number without one.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{NameLookup, ObservationPoint};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::Recording;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::delay::unloaded::ByLoad;
use crate::statistics::percentile::DelayStatistics;

/// No lookup is waited for longer than this.
const LONGEST: Delay = Delay(5_000_000_000);
/// A wait is counted from the kernel's stamp of the question, and ended by the program's clock.
const SLACK: Delay = Delay(100_000_000);

/// The DNS lookups of a test.
///
/// DNS lookups over UDP, open loop, each question sent once, A and AAAA together from a new port (flow type
/// `dns_lookup`). With `resolver` `server`, rrul's own server is asked for names that no cache contains, so only the
/// path is measured. `system` is the resolver of the client host, with its cache and forwarders; it may not be beyond
/// the line under test. A resolver that proves nonexistence from its cache (RFC 8198) answers `uncached` names without
/// a query of its own. The same schedule runs idle and loaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "DNS lookups")]
pub struct NameLookups {
    /// Lookups of one kind, by record.
    pub groups: Vec<LookupGroup>,
    /// Lookups of each flow, by record.
    pub flows: Vec<FlowLookups>,
}

/// The kind of a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LookupKind {
    /// Who was asked: `server`, `system`, or an address.
    pub resolver: String,
    /// Which names were asked for: `random`, `cached` or `uncached`.
    pub names: String,
    /// Service class.
    pub class: ServiceClass,
    /// Address family of the question.
    pub family: AddressFamily,
    /// Record that was asked for.
    ///
    /// Source: RFC 1035; RFC 3596.
    pub record: RecordType,
}

/// The kinds of records that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum RecordType {
    /// IPv4 address.
    A,
    /// IPv6 address.
    #[serde(rename = "AAAA")]
    Aaaa,
}

impl RecordType {
    const ALL: [Self; 2] = [Self::A, Self::Aaaa];

    fn is(self, row: &NameLookup) -> bool {
        let code = match self {
            Self::A => 1,
            Self::Aaaa => 28,
        };
        row.record == code
    }
}

/// Lookups of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LookupGroup {
    /// What its lookups have in common.
    #[serde(flatten)]
    pub kind: LookupKind,
    /// By what the load did.
    #[serde(flatten)]
    pub times: ByLoad<LookupStatistics>,
    /// Median time under load over that before it. Null when either is unknown or falls on a lookup without an answer.
    ///
    /// Unit: ratio.
    pub loaded_over_unloaded: Option<f64>,
}

/// Lookups of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowLookups {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Record that was asked for.
    pub record: RecordType,
    /// By what the load did.
    #[serde(flatten)]
    pub times: ByLoad<LookupStatistics>,
    /// Median time under load over that before it. Null when either is unknown or falls on a lookup without an answer.
    ///
    /// Unit: ratio.
    pub loaded_over_unloaded: Option<f64>,
}

/// Lookups begun in one phase.
///
/// A lookup is given up after 5 s as unanswered. One whose wait ended sooner is cut off (censored). Percentiles are of
/// the product-limit estimate (Kaplan and Meier 1958), which counts it as under way until then.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Lookups in one phase")]
pub struct LookupStatistics {
    /// [Statistics](#statistics-of-delays) of the time from the question to the answer, at the client; lookups that
    /// were not answered, refused or impossible count as infinitely late (`lost`); those that were cut off are in `n`
    /// and not in `lost`.
    pub time: DelayStatistics,
    /// Answered with the record, or that no such name or record exists.
    ///
    /// Unit: count. Source: RFC 1035.
    pub answered: u64,
    /// Given up without an answer.
    ///
    /// Unit: count.
    pub unanswered: u64,
    /// Still waited for when the wait was ended before 5 s.
    ///
    /// Unit: count.
    pub cut_short: u64,
    /// Answered with any response code but 0 and 3.
    ///
    /// Unit: count. Source: RFC 1035.
    pub refused: u64,
    /// Lookups that could not be sent, or whose server does not listen.
    ///
    /// Unit: count.
    pub impossible: u64,
}

impl LookupStatistics {
    fn from_rows(rows: &[&NameLookup]) -> Option<Self> {
        let count = |reached: u8| rows.iter().filter(|row| row.reached == reached).count() as u64;
        let answered: Vec<_> =
            rows.iter().filter(|row| row.reached == NameLookup::ANSWERED).map(|row| row.took).collect();
        let given_up = |row: &&&NameLookup| row.took + SLACK >= LONGEST;
        let waited = || rows.iter().filter(|row| row.reached == NameLookup::UNANSWERED);
        let unanswered = waited().filter(given_up).count() as u64;
        let cut_off: Vec<Delay> = waited().filter(|row| !given_up(row)).map(|row| row.took).collect();
        let missing = (rows.len() - answered.len() - cut_off.len()) as u64;
        let refused = count(NameLookup::REFUSED);
        Some(Self {
            answered: answered.len() as u64,
            unanswered,
            cut_short: cut_off.len() as u64,
            refused,
            impossible: missing - unanswered - refused,
            time: DelayStatistics::with_cut_off(answered, missing, &cut_off)?,
        })
    }
}

/// The rows of one flow.
struct Own<'a> {
    spec: &'a FlowSpec,
    rows: Vec<NameLookup>,
}

impl Own<'_> {
    fn kind(&self, record: RecordType) -> LookupKind {
        let text = |name: &str| self.spec.parameters.text(name).unwrap_or_default().to_owned();
        let (resolver, names) = (text("resolver"), text("names"));
        LookupKind { resolver, names, class: self.spec.class, family: self.spec.family, record }
    }
}

/// The lookups of the plan's flows of that type; `phases` has the scored window in place of the load.
pub(crate) fn name_lookups(recording: &Recording, phases: &[PhaseWindow]) -> NameLookups {
    let mut rows: HashMap<FlowId, Vec<NameLookup>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.name_lookup.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let flows: Vec<Own> = recording
        .header
        .flows
        .iter()
        .filter(|flow| flow.kind() == FlowKind::DnsLookup)
        .map(|spec| {
            let mut own = rows.remove(&spec.id).unwrap_or_default();
            own.sort_unstable_by_key(|row| (row.sequence, row.record));
            own.dedup_by_key(|row| (row.sequence, row.record));
            Own { spec, rows: own }
        })
        .collect();
    let times = |rows: &[&NameLookup]| ByLoad::group(phases, rows, |row| row.started, LookupStatistics::from_rows);
    let mut found = NameLookups::default();
    let mut kinds: Vec<(LookupKind, Vec<&NameLookup>)> = Vec::new();
    for own in &flows {
        for record in RecordType::ALL {
            let rows: Vec<&NameLookup> = own.rows.iter().filter(|row| record.is(row)).collect();
            let by_load = times(&rows);
            let ratio = ratio(&by_load);
            found.flows.push(FlowLookups {
                flow: own.spec.into(),
                record,
                times: by_load,
                loaded_over_unloaded: ratio,
            });
            let kind = own.kind(record);
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, all)) => all.extend(rows),
                None => kinds.push((kind, rows)),
            }
        }
    }
    found.groups = kinds
        .into_iter()
        .map(|(kind, rows)| {
            let times = times(&rows);
            LookupGroup { kind, loaded_over_unloaded: ratio(&times), times }
        })
        .collect();
    found
}

fn ratio(times: &ByLoad<LookupStatistics>) -> Option<f64> {
    times.ratio(|statistics| statistics.time.p50)
}

//! Look-ups of names: how long until the answer, and how many got none.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{NameLookup, ObservationPoint};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::Recording;
use rrul_model::units::Delay;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::delay::unloaded::ByLoad;
use crate::statistics::percentile::DelayStatistics;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Look-ups of names",
    path: "name_lookups",
    about: "DNS look-ups over UDP, open loop, each asked once and never again, A and AAAA together from a new port (flow type \
        `dns_lookup`). `resolver` is `server` where rrul's own server is asked for names that no cache holds, so that the \
        path alone is measured; `system` is the resolver of the client's host, cache and forwarders included, and need not \
        be reached over the line under test at all. A resolver that proves names not to exist from what it has (RFC 8198) \
        answers for `uncached` names without asking anybody. The same schedule runs idle and loaded.",
    words: &[
        MetricWord::new(
            "{groups,flows}[].{unloaded,load,after}",
            "[look-ups](#look-ups-in-one-phase) that were begun before the load (phases `survey` and `idle`), under load (in \
             phase `web`; where none was, in the scored window), after the load; `null` without any",
            "",
            "spec, Variables Under Test",
        ),
        MetricWord::new(
            "{groups,flows}[].loaded_over_unloaded",
            "median time under load over that before it; `null` when either is unknown or falls on a look-up without an \
             answer",
            "ratio",
            "",
        ),
        MetricWord::new("groups[].resolver, groups[].names, groups[].class, groups[].family", "which", "", ""),
        MetricWord::new("{groups,flows}[].record", "what was asked for: `A` or `AAAA`", "", "RFC 1035; RFC 3596"),
        MetricWord::new("flows[].flow", "which", "", ""),
    ],
};

/// The words for one phase.
pub(crate) const LOOKUPS: MetricGroup = MetricGroup {
    title: "Look-ups in one phase",
    path: "#lookups",
    about: "A look-up is given up after 5 s and then unanswered. One whose wait was ended sooner is cut off (censored): \
        percentiles are of the product-limit estimate (Kaplan and Meier 1958), in which it counts as under way until then.",
    words: &[
        MetricWord::new(
            "time",
            "[statistics](#statistics-of-delays) of the time from the question to the answer, at the client; look-ups that \
             were not answered, refused or impossible count as infinitely late (`lost`); those that were cut off are in `n` and not \
             in `lost`",
            "ns",
            "",
        ),
        MetricWord::new("answered", "with the record, or that there is no such name or record", "count", "RFC 1035"),
        MetricWord::new("unanswered", "given up without an answer", "count", ""),
        MetricWord::new("cut_short", "still waited for when the wait was ended before 5 s", "count", ""),
        MetricWord::new("refused", "answered with any response code but 0 and 3", "count", "RFC 1035"),
        MetricWord::new(
            "impossible",
            "that could not be sent, or met with a host on which nobody listens",
            "count",
            "",
        ),
    ],
};

/// Longer than this no look-up is waited for.
const LONGEST: Delay = Delay(5_000_000_000);
/// A wait is counted from the kernel's stamp of the question, and ended by the program's clock.
const SLACK: Delay = Delay(100_000_000);

/// The look-ups of a test.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NameLookups {
    /// Those of one kind, by record.
    pub groups: Vec<LookupGroup>,
    /// Those of each flow, by record.
    pub flows: Vec<FlowLookups>,
}

/// What is told apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookupKind {
    /// Who was asked: `server`, `system`, or an address.
    pub resolver: String,
    /// For which names: `random`, `cached`, `uncached`.
    pub names: String,
    /// The class.
    pub class: ServiceClass,
    /// The family over which.
    pub family: AddressFamily,
    /// What was asked for.
    pub record: RecordType,
}

/// The kinds of records that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

/// Look-ups of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookupGroup {
    /// Which.
    #[serde(flatten)]
    pub kind: LookupKind,
    /// By what the load did.
    #[serde(flatten)]
    pub times: ByLoad<LookupStatistics>,
    /// Median under load over that before it.
    pub loaded_over_unloaded: Option<f64>,
}

/// Look-ups of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowLookups {
    /// Who.
    pub flow: FlowLabel,
    /// What was asked for.
    pub record: RecordType,
    /// By what the load did.
    #[serde(flatten)]
    pub times: ByLoad<LookupStatistics>,
    /// Median under load over that before it.
    pub loaded_over_unloaded: Option<f64>,
}

/// Look-ups that were begun in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LookupStatistics {
    /// Until the answer; look-ups that got none that helps count as infinitely late.
    pub time: DelayStatistics,
    /// Answered.
    pub answered: u64,
    /// Given up.
    pub unanswered: u64,
    /// Still waited for when the wait was ended sooner.
    pub cut_short: u64,
    /// The resolver cannot or will not.
    pub refused: u64,
    /// Could not be sent.
    pub impossible: u64,
}

impl LookupStatistics {
    fn of(rows: &[&NameLookup]) -> Option<Self> {
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

/// The look-ups of the plan's flows of that type; `phases` has the scored window in place of the load.
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
            own.sort_by_key(|row| (row.sequence, row.record));
            own.dedup_by_key(|row| (row.sequence, row.record));
            Own { spec, rows: own }
        })
        .collect();
    let times = |rows: &[&NameLookup]| ByLoad::of(phases, rows, |row| row.started, LookupStatistics::of);
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

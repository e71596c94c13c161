//! Several runs against each other: which is better, by how much, and how sure that is.
//!
//! The first group of runs is the reference; every other is compared with it, figure by figure. docs/comparison.md says
//! how, docs/comparison.schema.json what [`Comparison`] is as JSON.
//!
//! - [`metric`]: what is compared, and the least difference that matters
//! - [`run`]: what is kept of a run; [`group`]: runs that belong together
//! - [`workload`]: whether runs did the same
//! - [`difference`]: two groups in one figure; [`span`]: what its interval rests on; [`finding`]: what it amounts to

pub(crate) mod compared_scores;
pub mod competition;
pub mod difference;
mod figures;
pub mod finding;
pub mod group;
pub mod metric;
pub mod run;
pub mod run_confidence;
pub mod span;
pub mod workload;

use schemars::JsonSchema;
use serde::Serialize;

use self::difference::Difference;
use self::finding::Finding;
use self::group::{Group, GroupKey, interleaved};
use self::metric::ComparedMetric;
use self::run::ComparedRun;
use self::workload::StreamTotals;
use crate::statistics::holm;

/// The name and version of the form. Members may be added within a version; none changes its meaning or goes.
pub const FORMAT: &str = "rrul-comparison/1";

/// Several groups of runs against the first of them, as printed by `rrul compare --json`.
///
/// Base units: nanoseconds, bits per second; shares are 0 to 1. Members may be added within this version. docs/comparison.md
/// defines each figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Name and version of the form, `rrul-comparison/1`.
    #[schemars(extend("const" = FORMAT))]
    pub format: &'static str,
    /// Every run, in the order given.
    pub runs: Vec<ComparedRun>,
    /// Which runs belong together; the first group is the reference.
    pub groups: Vec<Group>,
    /// Why the runs do not compare; empty unless `--anyway` was given.
    pub conflicts: Vec<String>,
    /// Other differences between the runs.
    pub notes: Vec<String>,
    /// Runs whose numbers of bulk streams differ from those of the first run.
    pub unequal_streams: Vec<UnequalStreams>,
    /// Each other group against the reference.
    pub pairs: Vec<Pair>,
}

/// A run whose number of bulk streams is not that of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnequalStreams {
    /// Its place in the list of runs.
    pub run: usize,
    /// Streams of the first run, and of this one.
    #[serde(flatten)]
    pub streams: StreamTotals,
}

/// One group against the reference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// The other group's place in the list of groups.
    pub group: usize,
    /// Whether the runs took turns; null for one run each, or when their times are unknown.
    pub interleaved: Option<bool>,
    /// The verdict on delay and on its cost in goodput.
    pub overall: Overall,
    /// Every compared figure.
    pub metrics: Vec<Difference>,
}

/// What a person notices of a change, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Overall {
    /// Of `added_delay_p50` and `added_delay_p95` together.
    pub delay: Finding,
    /// Of goodput, server to client.
    pub download: Finding,
    /// Of goodput, client to server.
    pub upload: Finding,
}

impl Comparison {
    /// Compares these runs, each by itself or grouped by what they have in common. The same runs give the same comparison.
    pub fn new(runs: Vec<ComparedRun>, by: Option<GroupKey>) -> Self {
        let groups = Group::all(&runs, by);
        let (conflicts, notes) = said_together(&runs);
        let reference = groups.first().map(|group| group.members(&runs)).unwrap_or_default();
        let pair = |(index, group): (usize, &Group)| Pair::new(index, &reference, &group.members(&runs));
        let pairs = groups.iter().enumerate().skip(1).map(pair).collect();
        let unequal = |(run, other): (usize, &ComparedRun)| {
            let streams = runs.first()?.workload.stream_totals(&other.workload)?;
            Some(UnequalStreams { run, streams })
        };
        let unequal_streams = runs.iter().enumerate().skip(1).filter_map(unequal).collect();
        Self { format: FORMAT, groups, conflicts, notes, unequal_streams, pairs, runs }
    }

    /// Whether it is doubtful: a run is doubtful or not complete, or the runs did not do the same.
    pub fn is_doubtful(&self) -> bool {
        !self.conflicts.is_empty() || self.runs.iter().any(ComparedRun::is_doubtful)
    }
}

impl Pair {
    fn new(group: usize, reference: &[&ComparedRun], other: &[&ComparedRun]) -> Self {
        let mut metrics: Vec<Difference> =
            ComparedMetric::ALL.into_iter().map(|metric| Difference::new(metric, reference, other)).collect();
        let tested: Vec<f64> = metrics.iter().filter_map(|metric| metric.p).collect();
        let with_p = metrics.iter_mut().filter(|metric| metric.p.is_some());
        for (metric, p) in with_p.zip(holm::adjusted(&tested)) {
            metric.p_holm = Some(p);
        }
        Self { group, interleaved: interleaved(reference, other), overall: Overall::new(&metrics), metrics }
    }

    /// How they differ in one figure.
    pub fn metric(&self, wanted: ComparedMetric) -> Option<&Difference> {
        self.metrics.iter().find(|found| found.metric == wanted)
    }
}

impl Overall {
    fn new(metrics: &[Difference]) -> Self {
        let of = |wanted: &[ComparedMetric]| {
            let found = metrics.iter().filter(|found| wanted.contains(&found.metric)).map(|found| found.verdict);
            Finding::together(&found.collect::<Vec<_>>())
        };
        Self {
            delay: of(&[ComparedMetric::AddedDelayP50, ComparedMetric::AddedDelayP95]),
            download: of(&[ComparedMetric::Download]),
            upload: of(&[ComparedMetric::Upload]),
        }
    }
}

/// Why the runs do not compare, and what else they do not have in common, each with the file in which it is otherwise
/// than in the first.
fn said_together(runs: &[ComparedRun]) -> (Vec<String>, Vec<String>) {
    let (mut conflicts, mut notes) = (Vec::new(), Vec::new());
    let Some((first, others)) = runs.split_first() else { return (conflicts, notes) };
    let say = |list: &mut Vec<String>, said: Vec<String>, file: &str| {
        list.extend(said.into_iter().map(|text| format!("{} and {file}: {text}", first.file)));
    };
    for (index, run) in others.iter().enumerate() {
        say(&mut conflicts, first.workload.conflicts(&run.workload), &run.file);
        say(&mut notes, first.workload.remarks(&run.workload), &run.file);
        if let Some(before) = runs[..=index].iter().find(|before| before.fingerprint == run.fingerprint) {
            notes.push(format!("{} and {}: the same recording", before.file, run.file));
        }
    }
    (conflicts, notes)
}

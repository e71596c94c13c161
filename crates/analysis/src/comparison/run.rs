//! What is kept of one run for comparing it.

use rrul_model::random::fnv1a;
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use super::compared_scores::ComparedScores;
use super::figures::{Figures, figures};
use super::workload::Workload;
use crate::analysis::Analysis;
use crate::packets::probe_pool::of_one_kind;
use crate::validity::{Reason, Severity, Verdict};

/// One run: its name, whether it can be trusted, and its figures, without its packets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRun {
    /// The recording's file.
    pub file: String,
    /// The user's title; may be empty.
    pub title: String,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// The server as the user named it.
    pub server: String,
    /// The client host's name; may be empty.
    pub client: String,
    /// What was done.
    pub workload: Workload,
    /// Whether its numbers deserve trust.
    pub verdict: Verdict,
    /// Why it is not complete; null when it is.
    pub partial: Option<String>,
    /// Reasons of the verdict, the heaviest first; codes as in docs/metrics.md.
    pub reasons: Vec<Reason>,
    #[serde(skip)]
    pub(crate) figures: Figures,
    /// Of what was observed: the same for the same recording, whatever its name.
    #[serde(skip)]
    pub(crate) fingerprint: u64,
}

impl ComparedRun {
    /// Creates the run of a recording, from its analysis and the name of its file.
    pub fn from_recording(file: &str, recording: &Recording, analysis: &Analysis) -> Self {
        Self::with_scores(file, recording, analysis, &ComparedScores::new(&analysis.scores))
    }

    /// The same, of an analysis without scores, which are these.
    pub(crate) fn with_scores(file: &str, recording: &Recording, analysis: &Analysis, scores: &ComparedScores) -> Self {
        let client = recording.header.client.host.clone();
        Self { client, ..Self::with_workload(file, Workload::from_recording(recording), analysis, scores) }
    }

    /// Creates the run of an analysis, of a file with this workload, by an unknown client.
    pub fn new(file: &str, workload: Workload, analysis: &Analysis) -> Self {
        Self::with_workload(file, workload, analysis, &ComparedScores::new(&analysis.scores))
    }

    fn with_workload(file: &str, workload: Workload, analysis: &Analysis, scores: &ComparedScores) -> Self {
        let fingerprint = fingerprint(analysis);
        let weighs = |reason: &&Reason| reason.severity != Severity::Info;
        Self {
            file: file.to_owned(),
            title: analysis.test.title.trim().to_owned(),
            created: analysis.test.created.clone(),
            server: analysis.test.server.clone(),
            client: String::new(),
            workload,
            verdict: analysis.validity.verdict,
            partial: analysis.test.partial.clone(),
            reasons: analysis.validity.reasons.iter().filter(weighs).cloned().collect(),
            figures: figures(analysis, scores, fingerprint),
            fingerprint,
        }
    }

    /// Whether it has validity issues.
    pub fn is_doubtful(&self) -> bool {
        self.verdict != Verdict::Valid || self.partial.is_some()
    }
}

/// A hash over when it began, every packet and every rate.
fn fingerprint(analysis: &Analysis) -> u64 {
    let began = analysis.test.created.bytes().map(u64::from);
    let packets = of_one_kind(&analysis.round_trip_delay.flows).into_iter().flat_map(|entry| &entry.series);
    let packets = packets
        .flat_map(|point| [point.at.0.cast_unsigned(), point.delay.map_or(u64::MAX, |delay| delay.0.cast_unsigned())]);
    let rates = analysis.goodput.down.sum_series.iter().chain(&analysis.goodput.up.sum_series);
    let rates = rates.flat_map(|point| [point.at.0.cast_unsigned(), point.rate.0]);
    let pages = analysis.page_loads.iter().flat_map(|page| &page.series).map(|load| load.took.0.cast_unsigned());
    fnv1a(began.chain(packets).chain(rates).chain(pages).flat_map(u64::to_le_bytes))
}

//! What is kept of one run for comparing it.

use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

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
        let client = recording.header.client.host.clone();
        Self { client, ..Self::new(file, Workload::from_recording(recording), analysis) }
    }

    /// Creates the run of an analysis, of a file with this workload, by an unknown client.
    pub fn new(file: &str, workload: Workload, analysis: &Analysis) -> Self {
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
            figures: figures(analysis, fingerprint),
            fingerprint,
        }
    }

    /// Whether it has validity issues.
    pub fn is_doubtful(&self) -> bool {
        self.verdict != Verdict::Valid || self.partial.is_some()
    }
}

/// FNV-1a over when it began, every packet and every rate.
fn fingerprint(analysis: &Analysis) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |value: u64| {
        for octet in value.to_le_bytes() {
            hash = (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    analysis.test.created.bytes().for_each(|octet| take(u64::from(octet)));
    for point in of_one_kind(&analysis.round_trip_delay.flows).into_iter().flat_map(|entry| &entry.series) {
        take(point.at.0.cast_unsigned());
        take(point.delay.map_or(u64::MAX, |delay| delay.0.cast_unsigned()));
    }
    for point in analysis.goodput.down.sum_series.iter().chain(&analysis.goodput.up.sum_series) {
        take(point.at.0.cast_unsigned());
        take(point.rate.0);
    }
    for page in &analysis.page_loads {
        page.series.iter().for_each(|load| take(load.took.0.cast_unsigned()));
    }
    hash
}

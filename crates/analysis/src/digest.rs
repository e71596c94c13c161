//! What an analysis found of a recording as a whole, so that a chart of delays need not analyse all else again.
//!
//! Whether its numbers deserve trust, and which part of the load counts, follow from nearly everything in a recording. The
//! program that has just recorded knows both, and writes them behind the recording. Only the same program reads them again:
//! any other computes everything.

use rrul_model::recording::Recording;
use rrul_model::time::Window;
use serde::{Deserialize, Serialize};

use crate::Analysis;
use crate::analyze::{RoundTrips, described};
use crate::metrics::loss;
use crate::metrics::scored_window::ScoredWindow;
use crate::recorded_time;
use crate::validity::{Confidence, Reason, Severity, Validity, reason_words};

/// Changes with every line of the code that computes.
const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("RRUL_ANALYSIS_SOURCE"));

/// The tables in which delays stand.
pub const DELAY_TABLES: [&str; 6] =
    ["probe_sent", "probes_skipped", "probe_stamped", "probe_received", "reply_stamped", "echo_received"];

/// What was found of a whole and complete recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    program: String,
    /// How many frames the recording had then: one that was damaged since has fewer.
    frames: usize,
    scored: Option<Window>,
    confidence: Option<Confidence>,
    reasons: Vec<Told>,
}

/// A reason whose code was read from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    code: String,
    severity: Severity,
    text: String,
}

impl Digest {
    /// Of a complete recording; `None` of any other, as more may be found of that.
    pub fn of(recording: &Recording, analysis: &Analysis) -> Option<Self> {
        let told = |reason: &Reason| Told {
            code: reason.code.to_owned(),
            severity: reason.severity,
            text: reason.text.clone(),
        };
        analysis.partial.is_none().then(|| Self {
            program: PROGRAM.to_owned(),
            frames: recording.frames.len(),
            scored: analysis.scored.common,
            confidence: analysis.validity.confidence,
            reasons: analysis.validity.reasons.iter().map(told).collect(),
        })
    }

    /// `None` when it says what this program does not say.
    fn validity(&self) -> Option<Validity> {
        let reason = |told: &Told| {
            let word = reason_words().find(|word| word.code == told.code)?;
            Some(Reason { code: word.code, severity: told.severity, text: told.text.clone() })
        };
        let reasons: Option<Vec<Reason>> = self.reasons.iter().map(reason).collect();
        Some(Validity::of(reasons?, self.confidence))
    }
}

/// Of an analysis who, when and what, [`validity`](Analysis::validity), the scored window that both directions have in
/// common, round-trip delay and its loss; all else is empty.
///
/// `None` when another program wrote the digest, or the recording is not whole: then all is to be analysed.
pub fn delays(recording: &Recording, digest: &Digest) -> Option<Analysis> {
    let mut analysis = described(recording);
    let whole = analysis.partial.is_none() && recording.frames.len() == digest.frames;
    if digest.program != PROGRAM || !whole || recording.header.imported.is_some() {
        return None;
    }
    analysis.validity = digest.validity()?;
    analysis.scored = ScoredWindow { common: digest.scored, ..ScoredWindow::default() };
    let trips = RoundTrips::of(recording, digest.scored, recorded_time::end(recording));
    analysis.waiting_time = trips.judgement.waiting_time;
    analysis.round_trip_delay = trips.pooled_delays();
    analysis.loss = loss::of(&analysis.round_trip_delay);
    analysis.delay_flows = trips.flows;
    Some(analysis)
}

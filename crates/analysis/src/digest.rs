//! Findings about a whole recording, kept behind it for charts of delays and for comparisons.
//!
//! The verdict, the scored windows and the scores follow from nearly everything in a recording. The program that has just made and
//! analyzed it writes them behind it. Only the same program reads them, and only while the recording is whole; otherwise everything
//! is analyzed. Both give the same.

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::analyze::{RoundTrips, described, partial};
use crate::comparison::compared_scores::ComparedScores;
use crate::comparison::run::ComparedRun;
use crate::measured::Measured;
use crate::metrics::rate::goodput;
use crate::metrics::rate::scored_window::ScoredWindow;
use crate::metrics::sharing::stream_sharing;
use crate::metrics::web::{connections, name_lookups, page_loads};
use crate::packets::recorded_time;
use crate::packets::tcp_readings::TcpReadings;
use crate::validity::{Confidence, Reason, Severity, Validity};
use crate::validity_rules::reason_words;

/// Changes with every line of the code that computes.
const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("RRUL_ANALYSIS_SOURCES"));

/// The tables from which delays are computed.
pub const DELAY_TABLES: [&str; 6] =
    ["probe_sent", "probes_skipped", "probe_stamped", "probe_received", "reply_stamped", "echo_received"];

/// The tables from which everything is computed that is compared, but for scores.
pub const COMPARED_TABLES: [&str; 13] = [
    "probe_sent",
    "probes_skipped",
    "probe_stamped",
    "probe_received",
    "reply_stamped",
    "echo_received",
    "octets_received",
    "tcp_info",
    "connection",
    "name_lookup",
    "page_load",
    "web_object",
    "browser_timing",
];

/// Findings about a whole and complete recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    program: String,
    /// Frames of the recording when it was analyzed. One that was damaged since has fewer.
    frames: usize,
    scored: Scored,
    confidence: Option<Confidence>,
    reasons: Vec<KeptReason>,
    scores: ComparedScores,
}

/// The [`ScoredWindow`], without what is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Scored {
    down: Option<Window>,
    up: Option<Window>,
    common: Option<Window>,
}

impl Scored {
    /// Whether all of it is within the load; a file from anybody may say otherwise.
    fn is_within(self, load: Option<Window>) -> bool {
        let is_in =
            |window: Window, load: Window| load.from <= window.from && window.from <= window.to && window.to <= load.to;
        let mut windows = [self.down, self.up, self.common].into_iter().flatten();
        windows.all(|window| load.is_some_and(|load| is_in(window, load)))
    }
}

/// A [`Reason`] whose code comes from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptReason {
    code: String,
    severity: Severity,
    text: String,
}

impl Digest {
    /// Takes them from the analysis of a complete recording; `None` of any other.
    pub fn new(recording: &Recording, analysis: &Analysis) -> Option<Self> {
        let kept = |reason: &Reason| KeptReason {
            code: reason.code.to_owned(),
            severity: reason.severity,
            text: reason.text.clone(),
        };
        is_complete(recording).then(|| Self {
            program: PROGRAM.to_owned(),
            frames: recording.frames.len(),
            scored: Scored { down: analysis.scored.down, up: analysis.scored.up, common: analysis.scored.common },
            confidence: analysis.validity.confidence,
            reasons: analysis.validity.reasons.iter().map(kept).collect(),
            scores: ComparedScores::new(&analysis.scores),
        })
    }

    /// The digest behind a recording, where this very code wrote it and the recording is still whole.
    fn behind(recording: &Recording) -> Option<Self> {
        let found: Self = serde_json::from_str(recording.digest.as_ref()?).ok()?;
        let is_whole = is_complete(recording) && recording.frames.len() == found.frames;
        (is_whole && found.program == PROGRAM && found.scored.is_within(recording.loaded())).then_some(found)
    }

    /// `None` where it has a reason that this program never gives.
    fn validity(&self) -> Option<Validity> {
        let reason = |kept: &KeptReason| {
            let word = reason_words().find(|word| word.code == kept.code)?;
            Some(Reason { code: word.code, severity: kept.severity, text: kept.text.clone() })
        };
        let reasons: Option<Vec<Reason>> = self.reasons.iter().map(reason).collect();
        Some(Validity::new(reasons?, self.confidence))
    }

    /// Of the analysis the description, the validity, the scored windows, round-trip delay and its loss; the rest is empty.
    fn delays(&self, recording: &Recording) -> Option<Analysis> {
        let Scored { down, up, common } = self.scored;
        let trips = RoundTrips::new(recording, common, recorded_time::end(recording));
        let mut measured = Measured {
            test: described(recording),
            scored: ScoredWindow { down, up, common, ..ScoredWindow::default() },
            ..Measured::default()
        };
        measured.loss.waiting_time = trips.judgement.waiting_time.into();
        measured.round_trip_delay.pooled = trips.pooled_delays();
        measured.loss.round_trips = measured.round_trip_delay.pooled.loss();
        measured.round_trip_delay.flows = trips.flows;
        Some(Analysis { measured, validity: self.validity()?, ..Analysis::default() })
    }

    /// The same with goodput, sharing, connections, name lookups and page loads: everything else that is compared, but for scores.
    fn compared(&self, recording: &Recording) -> Option<Analysis> {
        let mut analysis = self.delays(recording)?;
        let tcp = TcpReadings::from_recording(recording);
        let load = recording.phase(Phase::Load).unwrap_or(Window { from: TestTime::ZERO, to: TestTime::ZERO });
        let goodput = |direction: Direction| {
            let gathered = goodput::Load::gather(recording, &tcp, direction, load, false);
            gathered.goodput(analysis.scored.direction(direction))
        };
        let (up, down) = (goodput(Direction::Up), goodput(Direction::Down));
        let scored_of = |direction| analysis.scored.direction(direction).unwrap_or(load);
        let sharing = stream_sharing::sharing(recording, &tcp, |direction| direction.select(&up, &down), scored_of);
        let (phases, end) = (analysis.scored.phases(&recording.header.phases), recorded_time::end(recording));
        let page_loads = page_loads::page_loads(recording, analysis.scored.common);
        let connections = connections::connections(recording, &phases, end);
        let name_lookups = name_lookups::name_lookups(recording, &phases);
        analysis.goodput = goodput::Goodput { down, up };
        analysis.measured = Measured { connections, name_lookups, sharing, page_loads, ..analysis.measured };
        Some(analysis)
    }
}

/// Whether it is a recording of rrul that nothing cut short.
fn is_complete(recording: &Recording) -> bool {
    partial(recording).is_none() && recording.header.imported.is_none()
}

/// Whether the last of a recording's lines is a digest of this very code.
pub fn is_behind(lines: &str) -> bool {
    let last = lines.trim_end().rsplit('\n').next().unwrap_or_default();
    last.starts_with("{\"digest\":") && last.contains(PROGRAM)
}

/// The analysis of a recording, with no more than a chart of delays shows; all other parts are empty. It takes [`DELAY_TABLES`].
///
/// `None` where no digest of this very code is behind the recording, or the recording is not whole: then everything is to be analyzed.
pub fn delays(recording: &Recording) -> Option<Analysis> {
    Digest::behind(recording)?.delays(recording)
}

/// What is compared of a recording, which is in the file of this name. It takes [`COMPARED_TABLES`].
///
/// `None` where [`delays`] gives none.
pub fn compared_run(file: &str, recording: &Recording) -> Option<ComparedRun> {
    let digest = Digest::behind(recording)?;
    Some(ComparedRun::with_scores(file, recording, &digest.compared(recording)?, &digest.scores))
}

//! What an analysis found of a recording as a whole, so that a chart of delays or a comparison need not analyse all else
//! again.
//!
//! Whether its numbers deserve trust, which part of the load counts, and scores follow from nearly everything in a recording.
//! The program that has just recorded knows them, and writes them behind the recording. Only the same program reads them again:
//! any other computes everything.

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use serde::{Deserialize, Serialize};

use crate::Analysis;
use crate::analyze::{RoundTrips, described};
use crate::comparison::compared_scores::ComparedScores;
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
const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("RRUL_ANALYSIS_SOURCE"));

/// The tables in which delays stand.
pub const DELAY_TABLES: [&str; 6] =
    ["probe_sent", "probes_skipped", "probe_stamped", "probe_received", "reply_stamped", "echo_received"];

/// The tables in which everything stands that is compared.
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

/// What was found of a whole and complete recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    program: String,
    /// How many frames the recording had then: one that was damaged since has fewer.
    frames: usize,
    scored: Scored,
    confidence: Option<Confidence>,
    reasons: Vec<Told>,
    scores: ComparedScores,
}

/// The [`ScoredWindow`], without what is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Scored {
    down: Option<Window>,
    up: Option<Window>,
    common: Option<Window>,
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
        analysis.test.partial.is_none().then(|| Self {
            program: PROGRAM.to_owned(),
            frames: recording.frames.len(),
            scored: Scored { down: analysis.scored.down, up: analysis.scored.up, common: analysis.scored.common },
            confidence: analysis.validity.confidence,
            reasons: analysis.validity.reasons.iter().map(told).collect(),
            scores: ComparedScores::of(&analysis.scores),
        })
    }

    /// Whether this very code wrote it.
    pub fn is_ours(&self) -> bool {
        self.program == PROGRAM
    }

    pub(crate) fn scores(&self) -> &ComparedScores {
        &self.scores
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

/// Of an analysis who, when and what, [`validity`](Analysis::validity), scored windows without what is left out, round-trip
/// delay and its loss; all else is empty.
///
/// `None` when another program wrote the digest, or the recording is not whole: then all is to be analysed.
pub fn delays(recording: &Recording, digest: &Digest) -> Option<Analysis> {
    let mut analysis =
        Analysis { measured: Measured { test: described(recording), ..Measured::default() }, ..Analysis::default() };
    let whole = analysis.test.partial.is_none() && recording.frames.len() == digest.frames;
    if !digest.is_ours() || !whole || recording.header.imported.is_some() {
        return None;
    }
    analysis.validity = digest.validity()?;
    let Scored { down, up, common } = digest.scored;
    analysis.scored = ScoredWindow { down, up, common, ..ScoredWindow::default() };
    let trips = RoundTrips::of(recording, common, recorded_time::end(recording));
    analysis.loss.waiting_time = trips.judgement.waiting_time.into();
    analysis.round_trip_delay.pooled = trips.pooled_delays();
    analysis.loss.round_trips = analysis.round_trip_delay.pooled.loss();
    analysis.round_trip_delay.flows = trips.flows;
    Some(analysis)
}

/// The same with all else that is compared, but for scores: goodput and how it is shared, pages, connections, look-ups.
pub(crate) fn compared(recording: &Recording, digest: &Digest) -> Option<Analysis> {
    let mut analysis = delays(recording, digest)?;
    let tcp = TcpReadings::of(recording);
    let load = recording.phase(Phase::Load).unwrap_or(Window { from: TestTime::ZERO, to: TestTime::ZERO });
    let goodput = |direction: Direction| {
        let gathered = goodput::Load::gather(recording, &tcp, direction, load, false);
        gathered.goodput(analysis.scored.of(direction))
    };
    (analysis.goodput.down, analysis.goodput.up) = (goodput(Direction::Down), goodput(Direction::Up));
    let scored_of = |direction| analysis.scored.of(direction).unwrap_or(load);
    analysis.sharing = stream_sharing::sharing(recording, &tcp, |direction| analysis.goodput(direction), scored_of);
    let (phases, end) = (analysis.scored.phases(&recording.header.phases), recorded_time::end(recording));
    analysis.connections = connections::connections(recording, &phases, end);
    analysis.name_lookups = name_lookups::name_lookups(recording, &phases);
    analysis.page_loads = page_loads::page_loads(recording, analysis.scored.common);
    Some(analysis)
}

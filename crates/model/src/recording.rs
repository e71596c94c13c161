//! The recording: plan, environment and raw observations of one test, from which every number can be computed again.
//!
//! A file is a row of JSON lines, each an object with one key that says what it is: `header` first, then `frame`s of
//! about a second each in the order in which they were written, with a `step` between them for each setting of a shaper,
//! `end` last. docs/recording-format.md is the contract;
//! this module is its mirror. Compression and files are the business of the program.

use std::collections::HashSet;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, HostState};
use crate::flow::{AddressFamily, FlowId, FlowSpec};
pub use crate::frame::Frame;
use crate::frame_text;
use crate::imported::Imported;
use crate::line_rate::LineRate;
use crate::measurement_budget::MeasurementBudget;
use crate::observation::{FlowEvent, ObservationPoint, Tables};
use crate::phase::{LoadEnd, Phase, PhaseWindow, loaded};
use crate::plan::TestPlan;
use crate::printable;
use crate::reading_budget::{BudgetError, Listed, ReadingBudget};
use crate::shaping::{TuningPlan, TuningStep};
use crate::time::{TestTime, Window};

/// The name and version of the format, in every header.
pub const FORMAT: &str = "rrul-recording/2";

/// The format before it, which is read all the same: it knows no phase `web`, and calls the survey `before`.
pub const FORMER_FORMAT: &str = "rrul-recording/1";

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The parser repeats names that the file made up, and those may steer a terminal.
    #[error("line {line}: {}", printable::message(&source.to_string()))]
    Line {
        /// Line number, from 1.
        line: usize,
        source: serde_json::Error,
    },
    #[error("no header: not an rrul recording, or nothing was recorded")]
    NoHeader,
    #[error(
        "unknown recording format \"{}\"; this rrul reads {FORMER_FORMAT} and {FORMAT}; update rrul",
        printable::field(_0)
    )]
    UnknownFormat(String),
    #[error(transparent)]
    Budget(#[from] BudgetError),
    #[error("two flows have the number {0}: this is no recording that rrul has written")]
    SharedNumber(FlowId),
}

/// What is known before the first packet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// Title given by the user.
    #[serde(default)]
    pub title: String,
    /// When the run began, RFC 3339, UTC.
    pub created: String,
    /// The plan as it was run, with `--set` applied.
    pub plan: TestPlan,
    /// Every flow it unfolded into.
    pub flows: Vec<FlowSpec>,
    /// When each phase takes place.
    pub phases: Vec<PhaseWindow>,
    /// The families under test; the first is that of the control connection.
    pub families: Vec<AddressFamily>,
    /// Families that were asked for or expected and are absent, with the reason.
    #[serde(default)]
    pub absent_families: Vec<AbsentFamily>,
    /// The server as the user named it.
    pub server_name: String,
    /// Whether the control connection was encrypted (TLS 1.3).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// Its address, per family under test.
    pub server_addresses: Vec<std::net::IpAddr>,
    /// How the two hosts' clocks were matched.
    pub clocks: Clocks,
    /// How fast the line was before the test; `None` when nothing asked for it or no train came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<LineRate>,
    /// What all traffic but the load was to take of the line; `None` when the plan sets no limit or the rate of the line
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MeasurementBudget>,
    pub client: Environment,
    pub server: Environment,
    /// Who measured, when it was not rrul.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What was asked for, when a shaper was set in steps during the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<TuningPlan>,
}

/// A family that could not be tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentFamily {
    pub family: AddressFamily,
    /// Why: no address, no answer, ...
    pub reason: String,
}

/// How T0 was agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clocks {
    /// The client's T0 on its `CLOCK_MONOTONIC_RAW`, nanoseconds.
    pub client_origin: i64,
    /// Smallest round trip of the exchange that placed the server's T0, nanoseconds.
    ///
    /// The server's T0 is off by at most half of it, by less where the path is symmetric.
    pub exchange_round_trip: i64,
}

/// How the run ended. A recording without it was cut short by force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    pub at: TestTime,
    /// Why it is not complete; `None` when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// When phase `after` ended: before its longest, as the round trip was back at idle. `None` where it had a fixed length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases_ended: Option<TestTime>,
    /// When the load ended, at the client's request before its planned end. `None` where it took all of its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_ended: Option<TestTime>,
    /// How many frames of the client the recording has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_frames: Option<u32>,
    /// How many frames of the server it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_frames: Option<u32>,
    /// The client host after the test; its state before is in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Box<HostState>>,
    /// The server host after the test; `None` when the server was lost or is older than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Box<HostState>>,
}

impl End {
    /// How many frames of one host the recording has.
    pub fn frames(&self, point: ObservationPoint) -> Option<u32> {
        match point {
            ObservationPoint::Client => self.client_frames,
            ObservationPoint::Server => self.server_frames,
        }
    }

    /// The state of one host after the test.
    pub fn host(&self, point: ObservationPoint) -> Option<&HostState> {
        match point {
            ObservationPoint::Client => self.client.as_deref(),
            ObservationPoint::Server => self.server.as_deref(),
        }
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    Header(Box<Header>),
    Frame(Box<Frame>),
    /// A step of a tuning session, written when it has ended.
    Step(Box<TuningStep>),
    End(End),
    /// Findings about the whole, which the program that recorded it may read again; others pass over it.
    #[serde(skip_deserializing)]
    Digest(serde_json::Value),
}

fn listed(header: &Header) -> Listed {
    Listed {
        flows: header.flows.len(),
        phases: header.phases.len(),
        plan_phases: header.plan.phases.len(),
        plan_entries: header.plan.entries.len(),
        families: header.families.len(),
        absent_families: header.absent_families.len(),
    }
}

/// A whole recording in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What was known before.
    pub header: Header,
    pub frames: Vec<Frame>,
    /// Settings of a shaper during the test, one after another; none unless it was a tuning session.
    pub steps: Vec<TuningStep>,
    /// How it ended; `None` when it was cut short by force.
    pub end: Option<End>,
    /// The findings of the program that recorded it, as they are written; only the same program understands them.
    pub digest: Option<String>,
}

impl Recording {
    /// Reads the lines of a recording.
    ///
    /// Lines of a kind that this version does not know are passed over, so that a later rrul may add kinds. A damaged
    /// last line without its newline is what a cut-off file ends in, and is passed over too.
    ///
    /// # Errors
    /// When the header is missing or of a later format, or a line cannot be read.
    pub fn from_lines(text: &str) -> Result<Self, RecordingError> {
        Self::from_lines_within(text, ReadingBudget::for_file(text.len()))
    }

    /// As [`from_lines`](Self::from_lines), for text out of a file that is shorter: no more is read than the budget allows.
    ///
    /// # Errors
    /// As [`from_lines`](Self::from_lines), and when the text contains more.
    pub fn from_lines_within(text: &str, budget: ReadingBudget) -> Result<Self, RecordingError> {
        Self::read(text, budget, None)
    }

    /// As [`from_lines_within`](Self::from_lines_within), with these tables alone where that is quicker.
    ///
    /// # Errors
    /// As [`from_lines_within`](Self::from_lines_within), but for what is in other tables.
    pub fn from_tables(text: &str, budget: ReadingBudget, tables: &[&str]) -> Result<Self, RecordingError> {
        Self::read(text, budget, Some(tables))
    }

    fn read(text: &str, mut budget: ReadingBudget, tables: Option<&[&str]>) -> Result<Self, RecordingError> {
        #[derive(Deserialize)]
        struct Format {
            header: FormatName,
        }
        #[derive(Deserialize)]
        struct FormatName {
            format: String,
        }
        let mut header = None;
        let mut frames = Vec::new();
        let mut steps = Vec::new();
        let mut end = None;
        let mut digest = None;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let whole = line.ends_with('\n');
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let fast = header.is_some().then(|| frame_text::frame(line, tables)).flatten();
            if let Some(frame) = fast {
                budget.take(&frame.tables)?;
                frames.push(frame);
                continue;
            }
            // Names and reasons are for people, and no recording needs to be read for one that is endless.
            let line = &*printable::with_short_strings(line);
            if header.is_none() {
                let format: Format = serde_json::from_str(line).map_err(|_| RecordingError::NoHeader)?;
                if ![FORMAT, FORMER_FORMAT].contains(&format.header.format.as_str()) {
                    return Err(RecordingError::UnknownFormat(format.header.format));
                }
            }
            if let Some(findings) = line.strip_prefix("{\"digest\":").and_then(|rest| rest.strip_suffix('}')) {
                digest = Some(findings.to_owned());
                continue;
            }
            let known =
                ["{\"header\"", "{\"frame\"", "{\"step\"", "{\"end\""].iter().any(|kind| line.starts_with(kind));
            let parsed = match serde_json::from_str(line) {
                Err(_) if !known => serde_json::from_str(line).map(|IgnoredAny| None),
                parsed => parsed.map(Some),
            };
            match parsed {
                Ok(Some(Line::Header(found))) => {
                    listed(&found).check()?;
                    header = Some(*found);
                }
                Ok(Some(Line::Frame(frame))) => {
                    budget.take(&frame.tables)?;
                    frames.push(*frame);
                }
                Ok(Some(Line::Step(step))) => steps.push(*step),
                Ok(Some(Line::End(found))) => end = Some(found),
                Ok(None | Some(Line::Digest(_))) => {}
                Err(_) if !whole => break,
                Err(source) => return Err(RecordingError::Line { line: index + 1, source }),
            }
        }
        let header: Header = header.ok_or(RecordingError::NoHeader)?;
        let mut numbers = HashSet::from([FlowId::CONTROL]);
        if let Some(flow) = header.flows.iter().find(|flow| !numbers.insert(flow.id)) {
            return Err(RecordingError::SharedNumber(flow.id));
        }
        Ok(Self { steps, digest, ..Self::new(header, frames, end) })
    }

    /// A recording of these lines: phases and flows end when they did, where the load was ended early or phase `after` did not
    /// last its longest.
    pub fn new(mut header: Header, frames: Vec<Frame>, end: Option<End>) -> Self {
        let load_end = end.as_ref().and_then(|end| end.load_ended).zip(loaded(&header.phases));
        if let Some(end) = load_end.map(|(at, load)| LoadEnd { at: at.clamp(load.from, load.to), planned: load.to }) {
            let windows = header.phases.iter_mut().map(|entry| &mut entry.window);
            for window in windows.chain(header.flows.iter_mut().map(|flow| &mut flow.window)) {
                *window = Window { from: end.moved(window.from), to: end.moved(window.to) };
            }
        }
        if let Some(ended) = end.as_ref().and_then(|end| end.phases_ended) {
            for entry in header.phases.iter_mut().filter(|entry| entry.phase == Phase::After) {
                entry.window.to = entry.window.to.min(ended).max(entry.window.from);
            }
            for flow in &mut header.flows {
                flow.window.to = flow.window.to.min(ended).max(flow.window.from);
            }
        }
        Self { header, frames, steps: Vec::new(), end, digest: None }
    }

    /// The window of a phase; `None` when the plan does not have it.
    pub fn phase(&self, phase: Phase) -> Option<Window> {
        self.header.phases.iter().find(|entry| entry.phase == phase).map(|entry| entry.window)
    }

    /// From the beginning to the end of the load, phase `web` included; `None` when the plan has no load.
    pub fn loaded(&self) -> Option<Window> {
        loaded(&self.header.phases)
    }

    pub fn frames_of(&self, point: ObservationPoint) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(move |frame| frame.point == point)
    }

    /// All tables of one observation point, frame by frame.
    pub fn tables_of(&self, point: ObservationPoint) -> impl Iterator<Item = &Tables> {
        self.frames_of(point).map(|frame| &frame.tables)
    }

    /// The host at one observation point, as it was before the test.
    pub fn host(&self, point: ObservationPoint) -> &Environment {
        match point {
            ObservationPoint::Client => &self.header.client,
            ObservationPoint::Server => &self.header.server,
        }
    }

    /// All flow events with the point that saw them.
    pub fn events(&self) -> impl Iterator<Item = (ObservationPoint, &FlowEvent)> {
        self.frames.iter().flat_map(|frame| frame.events.iter().map(move |event| (frame.point, event)))
    }

    pub fn flow(&self, id: FlowId) -> Option<&FlowSpec> {
        self.header.flows.iter().find(|flow| flow.id == id)
    }
}

//! When things took place: from Unix time and the common grid to the time of the test, and its phases.

use std::time::Duration;

use super::document::{Metadata, RawValue};
use super::series::{Kind, Series};
use crate::calendar::{rfc3339, unix_time};
use crate::phase::{Phase, PhaseWindow};
use crate::plan::PhaseLength;
use crate::time::{TestTime, Window};

/// No test is longer, seconds: what lies further off is no time of this test.
const LONGEST: f64 = 7.0 * 86_400.0;
/// What is measured begins at most this long before T0, seconds.
const BEFORE_T0: f64 = 60.0;
/// The load begins at most so far from where the settings put it, seconds; else the settings count.
const START_SPREAD: f64 = 2.0;
/// Idle time before and after the load where the file does not say, seconds: Flent's own default.
const USUAL_DELAY: f64 = 5.0;

/// Where the test's time begins.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// Unix seconds of the recording's T0.
    origin: f64,
    /// Unix seconds of the grid's 0.
    grid: f64,
    /// When the run began, RFC 3339.
    pub(super) created: String,
    /// What is doubtful about it.
    pub(super) note: Option<String>,
}

impl Timeline {
    pub(super) fn new(metadata: &Metadata, raw_values: &[(String, Vec<RawValue>)]) -> Self {
        let time_of = |scalar: &super::scalar::Scalar| scalar.text().and_then(|text| unix_time(&text));
        let (time, t0) = (time_of(&metadata.time), time_of(&metadata.t0));
        let mut starts: Vec<f64> = raw_values.iter().flat_map(|(name, rows)| starts(name, rows)).collect();
        let recorded_t0 = t0.filter(|(_, utc)| *utc).map(|(unix, _)| unix);
        if let Some(recorded_t0) = recorded_t0 {
            let near = |start: &f64| (-BEFORE_T0..LONGEST).contains(&(start - recorded_t0));
            if starts.iter().any(near) {
                starts.retain(near);
            }
        }
        let first = starts.into_iter().min_by(f64::total_cmp);
        let grid = recorded_t0.or(first).unwrap_or(0.0);
        let origin =
            first.map_or(grid, |first| if (first - grid).abs() <= BEFORE_T0 { first.min(grid) } else { first });
        let (created, note) = match (time, t0, first) {
            (Some((time, true)), ..) => (rfc3339(time), None),
            // Times without a zone are local; raw values say by how much they are off.
            (Some((time, false)), Some((t0, false)), Some(first)) => {
                (rfc3339(time + ((first - t0) / 900.0).round() * 900.0), None)
            }
            (Some((time, false)), ..) => {
                let note = "the start time is local time of a host whose time zone was not recorded";
                (rfc3339(time), Some(note.to_owned()))
            }
            (None, ..) => (rfc3339(origin), Some("the time of the measurement is not recorded".to_owned())),
        };
        Self { origin, grid, created, note }
    }

    /// The time of the test at these Unix seconds; `None` when it is none of this test.
    pub(super) fn at(&self, unix: f64) -> Option<TestTime> {
        let seconds = unix - self.origin;
        (-BEFORE_T0..=LONGEST).contains(&seconds).then(|| TestTime((seconds * 1e9).round() as i64))
    }

    /// Unix seconds of a place on the grid.
    pub(super) fn of_grid(&self, x: f64) -> f64 {
        self.grid + x
    }
}

/// When what these values describe began: the earliest is T0.
fn starts(name: &str, rows: &[RawValue]) -> Vec<f64> {
    let stream = matches!(Series::parse(name), Some(Series { kind: Kind::Stream(_), .. }));
    let before = |row: &RawValue| match (stream, row.dur, row.val) {
        (true, ..) | (_, Some(_), _) => row.dur.unwrap_or(0.0),
        (_, None, Some(milliseconds)) => milliseconds / 1e3,
        (_, None, None) => 0.0,
    };
    rows.iter().map(|row| row.t - before(row).clamp(0.0, BEFORE_T0)).filter(|start| start.is_finite()).collect()
}

/// When each phase took place.
#[derive(Debug, Clone)]
pub(super) struct Phases {
    pub(super) windows: Vec<PhaseWindow>,
    /// The load; `None` when nothing loads.
    pub(super) load: Option<Window>,
    /// The end of the last phase.
    pub(super) end: TestTime,
}

impl Phases {
    /// `first_load` is when the first stream began, `last` the last thing observed.
    pub(super) fn new(metadata: &Metadata, first_load: Option<TestTime>, last: TestTime) -> Self {
        let positive = |scalar: &super::scalar::Scalar| {
            scalar.number().filter(|seconds| (0.0..=LONGEST).contains(seconds)).filter(|seconds| *seconds > 0.0)
        };
        let at = |seconds: f64| TestTime((seconds * 1e9).round() as i64);
        let total = positive(&metadata.total_length);
        let Some(first) = first_load else {
            let end = total.map_or(last, at).max(TestTime(1));
            let window = Window { from: TestTime::ZERO, to: end };
            return Self { windows: vec![PhaseWindow { phase: Phase::Idle, window }], load: None, end };
        };
        let length = positive(&metadata.length);
        let delay = match (total, length) {
            (Some(total), Some(length)) if length <= total => (total - length) / 2.0,
            _ => USUAL_DELAY,
        };
        let near = (first.seconds() - delay).abs() <= START_SPREAD;
        let from = if near || length.is_none() { first.max(TestTime::ZERO) } else { at(delay) };
        let to = length.map_or(last, |length| from + Duration::from_secs_f64(length)).max(TestTime(from.0 + 1));
        let end = at(total.unwrap_or(0.0)).max(to);
        let windows = [(Phase::Idle, TestTime::ZERO, from), (Phase::Load, from, to), (Phase::After, to, end)];
        let windows = windows.into_iter().filter(|(_, from, to)| from < to);
        let windows = windows.map(|(phase, from, to)| PhaseWindow { phase, window: Window { from, to } }).collect();
        Self { windows, load: Some(Window { from, to }), end }
    }

    pub(super) fn whole(&self) -> Window {
        Window { from: TestTime::ZERO, to: self.end }
    }

    /// As a plan has them.
    pub(super) fn lengths(&self) -> Vec<PhaseLength> {
        let length = |entry: &PhaseWindow| PhaseLength { phase: entry.phase, length: entry.window.length() };
        self.windows.iter().map(length).collect()
    }
}

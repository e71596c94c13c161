//! Video playback: start-up delay, stalls, and how long segments take to arrive.

use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{ObservationPoint, Transfer};
use rrul_model::phase::reset_at;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, Delay};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::statistics::percentile::DelayStatistics;

/// What broke less than this before its flow was stopped was cut off by that.
const STOPPING: Duration = Duration::from_millis(500);

/// One video of flow type `video_bursts`, as a player with the plan's buffer would have shown it.
///
/// The player starts with the first complete segment, and plays each for its playing time. It stalls until the next
/// segment is complete (ITU-T P.1203: initial loading delay, stalling).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Video playback")]
pub struct VideoPlayback {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Bit rate of the video.
    #[serde(rename = "video_bps")]
    pub video: BitRate,
    /// Playing time of a segment.
    #[serde(rename = "segment_ns")]
    pub segment: Delay,
    /// Start-up delay: from the start of the flow until the first segment was complete. Null when it never was.
    #[serde(rename = "startup_ns")]
    pub startup: Option<Delay>,
    /// Stalls, the start-up not counted. One that goes on when the flow ends is counted.
    ///
    /// Unit: count.
    pub stalls: u64,
    /// Time in stalls.
    #[serde(rename = "stalled_ns")]
    pub stalled: Delay,
    /// The longest stall; null without any.
    #[serde(rename = "longest_stall_ns")]
    pub longest_stall: Option<Delay>,
    /// Time in which the video played.
    #[serde(rename = "played_ns")]
    pub played: Delay,
    /// Time in stalls over the time since playback began; null when it never did.
    ///
    /// Unit: share.
    pub stalled_share: Option<f64>,
    /// [Statistics](#statistics-of-delays) of the time from the request to the last byte of each segment. A segment whose
    /// connection broke counts as infinitely late (`lost`); one that was under way when the flow ended is in `n` and not in
    /// `lost`. Null when none was asked for.
    pub download: Option<DelayStatistics>,
}

/// Stalls of a player.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Playback {
    began: Option<TestTime>,
    stalls: Vec<Delay>,
}

impl Playback {
    /// Plays these segments, in order, until the flow ended.
    fn new(segments: &[Transfer], segment: Duration, ended: TestTime) -> Self {
        let mut playback = Self::default();
        let mut runs_dry = None;
        let complete = segments.iter().take_while(|row| row.reached == Transfer::COMPLETE).map(completed);
        for at in complete.filter(|at| *at < ended) {
            let due = *runs_dry.get_or_insert(at);
            playback.began.get_or_insert(at);
            if at > due {
                playback.stalls.push(at.since(due));
            }
            runs_dry = Some(at.max(due) + segment);
        }
        if let Some(due) = runs_dry.filter(|due| *due < ended) {
            playback.stalls.push(ended.since(due));
        }
        playback
    }
}

/// When a transfer was complete, or broke off.
fn completed(row: &Transfer) -> TestTime {
    row.started + Duration::from_nanos(row.took.0.max(0).cast_unsigned())
}

/// Computes the playback of each video.
pub(crate) fn video_playback(recording: &Recording, end: TestTime) -> Vec<VideoPlayback> {
    let mut rows: HashMap<FlowId, Vec<Transfer>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transfer.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let videos = recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::VideoBursts);
    let playback = |flow: &FlowSpec| {
        let mut segments = rows.get(&flow.id).cloned().unwrap_or_default();
        segments.sort_unstable_by_key(|row| row.sequence);
        segments.dedup_by_key(|row| row.sequence);
        let ended = end.min(reset_at(&recording.header.phases, flow.window));
        of_flow(flow, &segments, ended)
    };
    videos.map(playback).collect()
}

fn of_flow(flow: &FlowSpec, segments: &[Transfer], ended: TestTime) -> VideoPlayback {
    let segment = flow.parameters.duration("interval", Duration::ZERO);
    let Playback { began, stalls } = Playback::new(segments, segment, ended);
    let stalled = Delay(stalls.iter().map(|stall| stall.0).sum());
    let since = began.map_or(Delay(0), |began| ended.since(began));
    VideoPlayback {
        flow: flow.into(),
        video: flow.parameters.rate("rate").unwrap_or_default(),
        segment: segment.into(),
        startup: began.map(|began| began.since(flow.window.from)),
        stalls: stalls.len() as u64,
        stalled,
        longest_stall: stalls.iter().max().copied(),
        played: Delay(since.0 - stalled.0),
        stalled_share: (since.0 > 0).then(|| stalled.0 as f64 / since.0 as f64),
        download: downloads(segments, ended),
    }
}

fn downloads(rows: &[Transfer], ended: TestTime) -> Option<DelayStatistics> {
    let took = |of: &dyn Fn(&Transfer) -> bool| -> Vec<Delay> {
        rows.iter().filter(|row| of(row)).map(|row| row.took).collect()
    };
    let is_complete = |row: &Transfer| row.reached == Transfer::COMPLETE;
    let was_cut_off = |row: &Transfer| !is_complete(row) && completed(row) >= ended - STOPPING;
    let (complete, cut_off) = (took(&is_complete), took(&was_cut_off));
    let broken = rows.len() - complete.len() - cut_off.len();
    DelayStatistics::with_cut_off(complete, broken as u64, &cut_off)
}

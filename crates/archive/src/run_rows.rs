//! From a recording to the rows of every table.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_analysis::summary::Summary;
use rrul_analysis::validity::{Confidence, PARTIAL, Verdict};
use rrul_model::calendar::{date_of_day, unix_seconds};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::link_layer::LinkLayer;
use rrul_model::recording::Recording;
use rrul_model::units::Delay;

use crate::delay_rows::{delay_rows, sketches};
use crate::flow_rows::flow_rows;
use crate::labels::{Label, Labels, Site};
use crate::marking_verdict::of_expedited;
use crate::run_id::{run_id, run_key};
use crate::second_rows::second_rows;
use crate::tables::{DelayRow, FlowRow, RunRow, SecondRow};
use crate::vocabulary::{congestion_control, flow_names, queue_discipline, version, without_free_text};

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Seconds of an hour.
const HOUR: i64 = 3_600;

/// Everything that the archive keeps of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRows {
    /// The day on which it began, in UTC: `2026-01-31`.
    pub date: String,
    pub site: Site,
    pub run: RunRow,
    pub flows: Vec<FlowRow>,
    pub delays: Vec<DelayRow>,
    /// None unless they were asked for.
    pub seconds: Vec<SecondRow>,
}

/// Why a recording has no rows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    #[error("the recording has no date in UTC, by which the archive is divided")]
    NoDate,
}

impl RunRows {
    /// The rows of a recording and its analysis. A plan is named if it is one of `plans`, which come with rrul.
    ///
    /// # Errors
    /// When the recording does not say when it was made.
    pub fn new(recording: &Recording, analysis: &Analysis, labels: &Labels, plans: &[&str]) -> Result<Self, RowsError> {
        let began = unix_seconds(&recording.header.created).ok_or(RowsError::NoDate)?;
        let id = run_id(recording);
        let names = flow_names(&recording.header.flows);
        let key = run_key(&id);
        let flows = flow_rows(key, analysis, &names);
        let delays = delay_rows(key, &sketches(analysis));
        let mut summary = serde_json::to_value(Summary::from(analysis)).unwrap_or_default();
        without_free_text(&mut summary, &names);
        let run = RunRow {
            run_id: Some(id),
            run_key: key,
            started_at: Some(began.saturating_mul(1_000_000)),
            hour_utc: Some(began.rem_euclid(DAY) / HOUR),
            flow_rows: count(flows.len() as u64),
            delay_rows: count(delays.len() as u64),
            second_rows: Some(0),
            summary: Some(summary.to_string()),
            ..with_labels(with_setting(with_figures(RunRow::default(), analysis), recording, plans), labels)
        };
        let date = date_of_day(began.div_euclid(DAY));
        Ok(Self { date, site: labels.site.clone().unwrap_or_default(), run, flows, delays, seconds: Vec::new() })
    }

    /// With what happened in each second.
    #[must_use]
    pub fn with_seconds(mut self, recording: &Recording, analysis: &Analysis) -> Self {
        self.seconds = second_rows(self.run.run_key, analysis, &flow_names(&recording.header.flows));
        self.run.second_rows = count(self.seconds.len() as u64);
        self
    }

    /// The name of the run.
    pub fn run_id(&self) -> &str {
        self.run.run_id.as_deref().unwrap_or_default()
    }
}

/// What the user says of the run.
fn with_labels(row: RunRow, labels: &Labels) -> RunRow {
    let text = |label: &Option<Label>| label.as_ref().map(|label| label.as_str().to_owned());
    RunRow {
        server: text(&labels.server),
        asn: labels.asn.map(i64::from),
        isp: text(&labels.isp),
        country: labels.country.as_ref().map(|country| country.as_str().to_owned()),
        firmware: text(&labels.firmware),
        aqm_down: text(&labels.aqm_down).or(row.aqm_down),
        aqm_up: text(&labels.aqm_up).or(row.aqm_up),
        ..row
    }
}

/// With what, and in which setting, it was measured. Only words that rrul itself has are kept.
fn with_setting(row: RunRow, recording: &Recording, plans: &[&str]) -> RunRow {
    let header = &recording.header;
    let (tool, tool_version) = match &header.imported {
        None => ("rrul", version(&header.client.program)),
        Some(imported) if imported.tool.to_lowercase().starts_with("flent") => ("flent", version(&imported.tool)),
        Some(_) => ("other", None),
    };
    let families = match header.families[..] {
        [AddressFamily::Ipv4] => Some("ipv4"),
        [AddressFamily::Ipv6] => Some("ipv6"),
        [_, _] => Some("both"),
        _ => None,
    };
    let shaper = header.tuning.as_ref().map(|tuning| &tuning.shaper);
    let discipline = |found: Option<&String>| {
        let kind = found?.split_whitespace().next()?;
        queue_discipline(kind).map(str::to_owned)
    };
    RunRow {
        tool: Some(tool.to_owned()),
        tool_version,
        plan: plans.iter().find(|plan| **plan == header.plan.name).map(|plan| (*plan).to_owned()),
        spec: (header.plan.spec == "RRUL2013").then(|| header.plan.spec.clone()),
        aqm_down: discipline(shaper.and_then(|shaper| shaper.down_discipline.as_ref())),
        aqm_up: discipline(shaper.and_then(|shaper| shaper.up_discipline.as_ref())),
        link_layer: header.plan.link_layer.clone().filter(|layer| layer.parse::<LinkLayer>().is_ok()),
        congestion_control: used_congestion_control(recording).map(|name| congestion_control(name).to_owned()),
        client_kernel: version(&header.client.kernel),
        server_kernel: version(&header.server.kernel),
        families: families.map(str::to_owned),
        ..row
    }
}

/// What the plan asks for, or else the client's kernel uses.
fn used_congestion_control(recording: &Recording) -> Option<&str> {
    let asked = |flow: &'_ FlowSpec| flow.parameters.text("congestion_control").map(str::to_owned);
    let streams = || recording.header.flows.iter().filter(|flow| flow.is_load_stream());
    let first = streams().find_map(|flow| flow.parameters.text("congestion_control"));
    if let Some(first) = first {
        // Streams of several congestion controls have none in common.
        return streams().all(|flow| asked(flow).as_deref() == Some(first)).then_some(first);
    }
    streams().next()?;
    recording.header.client.settings.get("net.ipv4.tcp_congestion_control").map(String::as_str)
}

/// The figures of the analysis.
fn with_figures(row: RunRow, analysis: &Analysis) -> RunRow {
    let validity = &analysis.validity;
    let reasons: Vec<&str> = validity.reasons.iter().map(|reason| reason.code).collect();
    let delay = &analysis.round_trip_delay.pooled;
    let of = |delays: &Option<DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
        delays.as_ref().and_then(pick).map(|delay| delay.0)
    };
    let queueing = |delays: &PhaseDelays| of(&delays.load, |load| load.p95);
    let goodput = |direction| {
        let goodput = analysis.goodput(direction);
        if goodput.flows.is_empty() { None } else { count(goodput.sum.0) }
    };
    let loss = analysis.loss.round_trips;
    let scores = &analysis.scores;
    RunRow {
        validity: Some(verdict_name(validity.verdict).to_owned()),
        confidence: validity.confidence.map(|confidence| confidence_name(confidence).to_owned()),
        reasons: Some(reasons.join(",")),
        partial: Some(i64::from(reasons.contains(&PARTIAL))),
        goodput_down_bps: goodput(Direction::Down),
        goodput_up_bps: goodput(Direction::Up),
        idle_p50_ns: of(&delay.idle, |idle| idle.p50),
        idle_p95_ns: of(&delay.idle, |idle| idle.p95),
        idle_p99_ns: of(&delay.idle, |idle| idle.p99),
        load_p50_ns: of(&delay.load, |load| load.p50),
        load_p95_ns: of(&delay.load, |load| load.p95),
        load_p99_ns: of(&delay.load, |load| load.p99),
        queueing_down_p95_ns: queueing(&analysis.one_way_delay.down.queueing_delay),
        queueing_up_p95_ns: queueing(&analysis.one_way_delay.up.queueing_delay),
        packets: count(loss.sent),
        lost: count(loss.lost),
        bufferbloat: scores.bufferbloat.as_ref().map(|score| score.letter.name().to_owned()),
        web_score: scores.web.as_ref().map(|score| i64::from(score.score)),
        composite: scores.composite.as_ref().map(|score| score.total),
        penalty: scores.penalty.as_ref().map(|score| score.total),
        rpm: scores.responsiveness.map(|score| score.rpm),
        voice_mos: scores.voip_mos.as_ref().and_then(|score| score.worst),
        ef_down: of_expedited(analysis, Direction::Down).map(str::to_owned),
        ef_up: of_expedited(analysis, Direction::Up).map(str::to_owned),
        ..row
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Doubtful => "doubtful",
        Verdict::Invalid => "invalid",
    }
}

fn confidence_name(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

fn count(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

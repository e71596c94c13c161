//! The sections of a summary: a heading, a table, and what is to be said below it. Every surface has the same.

mod by_direction;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::metrics::delay::transactions::TransactionFlow;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::metrics::rate::goodput::DirectionGoodput;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;

use crate::text::fate_lines;
use crate::text::host_lines;
use crate::text::label::{Naming, names};
use crate::text::lookup_lines;
use crate::text::marking_words::marking_lines;
use crate::text::octet_lines;
use crate::text::page_lines;
use crate::text::path_lines;
use crate::text::pooled_probes::pooled_name;
use crate::text::score_lines;
use crate::text::stream_lines;
use crate::text::style::{quantile, unknown};
use crate::text::table::{SectionBody, Table};
use crate::text::traffic_lines;
use crate::text::tuning::summary as tuning_summary;
use crate::text::voice_table;
use crate::text::words;
use crate::text::words::added;
use crate::text::words::direction_word;

pub(crate) use by_direction::unknown_queueing;

/// A section of the full summary.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) heading: String,
    pub(crate) told: SectionBody,
}

/// What sections are about, for people who ask for some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    Validity,
    /// The outcome of a tuning session, and its trials.
    Tuning,
    Scores,
    Pages,
    /// Round-trip delay, and queueing delay by direction.
    Delay,
    Loss,
    Rate,
    Voice,
    /// How streams share the line.
    Sharing,
    Connect,
    Dns,
    /// Flow completion times over new connections.
    ShortFlows,
    Video,
    StreamDelay,
    /// Link utilization by traffic type.
    Link,
    /// Transactions per second.
    Transactions,
    /// DSCP and ECN on the path.
    Markings,
    /// The path hop by hop.
    Path,
    /// How the measurement itself went.
    Measurement,
    Hosts,
}

impl Topic {
    /// Every topic, in the order of the full summary.
    pub const ALL: [Self; 20] = [
        Self::Validity,
        Self::Tuning,
        Self::Scores,
        Self::Pages,
        Self::Delay,
        Self::Loss,
        Self::Rate,
        Self::Voice,
        Self::Sharing,
        Self::Connect,
        Self::Dns,
        Self::ShortFlows,
        Self::Video,
        Self::StreamDelay,
        Self::Link,
        Self::Transactions,
        Self::Markings,
        Self::Path,
        Self::Measurement,
        Self::Hosts,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validity => "validity",
            Self::Tuning => "tuning",
            Self::Scores => "scores",
            Self::Pages => "pages",
            Self::Delay => "delay",
            Self::Loss => "loss",
            Self::Rate => "rate",
            Self::Voice => "voice",
            Self::Sharing => "sharing",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::ShortFlows => "short-flows",
            Self::Video => "video",
            Self::StreamDelay => "stream-delay",
            Self::Link => "link",
            Self::Transactions => "transactions",
            Self::Markings => "markings",
            Self::Path => "path",
            Self::Measurement => "measurement",
            Self::Hosts => "hosts",
        }
    }

    /// The topic of this name; `None` when no topic has it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }
}

/// Every section with content, in the order of the summary.
pub(crate) fn sections(run: &Analysis) -> Vec<Section> {
    Topic::ALL.into_iter().flat_map(|topic| sections_about(run, topic)).collect()
}

/// The sections with content about one topic.
pub(crate) fn sections_about(run: &Analysis, topic: Topic) -> Vec<Section> {
    let pooled_heading = format!("Round-trip delay of {}", pooled_name(&[run]));
    let all = match topic {
        Topic::Validity => Vec::new(),
        Topic::Tuning => run.tuning().map_or_else(Vec::new, |tuning| {
            vec![("Shaper rates", tuning_summary::section(tuning)), ("Trials", tuning_summary::trials(tuning))]
        }),
        Topic::Scores => vec![(score_lines::HEADING, score_lines::told(&run.scores))],
        Topic::Pages => vec![(page_lines::HEADING, page_lines::told(run))],
        Topic::Delay => vec![
            (pooled_heading.as_str(), delays(run)),
            ("Round-trip delay by flow", flow_delays(run)),
            ("Queueing delay by direction", by_direction::told(run)),
        ],
        Topic::Loss => vec![(fate_lines::HEADING, fate_lines::told(run))],
        Topic::Rate => {
            vec![("Goodput under load", goodput(run)), ("UDP floods, at the receiver", traffic_lines::floods(run))]
        }
        Topic::Voice => vec![(voice_table::HEADING, run.voip.as_ref().map(voice_table::told).unwrap_or_default())],
        Topic::Sharing => vec![("Fairness under load (Jain's index, 1 is equal)", stream_lines::sharing(run))],
        Topic::Connect => vec![("TCP connect time", stream_lines::connections(run))],
        Topic::Dns => vec![("DNS lookup time", lookup_lines::lookups(run))],
        Topic::ShortFlows => {
            vec![("Flow completion time (new connections)", lookup_lines::short_flows(run))]
        }
        Topic::Video => vec![("Video playback (segments over TCP)", traffic_lines::videos(run))],
        Topic::StreamDelay => {
            vec![("In-stream delay (TCP)", stream_lines::stream_delay(run))]
        }
        Topic::Link => vec![("Link utilization by traffic type (IP packets, under load)", octet_lines::told(run))],
        Topic::Transactions => vec![("Transactions per second (one outstanding)", transactions(run))],
        Topic::Markings => vec![("Markings on the path", markings(run))],
        Topic::Path => vec![(path_lines::HEADING, path_lines::told(run))],
        Topic::Measurement => vec![("Measurement quality", measurement(run))],
        Topic::Hosts => vec![("Hosts", SectionBody { below: host_lines::lines(run), ..SectionBody::default() })],
    };
    all.into_iter()
        .filter(|(_, told)| !told.is_empty())
        .map(|(heading, told)| Section { heading: heading.to_owned(), told })
        .collect()
}

/// The names of what delay columns show.
const DELAY_COLUMNS: [&str; 8] = ["", "min", "P50", "P90", "P95", "P99", "max", "lost"];

fn delays(run: &Analysis) -> SectionBody {
    if run.round_trip_delay.flows.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(DELAY_COLUMNS);
    let delays = &run.round_trip_delay.pooled;
    let bursts =
        Direction::ALL.into_iter().any(|way| run.bursts.direction(way).is_some_and(|history| history.burst.is_some()));
    for (name, phase) in PHASES {
        if let Some(statistics) = delays.phase(phase) {
            table.named_row(name, delay_cells(statistics));
        }
        if let Some(unscored) = delays.unscored.as_ref().filter(|_| phase == Phase::Load && bursts) {
            table.named_row("initial burst", delay_cells(unscored));
        }
    }
    if let Some((load, idle)) = delays.load.as_ref().zip(delays.idle.as_ref()) {
        table.named_row("added latency", increases(load, idle));
    }
    table.into()
}

fn flow_delays(run: &Analysis) -> SectionBody {
    if run.round_trip_delay.flows.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "loaded P99", "lost"]);
    let labels: Vec<_> = run.round_trip_delay.flows.iter().map(|flow| &flow.flow).collect();
    for (flow, name) in run.round_trip_delay.flows.iter().zip(names(&labels, Naming::Probes)) {
        let PhaseDelays { idle, load, .. } = &flow.delays;
        let of = |statistics: &Option<DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
            statistics.as_ref().map_or_else(unknown, |statistics| quantile(pick(statistics)))
        };
        let cells =
            [of(idle, |s| s.p50), of(load, |s| s.p50), of(load, |s| s.p95), of(load, |s| s.p99), share(flow.loss)];
        table.named_row(&name, cells);
    }
    table.into()
}

/// The phases as this summary names them.
const PHASES: [(&str, Phase); 3] = [("idle", Phase::Idle), ("loaded", Phase::Load), ("after", Phase::After)];

fn delay_cells(statistics: &DelayStatistics) -> [String; 7] {
    let DelayStatistics { n, lost, min, p50, p90, p95, p99, max } = *statistics;
    let [min, p50, p90, p95, p99, max] = [min, p50, p90, p95, p99, max].map(quantile);
    [min, p50, p90, p95, p99, max, share(Loss { sent: n, lost })]
}

/// How far each loaded figure lies above the idle median.
fn increases(load: &DelayStatistics, idle: &DelayStatistics) -> [String; 6] {
    let DelayStatistics { min, p50, p90, p95, p99, max, .. } = *load;
    [min, p50, p90, p95, p99, max].map(|loaded| match (loaded, idle.p50) {
        (Some(loaded), Some(idle)) => added(Some(loaded - idle)),
        _ => "lost".to_owned(),
    })
}

fn goodput(run: &Analysis) -> SectionBody {
    let directions: Vec<(Direction, &DirectionGoodput)> = Direction::ALL
        .into_iter()
        .map(|direction| (direction, run.goodput(direction)))
        .filter(|(_, goodput)| !goodput.flows.is_empty())
        .collect();
    let mut table = Table::default();
    for (direction, goodput) in &directions {
        let word = direction_word(*direction);
        let sum = format!("{word}, sum of {}", words::counted(goodput.flows.len(), "stream"));
        table.row([&sum, &goodput.sum.to_string()]);
        table.row(["  mean", &goodput.mean.to_string()]);
        let labels: Vec<_> = goodput.flows.iter().map(|flow| &flow.flow).collect();
        for (flow, name) in goodput.flows.iter().zip(names(&labels, Naming::Streams)) {
            let retransmitted =
                flow.retransmitted.map_or_else(String::new, |share| format!("{} retransmitted", words::percent(share)));
            table.row([&format!("  {name}"), &flow.mean.to_string(), &retransmitted]);
        }
    }
    table.into()
}

fn transactions(run: &Analysis) -> SectionBody {
    if run.transaction_flows.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "idle", "loaded", "after", "unanswered"]);
    let labels: Vec<_> = run.transaction_flows.iter().map(|flow| &flow.flow).collect();
    for (flow, name) in run.transaction_flows.iter().zip(names(&labels, Naming::Probes)) {
        let rate = |phase| per_second(flow, phase);
        let unanswered: u64 = flow.phases.known().map(|(_, phase)| phase.unanswered).sum();
        table.named_row(&name, [rate(Phase::Idle), rate(Phase::Load), rate(Phase::After), words::count(unanswered)]);
    }
    table.into()
}

fn per_second(flow: &TransactionFlow, phase: Phase) -> String {
    match flow.phases.get(phase).and_then(Option::as_ref) {
        Some(entry) if entry.per_second < 99.95 => format!("{:.1}", entry.per_second),
        Some(entry) => format!("{:.0}", entry.per_second),
        None => unknown(),
    }
}

/// Service classes and ECN on the path.
fn markings(run: &Analysis) -> SectionBody {
    let mut table = Table::default();
    for (name, text) in marking_lines(run) {
        table.row([&name, &text]);
    }
    SectionBody { table, words: true, ..SectionBody::default() }
}

/// How the measurement itself went.
fn measurement(run: &Analysis) -> SectionBody {
    let mut table = Table::default();
    if let Some(spread) = run.start_spread {
        table.row(["start spread of streams", &spread.to_string()]);
    }
    if let Some(lateness) = &run.send_lateness {
        table.row(["send lateness of probes, P50", &quantile(lateness.p50)]);
        table.row(["send lateness of probes, P99", &quantile(lateness.p99)]);
    }
    if let Some(encrypted) = run.test.encrypted {
        table.row(["control connection", if encrypted { "TLS 1.3" } else { "plain" }]);
    }
    if run.loss.skipped.packets > 0 {
        table.row(["probes skipped", &words::count(run.loss.skipped.packets)]);
    }
    for load in &run.processor {
        let host = match load.point {
            ObservationPoint::Client => "client",
            ObservationPoint::Server => "server",
        };
        table.row([&format!("CPU load of the {host}, mean"), &words::percent(load.mean)]);
        table.row([&format!("CPU load of the {host}, busiest core and second"), &words::percent(load.busiest_core)]);
        if load.saturated > 0.0 {
            table.row([
                &format!("CPU of the {host}, seconds with a needed core over 95 % busy"),
                &words::percent(load.saturated),
            ]);
        }
        if load.stolen > 0.0 {
            table.row([&format!("CPU of the {host}, seconds with over 5 % steal"), &words::percent(load.stolen)]);
        }
    }
    table.into()
}

/// Lost packets as a share of those sent.
fn share(loss: Loss) -> String {
    if loss.sent == 0 { unknown() } else { words::percent(loss.lost as f64 / loss.sent as f64) }
}

//! The sections of a summary: a heading, a table, and what is to be said below it. Every surface has the same.

mod by_direction;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::metrics::delay::transactions::TransactionFlow;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::metrics::rate::goodput::DirectionGoodput;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::Direction;
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
#[derive(Debug, Clone, Copy)]
pub struct Topic {
    name: &'static str,
    /// Its sections, those without content among them.
    all: fn(&Analysis) -> Vec<Section>,
}

impl Topic {
    /// Every topic, in the order of the full summary.
    pub const ALL: [Self; 20] = [
        Self::new(Self::VALIDITY, |_| Vec::new()),
        Self::new("tuning", |run| {
            run.tuning().map_or_else(Vec::new, |tuning| {
                vec![
                    section("Shaper rates", tuning_summary::section(tuning)),
                    section("Trials", tuning_summary::trials(tuning)),
                ]
            })
        }),
        Self::new("scores", |run| vec![section(score_lines::HEADING, score_lines::told(&run.scores))]),
        Self::new("pages", |run| vec![section(page_lines::HEADING, page_lines::told(run))]),
        Self::new("delay", |run| {
            vec![
                section(&format!("Round-trip delay of {}", pooled_name(&[run])), delays(run)),
                section("Round-trip delay by flow", flow_delays(run)),
                section("Queueing delay by direction", by_direction::told(run)),
            ]
        }),
        Self::new("loss", |run| vec![section(fate_lines::HEADING, fate_lines::told(run))]),
        Self::new("rate", |run| {
            vec![
                section("Goodput under load", goodput(run)),
                section("UDP floods, at the receiver", traffic_lines::floods(run)),
            ]
        }),
        Self::new("voice", |run| {
            vec![section(voice_table::HEADING, run.voip.as_ref().map(voice_table::told).unwrap_or_default())]
        }),
        Self::new("sharing", |run| {
            vec![section("Fairness under load (Jain's index, 1 is equal)", stream_lines::sharing(run))]
        }),
        Self::new("connect", |run| vec![section("TCP connect time", stream_lines::connections(run))]),
        Self::new("dns", |run| vec![section("DNS lookup time", lookup_lines::lookups(run))]),
        Self::new("short-flows", |run| {
            vec![section("Flow completion time (new connections)", lookup_lines::short_flows(run))]
        }),
        Self::new("video", |run| vec![section("Video playback (segments over TCP)", traffic_lines::videos(run))]),
        Self::new("stream-delay", |run| vec![section("In-stream delay (TCP)", stream_lines::stream_delay(run))]),
        Self::new("link", |run| {
            vec![section("Link utilization by traffic type (IP packets, under load)", octet_lines::told(run))]
        }),
        Self::new("transactions", |run| vec![section("Transactions per second (one outstanding)", transactions(run))]),
        Self::new("markings", |run| vec![section("Markings on the path", markings(run))]),
        Self::new("path", |run| vec![section(path_lines::HEADING, path_lines::told(run))]),
        Self::new("measurement", |run| vec![section("Measurement quality", measurement(run))]),
        Self::new("hosts", |run| {
            vec![section("Hosts", SectionBody { below: host_lines::lines(run), ..SectionBody::default() })]
        }),
    ];

    /// The topic without a section in the full summary, which has its lines at the head.
    pub(crate) const VALIDITY: &str = "validity";

    const fn new(name: &'static str, all: fn(&Analysis) -> Vec<Section>) -> Self {
        Self { name, all }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The topic of this name; `None` when no topic has it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name == name)
    }

    /// Its sections with content.
    pub(crate) fn sections(self, run: &Analysis) -> Vec<Section> {
        (self.all)(run).into_iter().filter(|section| !section.told.is_empty()).collect()
    }
}

fn section(heading: &str, told: SectionBody) -> Section {
    Section { heading: heading.to_owned(), told }
}

/// Every section with content, in the order of the summary.
pub(crate) fn sections(run: &Analysis) -> Vec<Section> {
    Topic::ALL.into_iter().flat_map(|topic| topic.sections(run)).collect()
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
        let host = load.point.name();
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

//! Summaries for a terminal: plain words and aligned figures.

mod by_direction;

use rrul_analysis::Analysis;
use rrul_analysis::analysis::{DirectionGoodput, Loss, PhaseDelays, TransactionFlow};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_analysis::validity::{Severity, Verdict};
use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;

use crate::fate_lines;
use crate::host_lines;
use crate::label::{Naming, names};
use crate::lookup_lines;
use crate::marking_words::marking_lines;
use crate::octet_lines::octet_lines;
use crate::page_lines;
use crate::rate_panel::direction_word;
use crate::score_lines;
use crate::stream_lines;
use crate::table::Table;
use crate::text_scored;
use crate::voice_table;
use crate::words::{self, added};

/// Whether a summary may use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Characters only: files, pipes, and whoever asks for no colour.
    Plain,
    /// ANSI escape sequences (ECMA-48 SGR): headings bold, doubts red.
    Ansi,
}

impl Style {
    pub(crate) fn heading(self, text: &str) -> String {
        self.wrapped(text, "1")
    }

    pub(crate) fn alarm(self, text: &str) -> String {
        self.wrapped(text, "31")
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrapped(text, "32")
    }

    pub(crate) fn amber(self, text: &str) -> String {
        self.wrapped(text, "33")
    }

    fn wrapped(self, text: &str, code: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// The names of what delay columns show.
const DELAY_COLUMNS: [&str; 8] = ["", "min", "P50", "P90", "P95", "P99", "max", "lost"];

/// The summary of a run.
///
/// Percentiles that fall on a lost packet read "lost": a lost packet counts as infinitely late, it is never left out.
/// What a run does not have is not in its summary. Ends in a newline.
pub fn text_summary(run: &Analysis, style: Style) -> String {
    let mut lines = head(run, style);
    lines.extend(with_heading(style, score_lines::HEADING, score_lines::lines(&run.scores)));
    let pages = page_lines::lines(run).iter().map(|line| printable(line)).collect();
    lines.extend(with_heading(style, page_lines::HEADING, pages));
    lines.extend(delay_lines(run, style));
    lines.extend(fate_section(run, style));
    lines.extend(by_direction::lines(run, style));
    lines.extend(goodput_lines(run, style));
    lines.extend(voice_lines(run, style));
    lines.extend(block(style, "Sharing under load: Jain's index, 1 is even", stream_lines::sharing(run)));
    lines.extend(block(style, "Time to connect, new TCP connections", stream_lines::connections(run)));
    lines.extend(block(style, "Look-ups of names (DNS), from question to answer", lookup_lines::lookups(run)));
    lines.extend(block(
        style,
        "Short flows, each over a new connection, until complete",
        lookup_lines::short_flows(run),
    ));
    lines.extend(block(style, "Stream delay, from write to read within a TCP stream", stream_lines::stream_delay(run)));
    lines.extend(with_heading(style, "On the link under load, IP packets", octet_lines(run)));
    lines.extend(transaction_lines(run, style));
    lines.extend(marking_section(run, style));
    lines.extend(measurement_lines(run, style));
    lines.extend(block(style, "Hosts", host_lines::lines(run).iter().map(|line| printable(line)).collect()));
    finished(&lines)
}

pub(crate) fn finished(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

fn head(run: &Analysis, style: Style) -> Vec<String> {
    let mut lines = vec![style.heading(&printable(&words::title(run))), printable(&words::circumstances(run))];
    lines.extend(score_lines::lead(run).iter().map(|line| style.heading(&printable(line))));
    if run.validity.verdict == Verdict::Valid {
        lines.push("Valid: nothing speaks against these numbers.".to_owned());
    }
    lines.extend(words::warnings(run).iter().map(|warning| style.alarm(&printable(warning))));
    lines.extend(run.validity.confidence.map(|confidence| words::confidence(confidence).to_owned()));
    lines.extend(text_scored::lines(run));
    let notes = run.validity.reasons.iter().filter(|reason| reason.severity == Severity::Info);
    lines.extend(notes.map(|reason| printable(&format!("Note: {}", reason.text))));
    lines
}

fn delay_lines(run: &Analysis, style: Style) -> Vec<String> {
    if run.delay_flows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.heading("Round-trip delay of all probes")];
    let mut table = Table::default();
    table.row(DELAY_COLUMNS);
    let delays = &run.round_trip_delay;
    let bursts =
        Direction::ALL.into_iter().any(|way| run.bursts.of(way).is_some_and(|history| history.burst.is_some()));
    for (name, phase) in PHASES {
        if let Some(statistics) = delays.of(phase) {
            table.named_row(name, delay_cells(statistics));
        }
        if let Some(unscored) = delays.unscored.as_ref().filter(|_| phase == Phase::Load && bursts) {
            table.named_row("before that, in the burst", delay_cells(unscored));
        }
    }
    if let Some((load, idle)) = delays.load.as_ref().zip(delays.idle.as_ref()) {
        table.named_row("above idle P50", increases(load, idle));
    }
    lines.extend(table.lines());
    lines.push(String::new());
    lines.push(style.heading("Round-trip delay of each probe flow"));
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "loaded P99", "lost"]);
    let labels: Vec<_> = run.delay_flows.iter().map(|flow| &flow.flow).collect();
    for (flow, name) in run.delay_flows.iter().zip(names(&labels, Naming::Probes)) {
        let PhaseDelays { idle, load, .. } = &flow.delays;
        let of = |statistics: &Option<DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
            statistics.as_ref().map_or_else(unknown, |statistics| quantile(pick(statistics)))
        };
        let cells =
            [of(idle, |s| s.p50), of(load, |s| s.p50), of(load, |s| s.p95), of(load, |s| s.p99), share(flow.loss)];
        table.named_row(&printable(&name), cells);
    }
    lines.extend(table.lines());
    lines
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

fn fate_section(run: &Analysis, style: Style) -> Vec<String> {
    let lines = fate_lines::lines(run).iter().map(|line| printable(line)).collect::<Vec<_>>();
    if lines.is_empty() { lines } else { [vec![String::new(), style.heading(fate_lines::HEADING)], lines].concat() }
}

fn goodput_lines(run: &Analysis, style: Style) -> Vec<String> {
    let directions: Vec<(Direction, &DirectionGoodput)> = Direction::ALL
        .into_iter()
        .map(|direction| (direction, run.goodput(direction)))
        .filter(|(_, goodput)| !goodput.flows.is_empty())
        .collect();
    if directions.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.heading("Goodput under load")];
    let mut table = Table::default();
    for (direction, goodput) in &directions {
        let word = direction_word(*direction);
        let sum = format!("{word}, sum of {}", words::counted(goodput.flows.len(), "stream"));
        table.row([&sum, &goodput.sum.to_string()]);
        table.row(["  mean", &goodput.mean.to_string()]);
        let labels: Vec<_> = goodput.flows.iter().map(|flow| &flow.flow).collect();
        for (flow, name) in goodput.flows.iter().zip(names(&labels, Naming::Streams)) {
            let retransmitted =
                flow.retransmitted.map_or_else(String::new, |share| format!("{} sent again", words::percent(share)));
            table.row([&printable(&format!("  {name}")), &flow.mean.to_string(), &retransmitted]);
        }
    }
    lines.extend(table.lines());
    lines
}

fn voice_lines(run: &Analysis, style: Style) -> Vec<String> {
    with_heading(style, voice_table::HEADING, run.voip.as_ref().map(voice_table::lines).unwrap_or_default())
}

/// Lines under their heading, with a blank one before; nothing where there are none.
fn with_heading(style: Style, heading: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { lines } else { [vec![String::new(), style.heading(heading)], lines].concat() }
}

fn transaction_lines(run: &Analysis, style: Style) -> Vec<String> {
    if run.transaction_flows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.heading("Transactions per second, one at a time")];
    let mut table = Table::default();
    table.row(["", "idle", "loaded", "after", "unanswered"]);
    let labels: Vec<_> = run.transaction_flows.iter().map(|flow| &flow.flow).collect();
    for (flow, name) in run.transaction_flows.iter().zip(names(&labels, Naming::Probes)) {
        let rate = |phase| per_second(flow, phase);
        let unanswered: u64 = flow.phases.iter().map(|phase| phase.unanswered).sum();
        table.named_row(
            &printable(&name),
            [rate(Phase::Idle), rate(Phase::Load), rate(Phase::After), words::count(unanswered)],
        );
    }
    lines.extend(table.lines());
    lines
}

fn per_second(flow: &TransactionFlow, phase: Phase) -> String {
    match flow.phases.iter().find(|entry| entry.phase == phase) {
        Some(entry) if entry.per_second < 99.95 => format!("{:.1}", entry.per_second),
        Some(entry) => format!("{:.0}", entry.per_second),
        None => unknown(),
    }
}

/// Service classes and ECN on the path.
fn marking_section(run: &Analysis, style: Style) -> Vec<String> {
    let said = marking_lines(run);
    let Some(width) = said.iter().map(|(name, _)| name.chars().count()).max() else { return Vec::new() };
    let line = |(name, text): (String, String)| printable(&format!("  {name:<width$}  {text}"));
    let heading = vec![String::new(), style.heading("Markings on the path")];
    heading.into_iter().chain(said.into_iter().map(line)).collect()
}

/// How the measurement itself went.
fn measurement_lines(run: &Analysis, style: Style) -> Vec<String> {
    let mut table = Table::default();
    if let Some(spread) = run.start_spread {
        table.row(["streams due together started within", &spread.to_string()]);
    }
    if let Some(lateness) = &run.send_lateness {
        table.row(["probes left late by, P50", &quantile(lateness.p50)]);
        table.row(["probes left late by, P99", &quantile(lateness.p99)]);
    }
    if run.skipped.packets > 0 {
        table.row(["probes due and not sent", &words::count(run.skipped.packets)]);
    }
    for load in &run.processor {
        let host = match load.point {
            ObservationPoint::Client => "client",
            ObservationPoint::Server => "server",
        };
        table.row([&format!("processor of the {host}, mean"), &words::percent(load.mean)]);
        table.row([&format!("processor of the {host}, busiest core for a second"), &words::percent(load.busiest_core)]);
        if load.saturated > 0.0 {
            table.row([
                &format!("processor of the {host}, seconds with a core it needed over 95 % busy"),
                &words::percent(load.saturated),
            ]);
        }
        if load.stolen > 0.0 {
            table.row([
                &format!("processor of the {host}, seconds with over 5 % taken by the hypervisor"),
                &words::percent(load.stolen),
            ]);
        }
    }
    with_heading(style, "The measurement itself", table.lines())
}

/// Lines under a heading; none where there is nothing to say.
fn block(style: Style, heading: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { lines } else { [vec![String::new(), style.heading(heading)], lines].concat() }
}

pub(crate) fn unknown() -> String {
    "–".to_owned()
}

/// A figure from the distribution of delays; none means that it falls on a lost packet.
pub(crate) fn quantile(delay: Option<Delay>) -> String {
    delay.map_or_else(|| "lost".to_owned(), |delay| delay.to_string())
}

/// Lost packets as a share of those sent.
fn share(loss: Loss) -> String {
    if loss.sent == 0 { unknown() } else { words::percent(loss.lost as f64 / loss.sent as f64) }
}

/// Text of others without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

//! What applications wait for: lookups, connections, transfers and pages, idle and under load.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::name_lookups::LookupGroup;
use rrul_analysis::metrics::web::page_load_statistics::LoadStatistics;
use rrul_analysis::metrics::web::short_flows::TransferGroup;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::units::Delay;

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::Axis;
use crate::drawing::figure::{Scale, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Page, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::panels::page_conditions::page_name;
use crate::panels::run_heading::headed;
use crate::text::lookup_lines::{lookup_name, transfer_name};
use crate::text::words;
use crate::theme::Theme;

/// Left edge of the plot, pixels.
const LEFT: f64 = 270.0;
/// Width of the plot, pixels.
const WIDTH: f64 = 480.0;
/// Height of a row, pixels.
const PITCH: f64 = 26.0;
/// Room for words beside a panel, pixels.
const WORDS: f64 = 340.0;
/// Nanoseconds in the unit of the axis.
const MILLISECOND: f64 = 1e6;
/// Opacity of a bar and its offset from the middle of its row, idle and under load.
const LOOKS: [(f64, f64); 2] = [(0.35, 0.22), (0.9, -0.22)];

/// Times of what applications do.
pub(crate) const CHART: Chart = Chart {
    name: "applications",
    about: "time of DNS lookups, new connections, short transfers and pages, idle and under load",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// Times of one operation in one condition.
#[derive(Debug, Clone, Copy)]
struct Times {
    n: u64,
    /// `None` where half of them or more did not end.
    p50: Option<Delay>,
    /// `None` where it falls on one that did not end.
    p95: Option<Delay>,
    /// Share that did not succeed.
    failed: f64,
}

/// One operation: idle and under load.
struct Row {
    name: String,
    times: [Option<Times>; 2],
}

impl From<DelayStatistics> for Times {
    fn from(statistics: DelayStatistics) -> Self {
        let DelayStatistics { n, lost, p50, p95, .. } = statistics;
        Self { n, p50, p95, failed: lost as f64 / n.max(1) as f64 }
    }
}

impl From<&LoadStatistics> for Times {
    fn from(loads: &LoadStatistics) -> Self {
        let failed = (loads.failed + loads.capped) as f64 / loads.n.max(1) as f64;
        Self { n: loads.n, p50: loads.p50_ns.map(Delay), p95: loads.p95_ns.map(Delay), failed }
    }
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let rows: Vec<Vec<Row>> = runs.iter().map(|run| rows(run)).collect();
    let times = || rows.iter().flatten().flat_map(|row| &row.times).flatten();
    let values = || times().flat_map(|times| [times.p50, times.p95]).flatten().map(milliseconds);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    if high <= 0.0 {
        page.message("Nothing to draw. No lookup, new connection, short flow or page load completed.");
        return page.finish();
    }
    // Room for the bars that have no end.
    let unfinished = times().any(|times| times.p95.is_none());
    let axis = Axis::logarithmic(low.max(1e-3), if unfinished { 1.5 * high } else { high });
    let colours = run_colours(theme, runs.len());
    for (((name, rows), colour), run) in words::run_names(runs).iter().zip(&rows).zip(colours).zip(runs) {
        let title = if runs.len() == 1 { "Time per operation".to_owned() } else { name.clone() };
        if rows.is_empty() {
            page.remark(&format!("{name}: no lookups, new connections, short flows or pages."));
        } else {
            panel(&mut page, title, rows, axis, colour);
        }
        if run.video_playback.iter().any(|video| video.stalls > 0) {
            let stalls: u64 = run.video_playback.iter().map(|video| video.stalls).sum();
            let whose = if runs.len() == 1 { String::new() } else { format!("{name}: ") };
            page.remark(&format!("{whose}Video stalled {}.", words::counted(stalls as usize, "time")));
        }
    }
    page.footnote(
        "Each bar: from the median (point) to the 95th percentile. Pale: on the idle line. Full: under load. If the 95th percentile falls on one that failed or did not end, the bar reaches the right edge and ends in red; where the \
         median does, only the red end is drawn. Failed: no answer, refused, broken, given up or impossible to begin. n: \
         operations that began. TCP connect: BE and EF together. Logarithmic axis.",
    );
    page.finish()
}

fn milliseconds(delay: Delay) -> f64 {
    delay.0 as f64 / MILLISECOND
}

/// The operations of a run, in the order in which a page needs them.
fn rows(run: &Analysis) -> Vec<Row> {
    let mut rows = Vec::new();
    let lookups = &run.name_lookups.groups;
    rows.extend(lookups.iter().map(|group: &LookupGroup| Row {
        name: format!("DNS: {}", lookup_name(group, lookups)),
        times: [group.times.unloaded, group.times.load].map(|times| times.map(|times| times.time.into())),
    }));
    let connections = &run.connections.pooled;
    rows.push(Row {
        name: "TCP connect".to_owned(),
        times: [connections.idle, connections.load].map(|attempts| attempts.map(|attempts| attempts.connect.into())),
    });
    let transfers = &run.short_flows.groups;
    rows.extend(transfers.iter().map(|group: &TransferGroup| Row {
        name: transfer_name(group, transfers),
        times: [group.transfers.unloaded, group.transfers.load].map(|times| times.map(|times| times.completion.into())),
    }));
    rows.extend(run.page_loads.iter().map(|loads| Row {
        name: format!("Page {}", page_name(run, loads)),
        times: [&loads.unloaded, &loads.loaded].map(|loads| loads.as_ref().map(Times::from)),
    }));
    rows.retain(|row| row.times.iter().any(Option::is_some));
    rows
}

fn panel(page: &mut Page<'_>, title: String, entries: &[Row], axis: Axis, colour: &'static str) {
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let column = Column {
        title,
        unit: "median to 95th percentile, idle and under load, ms".to_owned(),
        note: None,
        x: Side::new(axis, Scale::Logarithmic),
        x_words: "time, ms, logarithmic scale".to_owned(),
        left: LEFT,
        width: WIDTH,
    };
    let Some((index, frame)) = page.rows(&rows, &[column]).into_iter().next() else { return };
    let style = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
    for (row, entry) in entries.iter().enumerate() {
        for (times, (opacity, offset)) in entry.times.iter().zip(LOOKS) {
            let Some(Times { p50, p95, .. }) = times else { continue };
            let height = rows.at(row) + offset;
            let ink = Stroke { colour: page.theme.ink, width: 5.0, opacity, height: 5 };
            let red = Stroke { colour: page.theme.alarm, ..ink };
            let Some(median) = p50.map(|median| milliseconds(median).max(axis.min)) else {
                page.figure.dots(index, &names[row], &[(axis.max, height)], red);
                continue;
            };
            let end = p95.map_or(axis.max, |p95| milliseconds(p95).max(median));
            let stroke = Stroke { colour, width: 7.0, opacity, height: 3 };
            page.figure.segments(index, &names[row], &[[(median, height), (end, height)]], stroke);
            page.figure.dots(index, &names[row], &[(median, height)], ink);
            if p95.is_none() {
                page.figure.dots(index, &names[row], &[(end, height)], red);
            }
        }
        let text = fitted(&medians(&entry.times), style, WORDS);
        page.figure.text(frame.left + frame.width + 10.0, rows.text_top(frame, row, 12.0), &text, style);
    }
}

/// Both medians, their factor, the shares that failed, and their number: `20.0 ms → 80.0 ms, 4.0x, failed 0 % → 3 %, n
/// 40 → 12`.
fn medians(times: &[Option<Times>; 2]) -> String {
    let median = |times: &Option<Times>| match times {
        Some(times) => times.p50.map_or_else(|| "unfinished".to_owned(), |median| median.to_string()),
        None => "–".to_owned(),
    };
    let factor = match times {
        [Some(Times { p50: Some(idle), .. }), Some(Times { p50: Some(load), .. })] if idle.0 > 0 => {
            format!(", {:.1}x", load.0 as f64 / idle.0 as f64)
        }
        _ => String::new(),
    };
    let both = |what: &dyn Fn(&Times) -> String| {
        let [idle, load] = times.map(|times| times.as_ref().map_or_else(|| "–".to_owned(), what));
        format!("{idle} → {load}")
    };
    let failed = times.iter().flatten().any(|times| times.failed > 0.0);
    let failed =
        if failed { format!(", failed {}", both(&|times| words::percent(times.failed))) } else { String::new() };
    let count = both(&|times| times.n.to_string());
    format!("{} → {}{factor}{failed}, n {count}", median(&times[0]), median(&times[1]))
}

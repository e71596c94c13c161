//! The hops of each path: what a round trip to each takes, idle and under load, and where the queue lies.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::path::path_hops::HopAnswers;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::units::Delay;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::nanoseconds;
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Scale, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Page, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::panels::run_heading::headed;
use crate::text::path_lines;
use crate::text::words;
use crate::theme::Theme;

/// Left edge of the plot, pixels.
const LEFT: f64 = 270.0;
/// Width of the plot, pixels.
const WIDTH: f64 = 560.0;
/// Height of a row, pixels.
const PITCH: f64 = 24.0;
/// Room for words beside a panel, pixels.
const WORDS: f64 = 270.0;

/// The chart that shows where on the path delay arises.
pub(crate) const CHART: Chart = Chart {
    name: "path_hops",
    about: "per-hop delay, idle and loaded, both directions",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let mut drawn = false;
    let top = runs.iter().flat_map(|run| &run.path_traces).flat_map(ends).fold(0.0, f64::max);
    let names = words::run_names(runs);
    for ((run, name), colour) in runs.iter().zip(names).zip(run_colours(theme, runs.len())) {
        for trace in run.path_traces.iter().filter(|trace| !trace.hops.is_empty()) {
            let of = if runs.len() == 1 { String::new() } else { format!("{name}: ") };
            panel(&mut page, &of, trace, top, colour);
            drawn = true;
        }
    }
    if !drawn {
        page.message("Nothing to draw. The run has no path trace; a plan asks for one with the flow type path_trace.");
        return page.finish();
    }
    page.footnote(
        "Round trips to each hop, one packet a second, less often on a slow line. Pale: on the idle line; full: under \
         load; each from the fastest answer to P90, with a point at the median. Routers limit their answers: a missing answer is not a loss. Red: the queue of the trace's direction, located with end-to-end test packets.",
    );
    page.finish()
}

/// The largest figures of a trace, nanoseconds.
fn ends(trace: &PathTrace) -> Vec<f64> {
    let of = |answers: &HopAnswers| answers.round_trip.and_then(|trips| trips.p90).map(nanoseconds);
    trace.hops.iter().flat_map(|hop| [of(&hop.phases.idle), of(&hop.phases.load)]).flatten().collect()
}

fn panel(page: &mut Page<'_>, of: &str, trace: &PathTrace, top: f64, colour: &'static str) {
    let names: Vec<String> = trace.hops.iter().map(path_lines::hop_name).collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let unit = Unit::of_delays(Axis::from_zero(top, 5).max);
    let column = Column {
        title: format!("{of}{}", path_lines::name(trace)),
        unit: format!("round trip, {}", unit.name),
        note: None,
        x: Side::new(Axis::from_zero(top / unit.size, 5), Scale::Linear),
        x_words: format!("round trip, {}", unit.name),
        left: LEFT,
        width: WIDTH,
    };
    let Some((index, frame)) = page.rows(&rows, std::slice::from_ref(&column)).into_iter().next() else { return };
    let style = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
    for (row, hop) in trace.hops.iter().enumerate() {
        let at = rows.at(row);
        let bar = |trips: &DelayStatistics| {
            let scaled = |delay: Option<Delay>| delay.map(|delay| nanoseconds(delay) / unit.size);
            Some((scaled(trips.min)?, scaled(trips.p50)?, scaled(trips.p90)?))
        };
        let phases = [(&hop.phases.idle, 0.35, 0.22), (&hop.phases.load, 0.9, -0.22)];
        for (answers, opacity, offset) in phases {
            let Some((low, middle, high)) = answers.round_trip.as_ref().and_then(bar) else { continue };
            let height = at + offset;
            let stroke = Stroke { colour, width: 6.0, opacity, height: 3 };
            page.figure.segments(index, &names[row], &[[(low, height), (high, height)]], stroke);
            let dot = Stroke { colour: page.theme.ink, width: 5.0, opacity, height: 5 };
            page.figure.dots(index, &names[row], &[(middle, height)], dot);
        }
        let answered = format!("{} of {} answered under load", hop.phases.load.answered, hop.phases.load.sent);
        let text = fitted(&answered, style, WORDS);
        page.figure.text(frame.left + frame.width + 10.0, rows.text_top(frame, row, 12.0), &text, style);
    }
    if let (Some(after), Some(before)) = (trace.bottleneck.after_hop, trace.bottleneck.before_hop) {
        // From the last row before the queue to the first behind it; the sender stands above all rows.
        let row_of = |hop: u8| trace.hops.iter().position(|entry| entry.hop == hop);
        let height = |row: Option<usize>| row.map_or(rows.names.len() as f64, |row| rows.at(row));
        let red = Stroke { colour: page.theme.alarm, width: 3.0, opacity: 1.0, height: 6 };
        let place = column.x.axis.max;
        page.figure.segments(index, "queue", &[[(place, height(row_of(after))), (place, height(row_of(before)))]], red);
    }
    page.remark(&trace.bottleneck.words);
}

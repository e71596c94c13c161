//! Boxes of round-trip delay: five percentiles and the extremes of each flow or run, idle and loaded.

use rrul_analysis::Analysis;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::{Sample, nanoseconds};
use crate::drawing::Drawing;
use crate::drawing::axis::Unit;
use crate::drawing::figure::{Align, Scale, Segment, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Page, Rows, SIDE_RIGHT};
use crate::drawing::run_colours::{colour_words, run_colours};
use crate::panels::delay_side::{Reach, beyond, delay_side};
use crate::panels::run_heading::{headed, short_names};
use crate::text::label::{Naming, names};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::theme::Theme;

/// Most flows or runs drawn, idle and loaded each.
const MOST: usize = 60;
/// Left edge of the plot, pixels.
const LEFT: f64 = 270.0;
/// Width of the plot, pixels.
const WIDTH: f64 = 510.0;
/// Height of a row, pixels.
const PITCH: f64 = 22.0;
/// Height of a box, pixels.
const BOX: f64 = 11.0;
/// The percentiles of a box, per mille.
const PERCENTILES: [u16; 5] = [50, 250, 500, 750, 950];
/// Right edges of the figures beside the panel: five percentiles, the packets and the loss.
const COLUMNS: [f64; 7] = [838.0, 884.0, 930.0, 976.0, 1022.0, 1082.0, SIDE_RIGHT];

/// The chart that shows where most delays of each flow lie.
pub(crate) const CHART: Chart = Chart {
    name: "box",
    about: "box plots of delay, idle and loaded, by flow of one run or by run",
    runs: 1..=ANY,
    draw: Draw::Delays(draw),
};

/// Delays of one flow or run in one phase.
struct Entry {
    name: String,
    colour: &'static str,
    loaded: bool,
    sample: Sample,
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let mut entries = if let [run] = runs { of_flows(run, theme) } else { of_runs(runs, theme) };
    entries.retain(|entry| entry.sample.sent() > 0);
    if entries.is_empty() {
        page.message("Nothing to draw. No delay probes were sent in the idle or the load phase.");
        return page.finish();
    }
    let left_out = entries.len().saturating_sub(2 * MOST);
    entries.truncate(2 * MOST);
    boxes(&mut page, &entries);
    let which =
        if runs.len() == 1 { "of each flow".to_owned() } else { format!("of {} of each run", pooled_name(runs)) };
    page.footnote(&format!(
        "Delays {which}. Box: P25 to P75, with a stroke at the median P50. Whiskers: to P5 and P95, with one packet in twenty beyond each. \
         Points: the lowest and the highest packet. \
         Pale: idle; full: under load, in the scored window. A lost packet is infinitely late: where P95 falls on losses, \
         the whisker ends in red at the right edge. {}",
        colour_words(runs.len()),
    ));
    if left_out > 0 {
        page.footnote(&format!("{} more are not drawn.", words::counted(left_out, "row")));
    }
    page.finish()
}

fn of_flows(run: &Analysis, theme: &Theme) -> Vec<Entry> {
    let flows = &run.round_trip_delay.flows;
    let labels: Vec<_> = flows.iter().map(|flow| &flow.flow).collect();
    let of = |(flow, name): (&rrul_analysis::metrics::delay::round_trip_delay::DelayFlow, &String)| {
        [Phase::Idle, Phase::Load].map(|phase| Entry {
            name: name.clone(),
            colour: theme.class(flow.flow.class),
            loaded: phase == Phase::Load,
            sample: Sample::of(run, phase, flow.series.iter()),
        })
    };
    flows.iter().zip(&names(&labels, Naming::Probes)).flat_map(of).collect()
}

fn of_runs(runs: &[&Analysis], theme: &Theme) -> Vec<Entry> {
    // With room for the phase behind them.
    let names = short_names(runs, theme, LEFT - 64.0);
    let of = |((run, name), colour): ((&&Analysis, String), &'static str)| {
        [Phase::Idle, Phase::Load].map(|phase| Entry {
            name: name.clone(),
            colour,
            loaded: phase == Phase::Load,
            sample: Sample::pooled(run, phase),
        })
    };
    runs.iter().zip(names).zip(run_colours(theme, runs.len())).flat_map(of).collect()
}

fn boxes(page: &mut Page<'_>, entries: &[Entry]) {
    let samples: Vec<&Sample> = entries.iter().map(|entry| &entry.sample).collect();
    let (x, unit) = delay_side(&samples, Reach::Nearly);
    let note = beyond(&samples, &x, unit);
    let scale_words = if x.scale == Scale::Logarithmic { ", logarithmic scale" } else { "" };
    let names: Vec<String> = entries
        .iter()
        .map(|entry| format!("{}, {}", entry.name, if entry.loaded { "loaded" } else { "idle" }))
        .collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let column = Column {
        title: "Round-trip delay".to_owned(),
        unit: "P5, P25, P50, P75, P95, lowest and highest packet".to_owned(),
        note,
        x_words: format!("round-trip delay, {}{scale_words}", unit.name),
        x: x.clone(),
        left: LEFT,
        width: WIDTH,
    };
    let places = page.rows(&rows, std::slice::from_ref(&column));
    let Some(&(panel, frame)) = places.first() else { return };
    let floor = if x.scale == Scale::Logarithmic { x.axis.min } else { f64::NEG_INFINITY };
    let scaled = |delay: Delay| (nanoseconds(delay) / unit.size).max(floor);
    for (row, entry) in entries.iter().enumerate() {
        let (at, name) = (rows.at(row), &entry.name);
        let [p5, p25, p50, p75, p95] = PERCENTILES.map(|per_mille| entry.sample.percentile(per_mille).map(scaled));
        let opacity = if entry.loaded { 1.0 } else { 0.45 };
        let stroke = |width, height| Stroke { colour: entry.colour, width, opacity, height };
        // What falls on a loss is drawn at the right edge, in the color of losses.
        let end = |value: Option<f64>| value.unwrap_or(x.axis.max);
        let across = |from: f64, to: f64| -> Segment { [(from, at), (to, at)] };
        if let Some(p5) = p5 {
            let colour = if p95.is_none() { page.theme.alarm } else { entry.colour };
            let whiskers = [across(p5, end(p25)), across(end(p75), end(p95))];
            page.figure.segments(panel, name, &whiskers, Stroke { colour, ..stroke(1.6, 3) });
        }
        if let Some(p25) = p25 {
            page.figure.segments(panel, name, &[across(p25, end(p75))], stroke(BOX, 4));
        }
        if let Some(p50) = p50 {
            let half = 0.5 * (BOX + 3.0) / PITCH;
            let upright: Segment = [(p50, at - half), (p50, at + half)];
            let ink = Stroke { colour: page.theme.ink, width: 2.0, opacity: 1.0, height: 6 };
            page.figure.segments(panel, name, &[upright], ink);
        }
        let extremes = [entry.sample.sorted.first(), entry.sample.sorted.last()];
        let dots: Vec<(f64, f64)> = extremes.into_iter().flatten().map(|delay| (scaled(*delay), at)).collect();
        let inside: Vec<_> = dots.into_iter().filter(|(delay, _)| x.reaches(*delay)).collect();
        page.figure.dots(panel, name, &inside, stroke(5.0, 5));
        figures(page, rows.text_top(frame, row, 12.0), &entry.sample, unit);
    }
    let head = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
    for (edge, title) in COLUMNS.into_iter().zip(["P5", "P25", "P50", "P75", "P95", "packets", "lost"]) {
        page.figure.text(edge, frame.top - 16.0, title, head);
    }
}

/// The figures of a row, in the unit of the axis.
fn figures(page: &mut Page<'_>, y: f64, sample: &Sample, unit: Unit) {
    let style = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
    for (edge, per_mille) in COLUMNS.into_iter().zip(PERCENTILES) {
        page.figure.text(edge, y, &unit.delay(sample.percentile(per_mille)), style);
    }
    let colour = if sample.lost > 0 { page.theme.alarm } else { page.theme.ink };
    page.figure.text(COLUMNS[5], y, &words::count(sample.sent()), style);
    page.figure.text(COLUMNS[6], y, &words::percent(sample.lost_share()), TextStyle { colour, ..style });
}

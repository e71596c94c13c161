//! The comparison: delay and goodput of several runs on shared axes.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use crate::chart::{Chart, Draw};
use crate::delay_sample::{nanoseconds, pooled_packets};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit, readable_top, tick_words};
use crate::drawing::figure::{Align, Dash, Fill, Line, Scale, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PITCH, Page, PanelPlan, SIDE_LEFT, SIDE_RIGHT, time_axis};
use crate::panels::bins::{Bins, DelayBin};
use crate::panels::delay_panel::{beyond, increase, loss_strokes, medians, ranges};
use crate::panels::time_chart::introduce;
use crate::text::improvement::improvement_sentence;
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Most runs: one color each.
pub(super) const MOST: usize = 4;
/// Height of the panel of delay, pixels.
const DELAY_HEIGHT: f64 = 300.0;
/// Height of the panel of rates, pixels.
const RATE_HEIGHT: f64 = 140.0;
/// Delays further apart than this are drawn on a logarithmic scale, or the lower one would lie on the floor.
const FAR_APART: f64 = 5.0;

/// The chart that shows what a change did.
pub(crate) const CHART: Chart = Chart {
    name: "comparison",
    about: "delay and goodput of two to four runs on shared axes",
    runs: 2..=MOST,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let names = words::run_names(runs);
    let title = names.join(" and ");
    let names: Vec<String> = names.iter().map(|name| fitted(name)).collect();
    let mut page = Page::new(theme, title, time_axis(runs), runs[0].test.phases.clone());
    for (run, name) in runs.iter().zip(&names).skip(1) {
        let delays = [&runs[0].round_trip_delay.pooled, &run.round_trip_delay.pooled];
        page.statement(&format!("Under load, {}.", improvement_sentence([&names[0], name], delays)));
    }
    introduce(&mut page, runs, &names);

    let directions: Vec<Direction> = Direction::ALL
        .into_iter()
        .filter(|direction| runs.iter().any(|run| !run.goodput(*direction).flows.is_empty()))
        .collect();
    let probes = runs.iter().any(|run| !run.round_trip_delay.flows.is_empty());
    if directions.is_empty() && !probes {
        page.message("Nothing to draw. None of these runs has streams or delay probes.");
        return page.finish();
    }
    let mut widths = Vec::new();
    if probes {
        widths.push(delay(&mut page, runs, &names, directions.is_empty()));
    }
    for (index, direction) in directions.iter().enumerate() {
        widths.push(rates(&mut page, runs, &names, *direction, index + 1 == directions.len()));
    }
    let delay_words = format!(
        "Delay: medians of the {} sent in a bin; shade: lowest to highest of them. Strokes above: lost packets.",
        pooled_name(runs)
    );
    let text =
        format!("{}{}", super::bins_words(&widths), if probes { format!(" {delay_words}") } else { String::new() });
    page.footnote(&text);
    page.footnote(
        &runs
            .iter()
            .zip(&names)
            .map(|(run, name)| format!("{name}: {}", words::date(&run.test.created)))
            .collect::<Vec<_>>()
            .join("  ·  "),
    );
    page.finish()
}

/// Delay of the pooled probes of each run; gives the width of its bins.
pub(super) fn delay(page: &mut Page<'_>, runs: &[&Analysis], names: &[String], last: bool) -> f64 {
    let bins = Bins::over(page.time.min, page.time.max, 0.2);
    let binned: Vec<Vec<DelayBin>> = runs.iter().map(|run| bins.delays(pooled_packets(run))).collect();
    let all = || runs.iter().flat_map(|run| pooled_packets(run));
    let (axis, unit, scale) = delay_axis(runs);
    let lanes = runs.len();
    let note = beyond(all(), axis.max, unit);
    let scale_words = if scale == Scale::Logarithmic { ", logarithmic scale" } else { "" };
    let (panel, frame) = page.panel(&PanelPlan {
        title: "Round-trip delay",
        unit: format!("{}, {}{scale_words}", unit.name, pooled_name(runs)),
        note,
        axis,
        scale,
        lanes,
        height: DELAY_HEIGHT,
        side_height: 88.0 * runs.len() as f64,
        last,
    });
    for (index, bins) in binned.iter().enumerate() {
        let colour = page.theme.run(index);
        // A logarithmic axis has no place for what is not positive; it begins below everything that is.
        let floor = |value: f64| if scale == Scale::Logarithmic { value.max(axis.min) } else { value };
        let range: Vec<_> = ranges(bins, unit)
            .into_iter()
            .map(|(at, ends)| (at, ends.map(|(low, high)| (floor(low), floor(high)))))
            .collect();
        page.figure.range(panel, &range, Fill { colour, opacity: 0.2 });
        let points = medians(bins, unit).into_iter().map(|(at, delay)| (at, delay.map(floor))).collect();
        page.figure
            .line(panel, &Line { name: &names[index], points, colour, width: 2.0, dash: Dash::Solid, height: 5 });
        let lost = loss_strokes(pooled_packets(runs[index]), &page.time);
        page.figure.strokes_above(panel, &lost, axis.max, lanes - 1 - index, colour);
    }
    for (index, (run, name)) in runs.iter().zip(names).enumerate() {
        let top = frame.top - 2.0 + 88.0 * index as f64;
        page.figure.legend(SIDE_LEFT, top - 2.0, PITCH, 12.0, std::slice::from_ref(name));
        let headline = TextStyle::left(22.0, Weight::SemiBold, page.theme.ink);
        page.figure.text(SIDE_LEFT, top + 16.0, &increase(&run.round_trip_delay.pooled), headline);
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        let of = |delay: Option<_>| unit.delay(delay);
        let delays = &run.round_trip_delay.pooled;
        let idle = delays.idle.as_ref().map_or_else(|| "–".to_owned(), |statistics| of(statistics.p50));
        let load =
            delays.load.as_ref().map_or_else(|| "–".to_owned(), |s| format!("P50 {}, P95 {}", of(s.p50), of(s.p95)));
        page.figure.text(SIDE_LEFT, top + 43.0, &format!("idle {idle} {u}, load {load}", u = unit.name), small);
        let colour = if run.loss.round_trips.lost > 0 { page.theme.alarm } else { page.theme.muted };
        page.figure.text(
            SIDE_LEFT,
            top + 58.0,
            &format!("packets: {}", words::loss(run.loss.round_trips)),
            TextStyle { colour, ..small },
        );
    }
    bins.width
}

/// The axis that all runs' delays can be read on, its unit, and its scale.
pub(crate) fn delay_axis(runs: &[&Analysis]) -> (Axis, Unit, Scale) {
    let tops =
        runs.iter().map(|run| readable_top(pooled_packets(run).filter_map(|p| p.delay).map(nanoseconds).collect()));
    let top = tops.clone().fold(0.0, f64::max);
    let typical = runs.iter().filter_map(|run| run.round_trip_delay.pooled.load.as_ref()?.p50).map(nanoseconds);
    let low = typical.clone().fold(f64::INFINITY, f64::min);
    let high = typical.fold(0.0, f64::max);
    let positive: Vec<f64> = runs
        .iter()
        .flat_map(|run| pooled_packets(run))
        .filter_map(|p| p.delay)
        .map(nanoseconds)
        .filter(|d| *d > 0.0)
        .collect();
    let lowest = positive.iter().copied().fold(f64::INFINITY, f64::min);
    if low > 0.0 && high / low > FAR_APART && lowest.is_finite() {
        let unit = Unit::of_delays(top);
        // Three decades are enough to read; a stray packet far below is drawn at the lower end.
        let axis = Axis::logarithmic(lowest.max(top / 1e3) / unit.size, top / unit.size);
        return (axis, unit, Scale::Logarithmic);
    }
    let axis = Axis::from_zero(top, 5);
    let unit = Unit::of_delays(axis.max);
    (Axis::from_zero(axis.max / unit.size, 5), unit, Scale::Linear)
}

/// The sum of one direction's streams of each run; gives the width of its bins.
fn rates(page: &mut Page<'_>, runs: &[&Analysis], names: &[String], direction: Direction, last: bool) -> f64 {
    let series = || runs.iter().map(|run| &run.goodput(direction).sum_series);
    let finest = series().flatten().map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = Bins::over(page.time.min, page.time.max, finest);
    let lines: Vec<_> = series().map(|points| bins.rates(points)).collect();
    let values = lines.iter().flatten().filter_map(|(_, rate)| *rate).collect();
    let bits = Axis::from_zero(readable_top(values), 4);
    let unit = Unit::of_rates(bits.max);
    let axis = Axis::from_zero(bits.max / unit.size, 4);
    let beyond =
        lines.iter().flatten().filter(|(_, rate)| rate.is_some_and(|rate| rate > axis.max * unit.size)).count();
    let note = (beyond > 0)
        .then(|| format!("{} above {} {}", words::counted(beyond, "point"), tick_words(axis.max), unit.name));
    let (panel, frame) = page.panel(&PanelPlan {
        title: direction_word(direction),
        unit: format!("{}, sum of all streams", unit.name),
        note,
        axis,
        scale: Scale::Linear,
        lanes: 0,
        height: RATE_HEIGHT,
        side_height: 34.0 + PITCH * runs.len() as f64,
        last,
    });
    let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
    let figure = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::SemiBold, page.theme.ink) };
    page.figure.text(SIDE_LEFT, frame.top - 2.0, "sum of all streams, mean over the load", small);
    for (index, (points, name)) in lines.into_iter().zip(names).enumerate() {
        let points = points.into_iter().map(|(at, rate)| (at, rate.map(|rate| rate / unit.size))).collect();
        page.figure.line(
            panel,
            &Line { name, points, colour: page.theme.run(index), width: 1.8, dash: Dash::Solid, height: 5 },
        );
        let top = frame.top + 18.0 + PITCH * index as f64;
        page.figure.legend(SIDE_LEFT, top, PITCH, 12.0, std::slice::from_ref(name));
        let goodput = runs[index].goodput(direction);
        let text = if goodput.flows.is_empty() { "none".to_owned() } else { goodput.sum.to_string() };
        page.figure.text(SIDE_RIGHT, top + 2.0, &text, figure);
    }
    bins.width
}

/// A run's name, cut to what fits beside the panels.
pub(super) fn fitted(name: &str) -> String {
    let style = TextStyle { size: 12.0, weight: Weight::Regular, colour: "", align: Align::Left };
    let room = SIDE_RIGHT - SIDE_LEFT - 110.0;
    if style.width(name) <= room {
        return name.to_owned();
    }
    let mut shortened = name.to_owned();
    while style.width(&shortened) + style.width("…") > room && shortened.pop().is_some() {}
    shortened + "…"
}

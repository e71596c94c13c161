//! Bars with 95 % intervals: goodput and loaded delay of runs.

use rrul_analysis::Analysis;
use rrul_analysis::comparison::run_confidence::RunConfidence;
use rrul_analysis::statistics::block_bootstrap::ConfidenceInterval;
use rrul_model::flow::Direction;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::nanoseconds;
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Scale, Segment, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Page, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::panels::run_heading::headed;
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::theme::Theme;

/// Left edges of the two panels side by side.
const LEFTS: [f64; 2] = [200.0, 676.0];
/// Width of the plot, pixels.
const WIDTH: f64 = 290.0;
/// Height of a row, pixels.
const PITCH: f64 = 26.0;
/// Thickness of a bar, pixels.
const BAR: f64 = 15.0;
/// Room for words beside a panel, pixels.
const WORDS: f64 = 160.0;

/// The chart that says how sure figures are.
pub(crate) const CHART: Chart = Chart {
    name: "bars",
    about: "goodput and loaded delay of each run, with 95 % intervals",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Sum(Direction),
    DelayP50,
    DelayP95,
}

/// One bar. Infinite values are delays that fall on losses.
#[derive(Debug, Clone, PartialEq)]
struct Bar {
    name: String,
    value: Option<f64>,
    interval: Option<ConfidenceInterval>,
}

impl Measure {
    const ALL: [[Self; 2]; 2] =
        [[Self::Sum(Direction::Down), Self::Sum(Direction::Up)], [Self::DelayP50, Self::DelayP95]];

    fn title(self) -> &'static str {
        match self {
            Self::Sum(Direction::Down) => "Download",
            Self::Sum(Direction::Up) => "Upload",
            Self::DelayP50 => "Loaded delay, P50",
            Self::DelayP95 => "Loaded delay, P95",
        }
    }

    /// In bit/s or nanoseconds; `None` where the run has nothing of the kind.
    fn value(self, run: &Analysis) -> Option<f64> {
        let delay = |delay: Option<_>| delay.map_or(f64::INFINITY, nanoseconds);
        match self {
            Self::Sum(direction) => {
                let goodput = run.goodput(direction);
                (!goodput.flows.is_empty()).then_some(goodput.sum.0 as f64)
            }
            Self::DelayP50 => run.round_trip_delay.pooled.load.as_ref().map(|load| delay(load.p50)),
            Self::DelayP95 => run.round_trip_delay.pooled.load.as_ref().map(|load| delay(load.p95)),
        }
    }

    fn interval(self, confidence: &RunConfidence) -> Option<ConfidenceInterval> {
        match self {
            Self::Sum(direction) => confidence.goodput(direction),
            Self::DelayP50 => confidence.delay_p50,
            Self::DelayP95 => confidence.delay_p95,
        }
    }

    fn unit(self, top: f64) -> Unit {
        if matches!(self, Self::Sum(_)) { Unit::of_rates(top) } else { Unit::of_delays(top) }
    }
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let names = words::run_names(runs);
    let colours = run_colours(theme, runs.len());
    let confidences: Vec<RunConfidence> = runs.iter().copied().map(RunConfidence::from_analysis).collect();
    let mut without = false;
    for pair in Measure::ALL {
        let bars = pair.map(|measure| {
            let bar = |((run, name), confidence): ((&&Analysis, &String), &RunConfidence)| {
                let value = measure.value(run);
                Bar { name: name.clone(), value, interval: value.and_then(|_| measure.interval(confidence)) }
            };
            runs.iter().zip(&names).zip(&confidences).map(bar).collect::<Vec<_>>()
        });
        if bars.iter().flatten().all(|bar| bar.value.is_none()) {
            let what = if pair == Measure::ALL[0] { "streams" } else { "delay probes" };
            page.subtitle(&format!(
                "No {what} under load in {}.",
                if runs.len() == 1 { "this run" } else { "these runs" }
            ));
            continue;
        }
        without |= bars.iter().flatten().any(|bar| bar.value.is_some() && bar.interval.is_none());
        panels(&mut page, pooled_name(runs), pair, &bars, &colours);
    }
    let without = if without { " No interval: a scored window of fewer than five blocks." } else { "" };
    page.footnote(&format!(
        "Sums: goodput of all streams of a direction. Delay: round-trip delay of {} in the scored window, lost packets \
         infinitely late. Stroke: 95 % interval by block bootstrap within the run, without differences between runs.{without}",
        pooled_name(runs)
    ));
    page.finish()
}

fn panels(page: &mut Page<'_>, probes: &str, pair: [Measure; 2], bars: &[Vec<Bar>; 2], colours: &[&'static str]) {
    let names: Vec<String> = bars[0].iter().map(|bar| bar.name.clone()).collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let tops = bars.each_ref().map(|bars| {
        let ends = bars.iter().flat_map(|bar| bar.value.into_iter().chain(bar.interval.map(|interval| interval.high)));
        ends.filter(|end| end.is_finite()).fold(0.0, f64::max)
    });
    let units = [0, 1].map(|index| pair[index].unit(Axis::from_zero(tops[index], 4).max));
    let columns = [0, 1].map(|index| {
        let (measure, unit) = (pair[index], units[index]);
        let kind = if matches!(measure, Measure::Sum(_)) { "sum of all streams" } else { probes };
        Column {
            title: measure.title().to_owned(),
            unit: format!("{}, {kind}", unit.name),
            note: None,
            x: Side::new(Axis::from_zero(tops[index] / unit.size, 4), Scale::Linear),
            x_words: format!("{}, {}", measure.title().to_lowercase().replace(" p", " P"), unit.name),
            left: LEFTS[index],
            width: WIDTH,
        }
    });
    let places = page.rows(&rows, &columns);
    let style = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
    for (index, (panel, frame)) in places.into_iter().enumerate() {
        let (unit, axis) = (units[index], columns[index].x.axis);
        // What is infinite is drawn to the edge, and said.
        let scaled = |value: f64| if value.is_finite() { value / unit.size } else { axis.max };
        for (row, (bar, colour)) in bars[index].iter().zip(colours).enumerate() {
            let at = rows.at(row);
            let stroke = Stroke { colour, width: BAR, opacity: 0.75, height: 3 };
            if let Some(value) = bar.value.filter(|value| value.is_finite()) {
                page.figure.segments(panel, &bar.name, &[[(0.0, at), (scaled(value), at)]], stroke);
            }
            if let Some(ConfidenceInterval { low, high }) = bar.interval {
                let ink = Stroke { colour: page.theme.ink, width: 1.5, opacity: 1.0, height: 6 };
                page.figure.segments(panel, &bar.name, &whisker(scaled(low), scaled(high), at), ink);
            }
            let text = fitted(&said(bar, unit), style, WORDS);
            page.figure.text(frame.left + frame.width + 10.0, rows.text_top(frame, row, 12.0), &text, style);
        }
    }
}

/// From one end to the other, with a short stroke across at each.
fn whisker(low: f64, high: f64, at: f64) -> [Segment; 3] {
    let half = 0.3 * BAR / PITCH;
    let end = |x: f64| [(x, at - half), (x, at + half)];
    [[(low, at), (high, at)], end(low), end(high)]
}

/// The figures of a bar, in the unit of the axis.
fn said(bar: &Bar, unit: Unit) -> String {
    let figure = |value: f64| {
        if value.is_finite() { crate::drawing::axis::figures(value / unit.size) } else { "lost".to_owned() }
    };
    let Some(value) = bar.value else { return "none".to_owned() };
    match bar.interval {
        Some(interval) => format!("{} ({} to {})", figure(value), figure(interval.low), figure(interval.high)),
        None => format!("{} (no interval)", figure(value)),
    }
}

//! Bars with 95 % intervals: goodput and loaded delay of runs, or of groups of repetitions.

use rrul_analysis::Analysis;
use rrul_analysis::comparison::run_confidence::RunConfidence;
use rrul_analysis::statistics::block_bootstrap::ConfidenceInterval;
use rrul_analysis::statistics::median_interval::median_interval;
use rrul_model::flow::Direction;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::nanoseconds;
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Scale, Segment, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Page, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::panels::grouping::{Grouping, group_name};
use crate::panels::run_heading::headed;
use crate::text::pooled_probes::pooled_name;
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
    about: "goodput and loaded delay with 95 % intervals, of runs or of medians over groups of runs",
    runs: 1..=ANY,
    draw: Draw::Groups(draw),
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
    /// The runs that it is the median of; none for a single run.
    runs: Vec<f64>,
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

fn draw(runs: &[&Analysis], grouping: &Grouping, theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let groups = grouping.groups(runs);
    let colours = run_colours(theme, groups.len());
    let confidences: Vec<Option<RunConfidence>> = groups
        .iter()
        .map(
            |(_, places)| if let [place] = places[..] { Some(RunConfidence::from_analysis(runs[place])) } else { None },
        )
        .collect();
    let mut without = false;
    for pair in Measure::ALL {
        let bars = pair.map(|measure| {
            let bar = |((name, places), confidence): (&(String, Vec<usize>), &Option<RunConfidence>)| {
                let values: Vec<f64> = places.iter().filter_map(|place| measure.value(runs[*place])).collect();
                let name = group_name(name, places.len(), grouping);
                match confidence {
                    Some(confidence) => Bar {
                        name,
                        value: values.first().copied(),
                        interval: measure.interval(confidence).filter(|_| !values.is_empty()),
                        runs: Vec::new(),
                    },
                    None => Bar { name, value: middle(&values), interval: median_interval(&values), runs: values },
                }
            };
            groups.iter().zip(&confidences).map(bar).collect::<Vec<_>>()
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
    page.footnote(&explanation(
        pooled_name(runs),
        &groups.iter().map(|(_, places)| places.len()).collect::<Vec<_>>(),
        without,
    ));
    page.finish()
}

/// The median by nearest rank; `None` of nothing.
fn middle(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    rrul_analysis::statistics::percentile::percentile(&sorted, 0, 500)
}

fn explanation(probes: &str, sizes: &[usize], bars_without: bool) -> String {
    let first = format!(
        "Sums: goodput of all streams of a direction. Delay: round-trip delay of {probes} in the scored window, lost packets infinitely late."
    );
    let mut text = vec![first.as_str()];
    if sizes.contains(&1) {
        text.push(
            "Bar of a single run: the stroke is its 95 % interval by block bootstrap within the run, without differences between runs.",
        );
    }
    if sizes.iter().any(|size| *size > 1) {
        text.push(
            "Bar of several runs: their median, each run a point; stroke: 95 % interval of the median by ranks, for which at \
             least six runs are needed.",
        );
    }
    if bars_without {
        text.push("No interval: too few runs, or a scored window of fewer than five blocks.");
    }
    text.join(" ")
}

fn panels(page: &mut Page<'_>, probes: &str, pair: [Measure; 2], bars: &[Vec<Bar>; 2], colours: &[&'static str]) {
    let names: Vec<String> = bars[0].iter().map(|bar| bar.name.clone()).collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let tops = bars.each_ref().map(|bars| {
        let ends = bars.iter().flat_map(|bar| {
            bar.value.into_iter().chain(bar.interval.map(|interval| interval.high)).chain(bar.runs.iter().copied())
        });
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
            let dots: Vec<_> = bar.runs.iter().filter(|run| run.is_finite()).map(|run| (scaled(*run), at)).collect();
            if !dots.is_empty() {
                let colour = page.theme.ink;
                page.figure.dots(panel, &bar.name, &dots, Stroke { colour, width: 4.0, opacity: 0.6, height: 5 });
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
    let lost = bar.runs.iter().filter(|run| !run.is_finite()).count();
    let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
    match bar.interval {
        Some(interval) => format!("{} ({} to {}){lost}", figure(value), figure(interval.low), figure(interval.high)),
        None => format!("{} (no interval){lost}", figure(value)),
    }
}

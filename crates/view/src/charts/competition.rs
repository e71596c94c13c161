//! Competition: two runs over one line at the same time, on one clock (spec gallery: two RRUL tests at once).

use rrul_analysis::Analysis;
use rrul_analysis::comparison::competition::{Competition as Met, DirectionCompetition};
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, Delay};

use crate::chart::{Chart, Draw};
use crate::delay_sample::{nanoseconds, pooled_packets};
use crate::drawing::Drawing;
use crate::drawing::axis::Axis;
use crate::drawing::figure::{Dash, Fill};
use crate::drawing::page::Page;
use crate::panels::bins::Bins;
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel, shared_top};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Height of a panel, pixels.
const HEIGHT: f64 = 210.0;
/// Ticks of the time axis.
const TICKS: u32 = 10;

/// Doubts that one run casts on the other by being there.
const OF_THE_OTHER: [&str; 2] = ["rate_unsteady", "delay_unsteady"];

/// Two runs at the same time.
pub(crate) const CHART: Chart = Chart {
    name: "competition",
    about: "how two concurrent runs share the line, and how the first recovers",
    runs: 2..=2,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let (one, two) = (runs[0], runs[1]);
    let names = words::run_names(runs);
    let (met, [first, second]) = match Met::measure([one, two]) {
        Ok(met) => met,
        Err(why) => {
            let mut page = Page::new(theme, names.join(" and "), Axis::between(0.0, 1.0, TICKS), Vec::new());
            page.message(&format!("Nothing to draw. {}.", sentence(&why.to_string())));
            return page.finish();
        }
    };
    let names = if std::ptr::eq(first, one) { names } else { names.into_iter().rev().collect() };
    let (common, names) = split_common(&names);
    let title = format!("{} and {}", names[0], names[1]);
    let title = if common.is_empty() { title } else { format!("{common}: {title}") };
    let ends = [(first, 0), (second, met.offset.0)].map(|(run, shift)| span(run, shift));
    let time = Axis::between(ends[0].0.min(ends[1].0), ends[0].1.max(ends[1].1), TICKS);
    let mut page = Page::new(theme, title, time, first.test.phases.clone());
    page.doubts(doubts([first, second], &names).as_deref());
    page.statement(&statement(&met));
    let mut panels = Vec::new();
    let mut widths = Vec::new();
    for direction in &met.directions {
        let (panel, width) = rates(direction, [first, second], &names, &met, &page);
        panels.push(panel);
        widths.push(width);
    }
    panels.extend(delays([first, second], &names, &met, &page));
    for (place, panel) in panels.iter().enumerate() {
        let top = shared_top(panels.iter().filter(|other| other.axis == panel.axis));
        panel.draw(&mut page, top, place + 1 == panels.len());
    }
    page.footnote(&format!(
        "{} Time is the clock of {}; {} began {} later. Strokes above: its load begins and ends. Even: Jain's index of \
         the two sums is at least 0.95 for five seconds; back: the first has nine tenths of its median before, for three.",
        super::bins_words(&widths),
        names[0],
        names[1],
        seconds(met.offset),
    ));
    page.finish()
}

/// Splits off the parts, separated by commas, with which all names begin; returns these and the rest of each name.
fn split_common(names: &[String]) -> (String, Vec<String>) {
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split(", ").collect()).collect();
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let same = |place: &usize| parts.iter().all(|part| part[*place] == parts[0][*place]);
    let common = (0..shortest.saturating_sub(1)).take_while(same).count();
    (parts[0][..common].join(", "), parts.iter().map(|part| part[common..].join(", ")).collect())
}

/// The validity issues of each run, counted, except the other's effect on its rate, which is the subject.
fn doubts(runs: [&Analysis; 2], names: &[String]) -> Option<String> {
    let count = |run: &Analysis| {
        let reasons = run.validity.reasons.iter().filter(|reason| !OF_THE_OTHER.contains(&reason.code));
        words::warning_words(&reasons.cloned().collect::<Vec<_>>()).len()
    };
    words::counted_doubts(&runs, names, count)
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// From its first load to the end, seconds on the first's clock.
fn span(run: &Analysis, shift: i64) -> (f64, f64) {
    let (from, to) = crate::panels::time_chart::observed(run);
    (from + shift as f64 / 1e9, to + shift as f64 / 1e9)
}

/// `Download: even after 4.0 s, back after 2.0 s. ...`
fn statement(met: &Met) -> String {
    let of = |direction: &DirectionCompetition| {
        let even = match direction.convergence {
            Some(after) => format!("even after {}", seconds(after)),
            None => "never even for five seconds".to_owned(),
        };
        let back = match (direction.alone, direction.recovery) {
            (Some(_), Some(after)) => format!(", the first back {} after the second's end", seconds(after)),
            (Some(_), None) => ", the first not back before its end".to_owned(),
            (None, _) => String::new(),
        };
        format!("{}: {even}{back}.", direction_word(direction.direction))
    };
    met.directions.iter().map(of).collect::<Vec<_>>().join(" ")
}

fn edges(met: &Met, page: &Page<'_>) -> Vec<(f64, &'static str)> {
    vec![(met.together.from.seconds(), page.theme.ink), (met.together.to.seconds(), page.theme.ink)]
}

/// The sums of both in one direction; with the width of the bins.
fn rates(
    direction: &DirectionCompetition,
    runs: [&Analysis; 2],
    names: &[String],
    met: &Met,
    page: &Page<'_>,
) -> (TimePanel, f64) {
    let series = [0, 1].map(|place| {
        let shift = if place == 0 { 0 } else { met.offset.0 };
        let points = runs[place].goodput(direction.direction).sum_series.iter();
        points.map(|point| RatePoint { at: later(point.at, shift), ..*point }).collect::<Vec<_>>()
    });
    let finest = series.iter().flatten().map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = Bins::over(page.time.min, page.time.max, finest.min(0.5));
    let mut panel = TimePanel::new(direction_word(direction.direction), Quantity::Rate, "rate", HEIGHT);
    panel.how = "sum of the streams of each run".into();
    panel.heads = vec!["together"];
    panel.headline = Some(("Jain's index while both ran, mean".to_owned(), format!("{:.2}", direction.jain.mean)));
    for place in 0..2 {
        panel.lines.push(TimeLine {
            name: names[place].clone(),
            points: bins.rates(&series[place]),
            colour: page.theme.run(place),
            width: 1.8,
            dash: Dash::Solid,
            figures: vec![direction.rates[place].to_string()],
        });
    }
    let share = direction.rates[0].0 as f64 / (direction.rates[0].0 + direction.rates[1].0).max(1) as f64;
    panel.facts.push(format!("the first has {} of the two", words::percent(share)));
    let alone = |rate: BitRate| format!("the first alone before: {rate}, median");
    panel.facts.extend(direction.alone.map(alone));
    panel.strokes = edges(met, page);
    (panel, bins.width)
}

/// The delays that the pooled probes of both met.
fn delays(runs: [&Analysis; 2], names: &[String], met: &Met, page: &Page<'_>) -> Option<TimePanel> {
    let shifts = [0, met.offset.0];
    let packets = [0, 1].map(|place| {
        let moved = |point: &DelayPoint| DelayPoint { at: later(point.at, shifts[place]), ..*point };
        pooled_packets(runs[place]).map(moved).collect::<Vec<_>>()
    });
    let bins = Bins::over(page.time.min, page.time.max, 0.2);
    let mut panel = TimePanel::new("Round-trip delay", Quantity::Delay, "delay", HEIGHT);
    panel.how = format!("{} of each run: medians of bins; shade: lowest to highest", pooled_name(&runs));
    for place in 0..2 {
        let binned = bins.delays(packets[place].iter());
        let range = binned.iter().map(|bin| (bin.at, bin.lowest.zip(bin.highest)));
        let scaled = |(at, ends): (f64, Option<(Delay, Delay)>)| {
            (at, ends.map(|(low, high)| (nanoseconds(low), nanoseconds(high))))
        };
        let colour = page.theme.run(place);
        panel.areas.push(Area { range: range.map(scaled).collect(), fill: Fill { colour, opacity: 0.18 } });
        panel.lines.push(TimeLine {
            name: names[place].clone(),
            points: binned.iter().map(|bin| (bin.at, bin.median.map(nanoseconds))).collect(),
            colour,
            width: 1.6,
            dash: Dash::Solid,
            figures: Vec::new(),
        });
    }
    let words = ["alone before", "together", "alone after"];
    let fact = |(words, statistics): (&str, &Option<DelayStatistics>)| {
        let shown = |delay: Option<Delay>| delay.map_or_else(|| "lost".to_owned(), |delay| delay.to_string());
        let of = statistics.as_ref()?;
        Some(format!("the first's, {words}: P50 {}, P95 {}", shown(of.p50), shown(of.p95)))
    };
    panel.facts = words.into_iter().zip(&met.delays).filter_map(fact).collect();
    panel.strokes = edges(met, page);
    panel.has_values().then_some(panel)
}

fn seconds(time: Delay) -> String {
    format!("{:.1} s", time.0 as f64 / 1e9)
}

fn later(at: TestTime, by: i64) -> TestTime {
    TestTime(at.0.saturating_add(by))
}

//! Totals: what each run moved in each direction, and what that did to the delay.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Scale, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{Column, Rows, fitted};
use crate::drawing::run_colours::run_colours;
use crate::panels::run_heading::headed;
use crate::text::pooled_probes::pooled_name;
use crate::text::words::direction_word;
use crate::theme::Theme;

use crate::text::words;

/// Left edge of the plot, pixels.
const NAME_LEFT: f64 = 200.0;
/// Width of each of the two panels, pixels.
const WIDTH: f64 = 300.0;
/// Left edge of the second, with room for words beside the first.
const SECOND: f64 = 676.0;
/// Height of a run's two bars together, pixels.
const PITCH: f64 = 42.0;
/// Height of a bar, pixels.
const BAR: f64 = 14.0;
/// Where its bars lie, as parts of a row from its middle.
const OFFSETS: [f64; 2] = [0.21, -0.21];
/// How full the color of its bars is.
const OPACITIES: [f64; 2] = [1.0, 0.5];

/// The chart of sums, with what they cost.
pub(crate) const CHART: Chart = Chart {
    name: "totals",
    about: "goodput and added delay of each run, down and up",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// One row: a run.
struct Entry {
    name: String,
    /// Sums, down and up; `None` without streams.
    rates: [Option<BitRate>; 2],
    /// Median and P95 above the idle median, or why not.
    added: [Result<Delay, String>; 2],
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let entries: Vec<Entry> =
        words::run_names(runs).into_iter().zip(runs).map(|(name, run)| entry(name, run)).collect();
    if entries.iter().all(|entry| entry.rates == [None; 2] && entry.added.iter().all(Result::is_err)) {
        page.message("Nothing to draw. No streams, and no delay probes both idle and under load.");
        return page.finish();
    }
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let rows = Rows { names: &names, pitch: PITCH };
    let rates: Vec<f64> = entries.iter().flat_map(|entry| entry.rates).flatten().map(|rate| rate.0 as f64).collect();
    let bits = Axis::from_zero(rates.iter().copied().fold(0.0, f64::max), 4);
    let rate_unit = Unit::of_rates(bits.max);
    let delays = || entries.iter().flat_map(|entry| &entry.added).flatten().map(|delay| delay.0 as f64);
    let (low, high) = (delays().fold(0.0, f64::min), delays().fold(0.0, f64::max));
    let delay_unit = Unit::of_delays(high.max(-low));
    let delay_axis = if low < 0.0 {
        Axis::covering(low / delay_unit.size, high / delay_unit.size, 4)
    } else {
        Axis::from_zero(high / delay_unit.size, 4)
    };
    let columns = [
        Column {
            title: "Goodput".to_owned(),
            unit: "sum of all streams of a direction".to_owned(),
            note: None,
            x: Side::new(Axis::from_zero(bits.max / rate_unit.size, 4), Scale::Linear),
            x_words: format!("sum, {}", rate_unit.name),
            left: NAME_LEFT,
            width: WIDTH,
        },
        Column {
            title: "Delay added by the load".to_owned(),
            unit: "median and P95, less the idle median".to_owned(),
            note: None,
            x: Side::new(delay_axis, Scale::Linear),
            x_words: format!("added round-trip delay, {}", delay_unit.name),
            left: SECOND,
            width: WIDTH,
        },
    ];
    let places = page.rows(&rows, &columns);
    let colours = run_colours(theme, entries.len());
    let style = TextStyle::left(12.0, Weight::Regular, theme.ink);
    for (row, (entry, colour)) in entries.iter().zip(&colours).enumerate() {
        let values = [
            entry.rates.map(|rate| rate.map(|rate| rate.0 as f64 / rate_unit.size)),
            [0, 1].map(|index| entry.added[index].as_ref().ok().map(|delay| delay.0 as f64 / delay_unit.size)),
        ];
        let texts = [
            [0, 1].map(|index| {
                let word = direction_word(Direction::ALL[index]).to_lowercase();
                entry.rates[index].map_or_else(|| format!("no {word} streams"), |rate| format!("{word} {rate}"))
            }),
            [0, 1].map(|index| {
                let word = ["median", "P95"][index];
                entry.added[index]
                    .as_ref()
                    .map_or_else(Clone::clone, |delay| format!("{word} {}", words::added(Some(*delay))))
            }),
        ];
        for ((values, texts), (panel, frame)) in values.into_iter().zip(texts).zip(&places) {
            for bar in [0, 1] {
                let at = rows.at(row) + OFFSETS[bar];
                let stroke = Stroke { colour, width: BAR, opacity: OPACITIES[bar], height: 4 };
                if let Some(value) = values[bar] {
                    page.figure.segments(*panel, &entry.name, &[[(0.0, at), (value, at)]], stroke);
                }
                let y = rows.text_top(*frame, row, 12.0) - OFFSETS[bar] * PITCH;
                let text = fitted(&texts[bar], style, 150.0);
                page.figure.text(frame.left + frame.width + 10.0, y, &text, style);
            }
        }
    }
    page.footnote(&format!(
        "Sums: goodput of all streams of a direction together, each its mean over the scored window. Full bars: download, and \
         the median (loaded P50 less idle P50). Pale bars: upload, and P95 (loaded P95 less idle P50). Delays of {}; lost packets count as infinitely late.",
        pooled_name(runs)
    ));
    page.finish()
}

fn entry(name: String, run: &Analysis) -> Entry {
    let rates = Direction::ALL.map(|direction| {
        let goodput = run.goodput(direction);
        (!goodput.flows.is_empty()).then_some(goodput.sum)
    });
    let pooled = &run.round_trip_delay.pooled;
    let added = [("median", pooled.induced_p50), ("P95", pooled.induced_p95)].map(|(word, added)| {
        match (&pooled.idle, &pooled.load) {
            (None, _) => Err(format!("{word}: no idle delay")),
            (_, None) => Err(format!("{word}: no loaded delay")),
            _ => added.ok_or_else(|| format!("{word} lost")),
        }
    });
    Entry { name, rates, added }
}

//! The first seconds of the load: when each stream's first byte arrived, and how its rate rose.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::rate::start_slew::{DirectionSlew, StreamSlew};
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, nice_step};
use crate::drawing::flow_look::flow_looks;
use crate::drawing::page::time_axis;
use crate::panels::time_chart;
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Quantity, TimeLine, TimePanel};
use crate::text::label::Naming;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Height of a panel, pixels.
const HEIGHT: f64 = 240.0;
/// Least and most seconds of the load that are shown.
const SHOWN: (f64, f64) = (2.0, 20.0);
/// About so many ticks on the time axis.
const TICKS: u32 = 10;

/// The first seconds of the load.
pub(crate) const CHART: Chart = Chart {
    name: "start_slew",
    about: "start of each stream of the load, and time to half of its rate",
    runs: 1..=time_chart::MOST,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    time_chart::draw_within(runs, theme, first_seconds(runs), show)
}

fn streams<'a>(runs: &'a [&Analysis]) -> impl Iterator<Item = &'a StreamSlew> {
    runs.iter()
        .flat_map(|run| Direction::ALL.map(|direction| run.start_slew.direction(direction)))
        .flatten()
        .flat_map(|slew| &slew.streams)
}

/// From just before the first planned start until every stream has had its rate for a while.
fn first_seconds(runs: &[&Analysis]) -> Axis {
    let planned = || streams(runs).map(|stream| stream.planned.seconds());
    let first = planned().fold(f64::INFINITY, f64::min);
    let last = planned().fold(f64::NEG_INFINITY, f64::max);
    if !first.is_finite() {
        return time_axis(runs);
    }
    let rise = streams(runs).filter_map(|stream| stream.half_rate_ns).fold(0, i64::max) as f64 / 1e9;
    let (least, most) = SHOWN;
    let length = (last - first + 2.0 * rise).clamp(least, most);
    let step = nice_step(length / f64::from(TICKS));
    let from = ((first - step / 2.0) / step).floor() * step;
    Axis { min: from, max: from + ((first + length - from) / step).ceil() * step, step }
}

fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    let mut widths = Vec::new();
    for direction in Direction::ALL {
        let Some(slew) = run.start_slew.direction(direction).filter(|slew| !slew.streams.is_empty()) else {
            shown.missing.push(format!("No {} streams in this run.", direction_word(direction).to_lowercase()));
            continue;
        };
        let (panel, width) = panel(run, slew, scene, direction);
        shown.panels.push(panel);
        widths.push(width);
    }
    shown.notes = vec![
        super::bins_words(&widths),
        "Strokes above: the first byte of each stream arrives, a lane for each class. Times beside count from the planned start: until the first byte \
         arrived, and until half of the final rate was reached; connect is from the first SYN to the end of the handshake, before \
         the load."
            .to_owned(),
    ];
    shown
}

fn panel(run: &Analysis, slew: &DirectionSlew, scene: &Scene<'_>, direction: Direction) -> (TimePanel, f64) {
    let goodput = &run.goodput(direction).flows;
    // As fine as it was sampled: the last interval, which may be longer, lies far behind.
    let finest =
        goodput.iter().filter_map(|flow| flow.series.first()).map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = scene.bins(finest);
    let mut panel = TimePanel::new(direction_word(direction), Quantity::Rate, "rate", HEIGHT);
    panel.how = "per stream, at the start of the load".into();
    panel.heads = vec!["connect", "first byte", "half rate"];
    let median = slew.pooled.half_rate.p50_ns.map_or_else(|| "never".to_owned(), |ns| Delay(ns).to_string());
    panel.headline = Some(("until half of the final rate, median".to_owned(), median));
    let labels: Vec<_> = slew.streams.iter().map(|stream| &stream.flow).collect();
    for (stream, look) in slew.streams.iter().zip(flow_looks(&labels, Naming::Streams, scene.theme)) {
        let measured = goodput.iter().find(|flow| flow.flow.id == stream.flow.id);
        let time = |ns: Option<i64>| ns.map_or_else(|| "–".to_owned(), |ns| Delay(ns).to_string());
        panel.lines.push(TimeLine {
            name: look.name,
            points: measured.map(|flow| bins.rates(&flow.series)).unwrap_or_default(),
            colour: look.colour,
            width: 1.5,
            dash: look.dash,
            figures: vec![time(stream.connect_ns), time(stream.first_received_ns), time(stream.half_rate_ns)],
        });
        if let Some(after) = stream.first_received_ns {
            let at = stream.planned.seconds() + after as f64 / 1e9;
            if (scene.time.min..=scene.time.max).contains(&at) {
                panel.strokes.push((at, look.colour));
            }
        }
    }
    (panel, bins.width)
}

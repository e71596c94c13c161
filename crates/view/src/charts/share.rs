//! Who has how much of the line: the streams of each direction stacked, so that the top is their sum.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::rate::goodput::DirectionGoodput;
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

use crate::chart::Chart;
use crate::drawing::figure::{Dash, Fill};
use crate::drawing::flow_look::flow_looks;
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel};
use crate::text::label::Naming;
use crate::text::words;
use crate::text::words::direction_word;

/// Height of a panel, pixels.
const HEIGHT: f64 = 230.0;
/// How much a stream hides of what is behind it: one of the first family of its class, one of the second.
const OPACITY: [f64; 2] = [0.75, 0.45];
/// Streams of one class and family that stand on each other are not equally dark.
const SHADES: [f64; 3] = [1.0, 0.55, 0.3];

/// Goodput of all streams, stacked.
pub(crate) const CHART: Chart =
    Chart::over_time("share", "rates of the streams of a direction, stacked, with their sum", show);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    let mut widths = Vec::new();
    for direction in Direction::ALL {
        let goodput = run.goodput(direction);
        if goodput.flows.is_empty() {
            shown.missing.push(format!("No {} streams in this run.", direction_word(direction).to_lowercase()));
            continue;
        }
        let (panel, width) = panel(goodput, scene, direction);
        shown.panels.push(panel);
        widths.push(width);
    }
    shown.notes = vec![
        super::bins_words(&widths),
        "Streams stand on each other: the height of a color is the rate of its stream, the thick line is the sum."
            .to_owned(),
    ];
    shown
}

fn panel(goodput: &DirectionGoodput, scene: &Scene<'_>, direction: Direction) -> (TimePanel, f64) {
    let flows = &goodput.flows;
    let finest = flows.iter().flat_map(|flow| &flow.series).map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = scene.bins(finest);
    let mut panel = TimePanel::new(direction_word(direction), Quantity::Rate, "sum", HEIGHT);
    panel.how = "streams stacked".into();
    panel.heads = vec!["mean", "share"];
    panel.headline = Some((
        format!("sum of {}, mean over the load", words::counted(flows.len(), "stream")),
        goodput.sum.to_string(),
    ));
    let labels: Vec<_> = flows.iter().map(|flow| &flow.flow).collect();
    let looks = flow_looks(&labels, Naming::Streams, scene.theme);
    let mut floor: Vec<(f64, Option<f64>)> = Vec::new();
    for (flow, look) in flows.iter().zip(looks) {
        let rates = bins.rates(&flow.series);
        if floor.is_empty() {
            floor = rates.iter().map(|(at, _)| (*at, None)).collect();
        }
        // A stream that was not measured in a bin takes no room there; the one above it does not fall.
        let range: Vec<_> = floor
            .iter()
            .zip(&rates)
            .map(|((at, low), (_, rate))| (*at, rate.map(|rate| (low.unwrap_or(0.0), low.unwrap_or(0.0) + rate))))
            .collect();
        for (floor, (_, ends)) in floor.iter_mut().zip(&range) {
            floor.1 = ends.map(|(_, high)| high).or(floor.1);
        }
        let [first, second] = OPACITY;
        let before = panel.lines.iter().filter(|line| (line.colour, line.dash) == (look.colour, look.dash)).count();
        let opacity = SHADES[before % SHADES.len()] * if look.dash == Dash::Solid { first } else { second };
        panel.lines.push(TimeLine {
            name: look.name,
            points: range.iter().map(|(at, ends)| (*at, ends.map(|ends| ends.1))).collect(),
            colour: look.colour,
            width: 1.0,
            dash: look.dash,
            figures: vec![flow.mean.to_string(), part(flow.mean, goodput.sum)],
        });
        panel.areas.push(Area { range, fill: Fill { colour: look.colour, opacity } });
    }
    let colour = scene.theme.ink;
    panel.lines.push(TimeLine {
        name: "sum".to_owned(),
        points: floor,
        colour,
        width: 1.8,
        dash: Dash::Solid,
        figures: vec![goodput.sum.to_string()],
    });
    (panel, bins.width)
}

fn part(of: BitRate, whole: BitRate) -> String {
    if whole.0 == 0 { "–".to_owned() } else { words::percent(of.0 as f64 / whole.0 as f64) }
}

//! The panel of one direction's goodput: a line per stream, their mean, and in words their sum.

use rrul_analysis::Analysis;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::units::BitRate;

use crate::drawing::axis::{Axis, Unit, readable_top, tick_words};
use crate::drawing::figure::{Align, Dash, Line, Scale, TextStyle};
use crate::drawing::flow_look::flow_colours;
use crate::drawing::font::Weight;
use crate::drawing::page::{PITCH, Page, PanelPlan, SIDE_LEFT, SIDE_RIGHT};
use crate::panels::bins::Bins;
use crate::text::label::{Naming, names};
use crate::text::words::{self, direction_word};

/// Pixels.
const HEIGHT: f64 = 168.0;
/// Steps of the vertical axis.
const STEPS: u32 = 4;
/// Streams named one below the other; more are in two columns.
const ONE_COLUMN: usize = 8;
/// Most streams named; the figures of the others are in the summary.
const NAMED: usize = 32;
/// Width of a name and its figure in one column, pixels.
const COLUMN: f64 = 132.0;
/// Between two columns, pixels.
const GUTTER: f64 = 22.0;
/// Room of the sum above the table, pixels.
const HEADLINE: f64 = 54.0;

/// Adds the panel of one direction, which has flows; gives the width of its bins in seconds.
pub(crate) fn draw(page: &mut Page<'_>, direction: Direction, run: &Analysis, last: bool) -> f64 {
    let goodput = run.goodput(direction);
    let flows = &goodput.flows;
    let finest = flows.iter().flat_map(|flow| &flow.series).map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = Bins::over(page.time.min, page.time.max, finest);
    let lines: Vec<_> = flows.iter().map(|flow| bins.rates(&flow.series)).collect();
    let sum = bins.rates(&goodput.sum_series);
    let mean: Vec<_> = sum.into_iter().map(|(at, rate)| (at, rate.map(|rate| rate / flows.len() as f64))).collect();

    let values: Vec<f64> = lines.iter().chain([&mean]).flatten().filter_map(|(_, rate)| *rate).collect();
    let highest = values.iter().copied().fold(0.0, f64::max);
    let bits = Axis::from_zero(readable_top(values), STEPS);
    let unit = Unit::of_rates(bits.max);
    let axis = Axis::from_zero(bits.max / unit.size, STEPS);
    let beyond =
        lines.iter().flatten().filter(|(_, rate)| rate.is_some_and(|rate| rate > axis.max * unit.size)).count();
    let note = (beyond > 0).then(|| {
        let points = words::counted(beyond, "point");
        format!("{points} above {} {}, highest {}", tick_words(axis.max), unit.name, BitRate(highest as u64))
    });

    let columns = flows.len().min(NAMED).div_ceil(ONE_COLUMN.max(flows.len().min(NAMED).div_ceil(2)));
    let rows = flows.len().min(NAMED).div_ceil(columns.max(1));
    let hidden = flows.len().saturating_sub(NAMED);
    let acknowledgements = acknowledgement_words(run, direction);
    let below = usize::from(hidden > 0) + usize::from(acknowledgements.is_some());
    let side_height = HEADLINE + PITCH * (rows + 1 + below) as f64;
    let word = direction_word(direction);
    let (panel, frame) = page.panel(&PanelPlan {
        title: word,
        unit: format!("{} per stream", unit.name),
        note,
        axis,
        scale: Scale::Linear,
        lanes: 0,
        height: HEIGHT,
        side_height,
        last,
    });

    let labels: Vec<_> = flows.iter().map(|flow| &flow.flow).collect();
    let named = names(&labels, Naming::Streams);
    let both_families = AddressFamily::ALL.iter().all(|family| labels.iter().any(|flow| flow.family == *family));
    let scaled = |points: Vec<(f64, Option<f64>)>| {
        points.into_iter().map(|(at, rate)| (at, rate.map(|rate| rate / unit.size))).collect()
    };
    let colours = flow_colours(&labels, page.theme);
    for (((flow, name), colour), points) in flows.iter().zip(&named).zip(colours).zip(lines) {
        let dash = if both_families && flow.flow.family == AddressFamily::Ipv6 { Dash::Dashed } else { Dash::Solid };
        let width = if flows.len() > ONE_COLUMN { 1.0 } else { 1.3 };
        page.figure.line(panel, &Line { name, points: scaled(points), colour, width, dash, height: 3 });
    }
    let mean_name = format!("mean of {}", flows.len());
    if flows.len() > 1 {
        let colour = page.theme.ink;
        page.figure.line(
            panel,
            &Line { name: &mean_name, points: scaled(mean), colour, width: 2.0, dash: Dash::Solid, height: 5 },
        );
    }

    let streams = match flows.len() {
        1 => "the only stream".to_owned(),
        count => format!("sum of {}", words::counted(count, "stream")),
    };
    let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
    let figure = TextStyle { size: 12.0, colour: page.theme.ink, align: Align::Right, ..small };
    page.figure.text(SIDE_LEFT, frame.top - 2.0, &streams, small);
    let headline = TextStyle::left(22.0, Weight::SemiBold, page.theme.ink);
    page.figure.text(SIDE_LEFT, frame.top + 13.0, &goodput.sum.to_string(), headline);

    let mut top = frame.top + HEADLINE - PITCH / 2.0;
    let column_width = if columns > 1 { (SIDE_RIGHT - SIDE_LEFT - GUTTER) / 2.0 } else { COLUMN };
    if flows.len() > 1 {
        page.figure.legend(SIDE_LEFT, top, PITCH, 12.0, std::slice::from_ref(&mean_name));
        let rate = unit.rate(goodput.mean);
        page.figure.text(SIDE_LEFT + column_width, top + 2.0, &rate, TextStyle { weight: Weight::SemiBold, ..figure });
        page.figure.text(SIDE_LEFT + column_width + 5.0, top + 2.0, unit.name, small);
        top += PITCH;
    }
    for (column, chunk) in named[..flows.len().min(NAMED)].chunks(rows.max(1)).enumerate() {
        let left = SIDE_LEFT + column as f64 * (column_width + GUTTER);
        page.figure.legend(left, top, PITCH, 12.0, chunk);
        for row in 0..chunk.len() {
            let rate = unit.rate(flows[column * rows + row].mean);
            page.figure.text(left + column_width, top + 2.0 + PITCH * row as f64, &rate, figure);
        }
    }
    if hidden > 0 {
        let text = format!("and {hidden} more, not named here");
        page.figure.text(SIDE_LEFT, top + PITCH * rows as f64, &text, small);
    }
    if let Some(text) = acknowledgements {
        page.figure.text(SIDE_LEFT, top + 2.0 + PITCH * (rows + usize::from(hidden > 0)) as f64, &text, small);
    }
    bins.width
}

/// What of this direction's bytes under load only acknowledges the other direction; `None` where it is unknown.
fn acknowledgement_words(run: &Analysis, direction: Direction) -> Option<String> {
    let share = run.link_octets.load.as_ref()?.direction(direction).all.acknowledgement_share?;
    Some(format!("acknowledgments: {} of its bytes", words::percent(share)))
}

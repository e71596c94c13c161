//! The goodput of one direction alone: a line per stream, their mean, and in words their sum; below it, in runs with phase
//! `web`, what the link carried by traffic type.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::figure::Dash;
use crate::drawing::flow_look::flow_looks;
use crate::panels::link_panel;
use crate::panels::time_chart;
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Quantity, TimeLine, TimePanel};
use crate::text::label::Naming;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Pixels, of one run alone and of one among several.
const HEIGHTS: [f64; 2] = [440.0, 190.0];

/// Goodput of the downloads over time.
pub(crate) const DOWNLOAD: Chart = Chart {
    name: "download",
    about: "goodput of each download stream over time, and their sum",
    runs: 1..=time_chart::MOST,
    draw: Draw::Runs(|runs, theme| draw(runs, theme, Direction::Down)),
};

/// Goodput of the uploads over time.
pub(crate) const UPLOAD: Chart = Chart {
    name: "upload",
    about: "goodput of each upload stream over time, and their sum",
    runs: 1..=time_chart::MOST,
    draw: Draw::Runs(|runs, theme| draw(runs, theme, Direction::Up)),
};

fn draw(runs: &[&Analysis], theme: &Theme, direction: Direction) -> Drawing {
    let alone = runs.len() == 1;
    time_chart::draw(runs, theme, |run, scene| show(run, scene, direction, alone))
}

/// What `download` and `upload` show of a run.
pub(super) fn show(run: &Analysis, scene: &Scene<'_>, direction: Direction, alone: bool) -> Shown {
    let goodput = run.goodput(direction);
    let flows = &goodput.flows;
    if flows.is_empty() {
        let missing = format!("No {} streams in this run.", direction_word(direction).to_lowercase());
        return Shown { missing: vec![missing], ..Shown::default() };
    }
    let finest = flows.iter().flat_map(|flow| &flow.series).map(|point| point.over.as_secs_f64()).fold(0.0, f64::max);
    let bins = scene.bins(finest);
    let labels: Vec<_> = flows.iter().map(|flow| &flow.flow).collect();
    let [large, small] = HEIGHTS;
    let height = if alone { large } else { small };
    let mut panel = TimePanel::new(direction_word(direction), Quantity::Rate, "rate", height);
    panel.how = "per stream".into();
    panel.heads = vec!["mean"];
    for (flow, look) in flows.iter().zip(flow_looks(&labels, Naming::Streams, scene.theme)) {
        panel.lines.push(TimeLine {
            name: look.name,
            points: bins.rates(&flow.series),
            colour: look.colour,
            width: 1.3,
            dash: look.dash,
            figures: vec![flow.mean.to_string()],
        });
    }
    let count = flows.len();
    if count > 1 {
        let sum = bins.rates(&goodput.sum_series);
        panel.lines.push(TimeLine {
            name: format!("mean of {count}"),
            points: sum.into_iter().map(|(at, rate)| (at, rate.map(|rate| rate / count as f64))).collect(),
            colour: scene.theme.ink,
            width: 2.0,
            dash: Dash::Solid,
            figures: vec![goodput.mean.to_string()],
        });
    }
    let what =
        if count == 1 { "the only stream".to_owned() } else { format!("sum of {}", words::counted(count, "stream")) };
    panel.headline = Some((what, goodput.sum.to_string()));
    let mut widths = vec![bins.width];
    let mut notes = vec!["Rates: bytes by the time they arrived, delivered in order in the end.".to_owned()];
    let mut panels = vec![panel];
    if let Some((panel, width)) = link_panel::panel(run, direction, scene) {
        panels.push(panel);
        widths.push(width);
        notes.push(link_panel::NOTE.to_owned());
    }
    notes.insert(0, super::bins_words(&widths));
    Shown { panels, notes, missing: Vec::new() }
}

//! The overview: download, upload and round-trip delay of one run, one above the other.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use super::side_by_side;
use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::page::{Page, time_axis};
use crate::panels::bins;
use crate::panels::time_chart::Scene;
use crate::panels::time_panel::shared_top;
use crate::panels::{delay_panel, link_panel, rate_panel};
use crate::text::words;
use crate::theme::Theme;

/// The chart that shows the whole run at a glance.
pub(crate) const CHART: Chart = Chart {
    name: "overview",
    about: "download, upload and round-trip delay over time",
    runs: 1..=side_by_side::MOST,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let &[run] = runs else { return side_by_side::draw(runs, theme) };
    let mut page = Page::new(theme, words::title(run), time_axis(runs), run.test.phases.clone());
    page.subtitle(&words::circumstances(run));
    page.doubts(words::doubts(runs, &words::run_names(runs)).as_deref());

    let directions: Vec<Direction> =
        Direction::ALL.into_iter().filter(|direction| !run.goodput(*direction).flows.is_empty()).collect();
    let probes = !run.round_trip_delay.flows.is_empty();
    let mut widths = Vec::new();
    let mut by_type = false;
    let scene = Scene { theme, time: page.time, most_bins: bins::MOST };
    for (index, direction) in directions.iter().enumerate() {
        let last = !probes && index + 1 == directions.len();
        let link = link_panel::panel(run, *direction, &scene);
        widths.push(rate_panel::draw(&mut page, *direction, run, last && link.is_none()));
        if let Some((panel, width)) = link {
            by_type = true;
            widths.push(width);
            panel.draw(&mut page, shared_top(std::iter::once(&panel)), last);
        }
    }
    if probes {
        widths.push(delay_panel::draw(&mut page, run, delay_panel::HEIGHT, true));
    }
    let missing = missing(&directions, probes);
    if widths.is_empty() {
        page.message(&format!("Nothing to draw. {missing}"));
        return page.finish();
    }
    page.footnote(&explanation(&widths, !directions.is_empty(), by_type, probes));
    page.footnote(&missing);
    page.finish()
}

/// How to read the lines that are there.
fn explanation(widths: &[f64], rates: bool, by_type: bool, probes: bool) -> String {
    let mut text = vec![super::bins_words(widths)];
    if rates {
        text.push("Rates: bytes by the time they arrived, delivered in order in the end.".to_owned());
    }
    if by_type {
        text.push(link_panel::NOTE.to_owned());
    }
    if probes {
        text.push(
            "Delay: medians of the packets sent in a bin; gray: lowest to highest packet. Red strokes: lost packets."
                .to_owned(),
        );
    }
    text.join(" ")
}

/// What a run does not have, so that an absent panel is not taken for an oversight.
fn missing(directions: &[Direction], probes: bool) -> String {
    let mut text = Vec::new();
    for direction in Direction::ALL {
        if !directions.contains(&direction) {
            text.push(format!("No {} streams in this run.", words::direction_word(direction).to_lowercase()));
        }
    }
    if !probes {
        text.push("No delay probes in this run.".to_owned());
    }
    text.join(" ")
}

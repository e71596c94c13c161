//! The round-trip delay alone: each probe flow of one run, or the pooled probes of several runs on one axis.

use rrul_analysis::Analysis;

use super::comparison;
use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::page::{Page, whole_time_axis};
use crate::panels::delay_panel;
use crate::panels::time_chart::{introduce, title};
use crate::text::words;
use crate::theme::Theme;

/// Height of a panel, pixels.
const HEIGHT: f64 = 460.0;

/// Round-trip delay over time.
pub(crate) const CHART: Chart = Chart {
    name: "delay",
    about: "round-trip delay over time, by flow or by run",
    runs: 1..=comparison::MOST,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let names = words::run_names(runs);
    let mut page = Page::new(theme, title(runs, &names), whole_time_axis(runs), runs[0].test.phases.clone());
    introduce(&mut page, runs, &names);
    if runs.iter().all(|run| run.round_trip_delay.flows.is_empty()) {
        page.message("Nothing to draw. No delay probes.");
        return page.finish();
    }
    let (width, shade) = if runs.len() == 1 {
        (
            delay_panel::draw(&mut page, runs[0], HEIGHT, true),
            "gray: lowest to highest packet. Red strokes: lost packets",
        )
    } else {
        let names: Vec<String> = names.iter().map(|name| comparison::fitted(name)).collect();
        let width = comparison::delay(&mut page, runs, &names, true);
        (width, "shade: lowest to highest packet. Strokes above: lost packets")
    };
    let bins = super::bins_words(&[width]);
    page.footnote(&format!("{bins} Delay: medians of the packets sent in a bin; {shade}."));
    page.finish()
}

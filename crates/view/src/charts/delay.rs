//! The round-trip delay alone: each probe flow of one run, or the pooled probes of several runs on one axis.

use rrul_analysis::Analysis;

use super::comparison;
use crate::chart::{Chart, Drawing};
use crate::drawing::page::{Page, whole_time_axis};
use crate::error::ViewError;
use crate::panels::delay_panel;
use crate::panels::time_chart::{introduce, title};
use crate::text::words;
use crate::theme::Theme;

/// Pixels.
const HEIGHT: f64 = 460.0;

/// Round-trip delay over time.
pub(crate) struct DelayChart;

impl Chart for DelayChart {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn about(&self) -> &'static str {
        "how long did a packet take there and back, idle and under load, flow by flow or run against run?"
    }

    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        let &[first, ..] = runs else {
            return Err(ViewError::Runs { chart: self.name(), takes: "one to four runs", given: 0 });
        };
        if runs.len() > comparison::MOST {
            return Err(ViewError::Runs { chart: self.name(), takes: "one to four runs", given: runs.len() });
        }
        let names = words::run_names(runs);
        let mut page = Page::new(theme, title(runs, &names), whole_time_axis(runs), first.test.phases.clone());
        introduce(&mut page, runs, &names);
        if runs.iter().all(|run| run.round_trip_delay.flows.is_empty()) {
            page.message("Nothing to draw. No delay probes.");
            return Ok(page.finish());
        }
        let (width, shade) = if runs.len() == 1 {
            (
                delay_panel::draw(&mut page, first, HEIGHT, true),
                "grey: lowest to highest packet. Red strokes: lost packets",
            )
        } else {
            let names: Vec<String> = names.iter().map(|name| comparison::fitted(name)).collect();
            let width = comparison::delay(&mut page, runs, &names, true);
            (width, "shade: lowest to highest packet. Strokes above: lost packets")
        };
        let bins = super::bins_words(&[width]);
        page.footnote(&format!("{bins} Delay: medians of the packets sent in a bin; {shade}."));
        Ok(page.finish())
    }
}

//! The downloads alone, large; several runs below each other on shared axes.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use super::direction_rate::show;
use crate::chart::{Chart, Drawing};
use crate::error::ViewError;
use crate::panels::time_chart;
use crate::theme::Theme;

/// Goodput of the downloads over time.
pub(crate) struct Download;

impl Chart for Download {
    fn name(&self) -> &'static str {
        "download"
    }

    fn about(&self) -> &'static str {
        "how fast was each download over time, and all of them together?"
    }

    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        let alone = runs.len() == 1;
        time_chart::draw(self.name(), runs, theme, |run, scene| show(run, scene, Direction::Down, alone))
    }
}

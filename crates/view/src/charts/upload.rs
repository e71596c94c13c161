//! The uploads alone, large; several runs below each other on shared axes.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use super::direction_rate::show;
use crate::chart::{Chart, Drawing};
use crate::error::ViewError;
use crate::panels::time_chart;
use crate::theme::Theme;

/// Goodput of the uploads over time.
pub(crate) struct Upload;

impl Chart for Upload {
    fn name(&self) -> &'static str {
        "upload"
    }

    fn about(&self) -> &'static str {
        "how fast was each upload over time, and all of them together?"
    }

    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        let alone = runs.len() == 1;
        time_chart::draw(self.name(), runs, theme, |run, scene| show(run, scene, Direction::Up, alone))
    }
}

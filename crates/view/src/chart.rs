//! What a chart is.

use rrul_analysis::Analysis;
use serde_json::Value;

use crate::error::ViewError;
use crate::panels::grouping::Grouping;
use crate::theme::Theme;

/// One kind of chart. To add one: a file in `charts/` and a line in [`crate::charts::CHARTS`].
pub trait Chart: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What question it answers, in one line.
    fn about(&self) -> &'static str;

    /// The chart of these runs.
    ///
    /// # Errors
    /// [`ViewError::Runs`] when it cannot show that many runs. A run with little or nothing in it is no error: the
    /// chart says what is missing.
    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError>;

    /// The chart of groups of these runs, as medians over the runs of each.
    ///
    /// # Errors
    /// [`ViewError::Grouping`] when it shows single runs only, and those of [`draw`](Self::draw).
    fn draw_grouped(&self, runs: &[&Analysis], grouping: &Grouping, theme: &Theme) -> Result<Drawing, ViewError> {
        match grouping {
            Grouping::None => self.draw(runs, theme),
            Grouping::By(_) => Err(ViewError::Grouping { chart: self.name() }),
        }
    }
}

/// A chart as data: what every surface (SVG, PNG, page) draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The whole chart as an Apache ECharts option object, without functions.
    pub option: Value,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels; it grows with the number of flows.
    pub height: u32,
    /// What it shows, for the name of a file, a tab, or a reader that speaks.
    pub title: String,
    /// Why there is nothing on it but words; `None` when there is something to see.
    pub nothing: Option<String>,
}

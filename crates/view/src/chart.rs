//! A chart: its name, its question, how many runs it takes, and how it is drawn.

use std::ops::RangeInclusive;

use rrul_analysis::Analysis;

use crate::drawing::Drawing;
use crate::error::ViewError;
use crate::panels::time_chart;
use crate::panels::time_chart::{Scene, Shown};
use crate::theme::Theme;

/// No upper limit of runs.
pub(crate) const ANY: usize = usize::MAX;

/// One kind of chart. To add one: a file in `charts/` and a line in [`crate::charts::CHARTS`]. The table of docs/charts.md
/// is made from that list.
#[derive(Debug)]
pub struct Chart {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question it answers, in one line.
    pub about: &'static str,
    /// How many runs it takes.
    pub(crate) runs: RangeInclusive<usize>,
    pub(crate) draw: Draw,
}

/// How a chart is drawn, of a number of runs that it takes.
#[derive(Debug)]
pub(crate) enum Draw {
    /// Panels over the time of each run.
    OverTime(fn(&Analysis, &Scene<'_>) -> Shown),
    /// Its own page, from no more of each run than [`rrul_analysis::digest::delays`] gives.
    Delays(fn(&[&Analysis], &Theme) -> Drawing),
    /// Its own page.
    Runs(fn(&[&Analysis], &Theme) -> Drawing),
}

impl Chart {
    pub(crate) const fn over_time(
        name: &'static str,
        about: &'static str,
        show: fn(&Analysis, &Scene<'_>) -> Shown,
    ) -> Self {
        Self { name, about, runs: 1..=time_chart::MOST, draw: Draw::OverTime(show) }
    }

    /// The number of runs it takes, in words: `one to four runs`.
    pub fn takes(&self) -> String {
        let word = |count| ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"][count];
        match (*self.runs.start(), *self.runs.end()) {
            (1, 1) => "one run".to_owned(),
            (least, ANY) => format!("{} run or more", word(least)),
            (1, 2) => "one run or two".to_owned(),
            (least, most) if least == most => format!("{} runs", word(least)),
            (least, most) => format!("{} to {} runs", word(least), word(most)),
        }
    }

    /// Whether [`rrul_analysis::digest::delays`] is enough for it.
    pub fn shows_only_delays(&self) -> bool {
        matches!(self.draw, Draw::Delays(_))
    }

    /// The chart of these runs.
    ///
    /// # Errors
    /// [`ViewError::Runs`] when it cannot show that many runs. A run with little or nothing in it is no error: the
    /// chart says what is missing.
    pub fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        if !self.runs.contains(&runs.len()) {
            return Err(ViewError::Runs { chart: self.name, takes: self.takes(), given: runs.len() });
        }
        Ok(match self.draw {
            Draw::OverTime(show) => time_chart::draw(runs, theme, show),
            Draw::Delays(draw) | Draw::Runs(draw) => draw(runs, theme),
        })
    }
}

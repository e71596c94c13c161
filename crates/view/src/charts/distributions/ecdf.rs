//! The empirical distribution of round-trip delay.

use rrul_analysis::Analysis;

use crate::chart::{Chart, Drawing};
use crate::error::ViewError;
use crate::panels::distribution;
use crate::panels::distribution::Look;
use crate::theme::Theme;

/// The chart that shows all delays, not one figure of them.
pub(crate) struct Ecdf;

impl Chart for Ecdf {
    fn name(&self) -> &'static str {
        "ecdf"
    }

    fn about(&self) -> &'static str {
        "how many packets took how long, idle against loaded: per class of one run, or one line a run"
    }

    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        super::super::at_least_one(self, runs)?;
        Ok(distribution::draw(runs, theme, Look::AtMost))
    }
}

//! The tail of the distribution of round-trip delay.

use rrul_analysis::Analysis;

use crate::chart::{Chart, Drawing};
use crate::error::ViewError;
use crate::panels::distribution;
use crate::panels::distribution::Look;
use crate::theme::Theme;

/// The chart that shows how late the latest packets are.
pub(crate) struct Ccdf;

impl Chart for Ccdf {
    fn name(&self) -> &'static str {
        "ccdf"
    }

    fn about(&self) -> &'static str {
        "how late the latest packets are: the tail of the delay, P95, P99 and P99.9, on a logarithmic axis"
    }

    fn draw(&self, runs: &[&Analysis], theme: &Theme) -> Result<Drawing, ViewError> {
        super::super::at_least_one(self, runs)?;
        Ok(distribution::draw(runs, theme, Look::AtLeast))
    }
}

//! The charts that there are.

mod comparison;
mod overview;

use crate::chart::Chart;

/// Every chart, in the order in which `rrul list charts` prints them.
pub const CHARTS: &[&dyn Chart] = &[&overview::Overview, &comparison::Comparison];

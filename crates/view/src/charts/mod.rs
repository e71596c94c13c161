//! The charts that there are.

mod bars;
mod box_plot;
mod ccdf;
mod comparison;
mod ecdf;
mod ellipse;
mod overview;
mod page_ecdf;
mod page_waterfall;
mod qq;
mod totals;

use rrul_analysis::Analysis;

use crate::chart::Chart;
use crate::error::ViewError;

/// Every chart, in the order in which `rrul list charts` prints them.
pub const CHARTS: &[&dyn Chart] = &[
    &overview::Overview,
    &comparison::Comparison,
    &ecdf::Ecdf,
    &ccdf::Ccdf,
    &box_plot::BoxPlot,
    &totals::Totals,
    &bars::Bars,
    &ellipse::Ellipse,
    &qq::QuantileQuantile,
    &page_waterfall::PageWaterfall,
    &page_ecdf::PageEcdf,
];

/// For charts of any number of runs but none.
fn at_least_one(chart: &dyn Chart, runs: &[&Analysis]) -> Result<(), ViewError> {
    if runs.is_empty() {
        return Err(ViewError::Runs { chart: chart.name(), takes: "one run or more", given: 0 });
    }
    Ok(())
}

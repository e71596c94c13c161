//! The charts that there are.

mod bars;
mod box_plot;
mod ccdf;
mod comparison;
mod competition;
mod delay;
mod delay_by_direction;
mod direction_rate;
mod download;
mod ecdf;
mod ellipse;
mod equaliser;
mod fairness;
mod host;
mod loss;
mod markings;
mod overview;
mod page_ecdf;
mod page_waterfall;
mod qq;
mod share;
mod side_by_side;
mod start_slew;
mod tcp;
mod totals;
mod upload;

use rrul_analysis::Analysis;

use crate::chart::Chart;
use crate::error::ViewError;

/// Every chart, in the order in which `rrul list charts` prints them.
pub const CHARTS: &[&dyn Chart] = &[
    &overview::Overview,
    &comparison::Comparison,
    &competition::Competition,
    &download::Download,
    &upload::Upload,
    &delay::DelayChart,
    &delay_by_direction::DelayByDirection,
    &share::Share,
    &fairness::Fairness,
    &start_slew::StartSlewChart,
    &tcp::Tcp,
    &loss::LossChart,
    &markings::MarkingsChart,
    &equaliser::EqualiserChart,
    &host::Host,
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

/// How wide the bins of the panels are.
fn bins_words(widths: &[f64]) -> String {
    let mut sorted = widths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let each: Vec<String> = sorted.iter().map(|width| format!("{width} s")).collect();
    format!("Lines: bins of {} on the run's clock.", each.join(" and "))
}

/// For charts of any number of runs but none.
fn at_least_one(chart: &dyn Chart, runs: &[&Analysis]) -> Result<(), ViewError> {
    if runs.is_empty() {
        return Err(ViewError::Runs { chart: chart.name(), takes: "one run or more", given: 0 });
    }
    Ok(())
}

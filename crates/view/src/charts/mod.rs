//! The charts that there are.

mod comparison;
mod delay;
mod delay_by_direction;
mod direction_rate;
mod download;
mod equaliser;
mod fairness;
mod host;
mod loss;
mod markings;
mod overview;
mod share;
mod side_by_side;
mod start_slew;
mod tcp;
mod upload;

use crate::chart::Chart;

/// Every chart, in the order in which `rrul list charts` prints them.
pub const CHARTS: &[&dyn Chart] = &[
    &overview::Overview,
    &comparison::Comparison,
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
];

/// How wide the bins of the panels are.
fn bins_words(widths: &[f64]) -> String {
    let mut sorted = widths.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let each: Vec<String> = sorted.iter().map(|width| format!("{width} s")).collect();
    format!("Lines: bins of {} on the run's clock.", each.join(" and "))
}

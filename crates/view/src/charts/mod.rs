//! The charts that there are.

mod bars;
pub(crate) mod comparison;
mod competition;
mod delay;
mod delay_by_direction;
mod direction_rate;
mod distributions;
mod download;
mod equaliser;
mod fairness;
mod host;
mod loss;
mod markings;
mod overview;
mod page_waterfall;
mod path_hops;
mod share;
mod side_by_side;
mod start_slew;
mod tcp;
mod totals;
mod upload;

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use crate::chart::Chart;
use crate::error::ViewError;
use crate::panels::time_chart::OverTime;

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
    &distributions::ecdf::Ecdf,
    &distributions::ccdf::Ccdf,
    &distributions::box_plot::BoxPlot,
    &totals::Totals,
    &bars::Bars,
    &distributions::ellipse::Ellipse,
    &distributions::qq::QuantileQuantile,
    &page_waterfall::PageWaterfall,
    &distributions::page_ecdf::PageEcdf,
    &path_hops::PathHops,
];

/// What a page that can be zoomed shows of each run over time, in its order.
pub(crate) const OVER_TIME: &[OverTime] = &[
    OverTime { group: DELAY_AND_RATE, folded: false, show: delay_by_direction::show_round_trip },
    OverTime {
        group: DELAY_AND_RATE,
        folded: false,
        show: |run, scene| direction_rate::show(run, scene, Direction::Down, false),
    },
    OverTime {
        group: DELAY_AND_RATE,
        folded: false,
        show: |run, scene| direction_rate::show(run, scene, Direction::Up, false),
    },
    OverTime { group: "Delay by direction", folded: false, show: delay_by_direction::show_ways },
    OverTime { group: "Lost packets", folded: false, show: loss::show },
    OverTime { group: "How streams share", folded: true, show: share::show },
    OverTime { group: "How streams share", folded: true, show: fairness::show },
    OverTime { group: "Scores over time", folded: true, show: equaliser::show },
    OverTime { group: "TCP at both ends", folded: true, show: tcp::show },
    OverTime { group: "The hosts", folded: true, show: host::show },
];

/// The group that stands first.
const DELAY_AND_RATE: &str = "Delay and rate";

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

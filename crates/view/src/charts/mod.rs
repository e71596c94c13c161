//! All charts.

mod applications;
mod bars;
pub(crate) mod comparison;
mod competition;
mod delay;
mod delay_by_direction;
mod direction_rate;
mod distributions;
mod equalizer;
mod fairness;
pub(crate) mod history;
mod host;
mod loss;
mod markings;
mod overview;
mod page_waterfall;
mod pareto;
mod path_hops;
mod share;
mod side_by_side;
mod start_slew;
mod tcp;
mod totals;
mod tune;

use rrul_model::flow::Direction;

use crate::chart::Chart;
use crate::panels::time_chart::OverTime;

/// Every chart, in the order in which `rrul list charts` prints them.
pub const CHARTS: &[&Chart] = &[
    &overview::CHART,
    &comparison::CHART,
    &competition::CHART,
    &direction_rate::DOWNLOAD,
    &direction_rate::UPLOAD,
    &delay::CHART,
    &delay_by_direction::CHART,
    &share::CHART,
    &fairness::CHART,
    &start_slew::CHART,
    &tcp::CHART,
    &loss::CHART,
    &markings::CHART,
    &equalizer::CHART,
    &host::CHART,
    &distributions::ecdf::CHART,
    &distributions::ccdf::CHART,
    &distributions::box_plot::CHART,
    &totals::CHART,
    &bars::CHART,
    &distributions::ellipse::CHART,
    &distributions::qq::CHART,
    &applications::CHART,
    &page_waterfall::CHART,
    &distributions::page_ecdf::CHART,
    &path_hops::CHART,
    &tune::CHART,
    &pareto::CHART,
    &history::BY_DATE,
    &history::BY_HOUR,
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
    OverTime { group: "Delay by direction", folded: false, show: delay_by_direction::show_directions },
    OverTime { group: "Lost packets", folded: false, show: loss::show },
    OverTime { group: "How streams share", folded: true, show: share::show },
    OverTime { group: "How streams share", folded: true, show: fairness::show },
    OverTime { group: "Scores over time", folded: true, show: equalizer::show },
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

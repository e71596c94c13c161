//! The empirical distribution of round-trip delay.

use rrul_analysis::Analysis;

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::panels::distribution;
use crate::panels::distribution::Look;
use crate::theme::Theme;

/// The chart that shows all delays, not one figure of them.
pub(crate) const CHART: Chart = Chart {
    name: "ecdf",
    about: "cumulative distribution of delay, idle and loaded, by class of one run or by run",
    runs: 1..=ANY,
    draw: Draw::Delays(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    distribution::draw(runs, theme, Look::AtMost)
}

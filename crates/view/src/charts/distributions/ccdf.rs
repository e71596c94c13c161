//! The tail of the distribution of round-trip delay.

use rrul_analysis::Analysis;

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::panels::distribution;
use crate::panels::distribution::Look;
use crate::theme::Theme;

/// The chart that shows how late the latest packets are.
pub(crate) const CHART: Chart = Chart {
    name: "ccdf",
    about: "tail of the delay distribution (P95, P99, P99.9), on a logarithmic axis",
    runs: 1..=ANY,
    draw: Draw::Delays(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    distribution::draw(runs, theme, Look::AtLeast)
}

//! The panel of everything on the link in one direction, beside the load: for runs in which pages and short flows join it.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::axis::Axis;
use crate::bins::Bins;
use crate::figure::{Dash, Fill};
use crate::rate_panel::direction_word;
use crate::theme::Theme;
use crate::time_panel::{Area, Quantity, TimeLine, TimePanel};

/// Pixels.
const HEIGHT: f64 = 96.0;
/// Octets on the link are known this often, seconds.
const FINEST: f64 = 0.5;

/// The panel; `None` for a run without phase `web`, or whose octets on the link are unknown.
pub(crate) fn panel(run: &Analysis, direction: Direction, time: &Axis, theme: &Theme) -> Option<TimePanel> {
    let has_web = run.phases.iter().any(|entry| entry.phase == Phase::Web);
    let everything = run.link_octets.rates(direction);
    if !has_web || everything.is_empty() {
        return None;
    }
    let bins = Bins::over(time.min, time.max, FINEST);
    let sum = bins.rates(&run.goodput(direction).sum_series);
    let mut panel = TimePanel::new(format!("{} in all", direction_word(direction)), Quantity::Rate, "in all", HEIGHT);
    panel.how = "sum of the streams, and every IP packet on the link".into();
    let range = sum.iter().map(|(at, rate)| (*at, rate.map(|rate| (0.0, rate)))).collect();
    panel.areas.push(Area { range, fill: Fill { colour: theme.range, opacity: 0.7 } });
    let mut line = |name: &str, points, colour, width, dash| {
        panel.lines.push(TimeLine { name: name.to_owned(), points, colour, width, dash, figures: Vec::new() });
    };
    line("sum of streams", sum, theme.muted, 1.2, Dash::Solid);
    line("everything on the link", bins.rates(everything), theme.ink, 1.6, Dash::Solid);
    Some(panel)
}

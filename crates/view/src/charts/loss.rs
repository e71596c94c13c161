//! Packets that were lost, late, doubled or reordered, by direction, over time.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::loss::packet_fate::DirectionFate;
use rrul_analysis::metrics::loss::packet_fate_series::FateTimes;
use rrul_model::flow::Direction;
use rrul_model::time::TestTime;

use crate::chart::Chart;
use crate::drawing::figure::Dash;
use crate::panels::time_chart::{Scene, Shown, observed};
use crate::panels::time_panel::{Quantity, TimeLine, TimePanel};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;

/// Pixels, of a way on which something happened, and of one on which nothing did.
const HEIGHTS: [f64; 2] = [200.0, 66.0];
/// Seconds: ten packets of the usual probe.
const FINEST: f64 = 0.2;

/// Loss, lateness, copies and order over time.
pub(crate) const CHART: Chart =
    Chart::over_time("loss", "packets lost, late, duplicated or reordered over time, by direction", show);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    for direction in Direction::ALL.into_iter().rev() {
        match run.packet_fate_series.get(direction) {
            Some(times) => shown.panels.push(panel(run, times, scene, direction)),
            None => shown.missing.push(format!("No UDP probes on the way {direction} in this run.")),
        }
    }
    shown.notes = vec![
        super::bins_words(&[scene.bins(FINEST).width]),
        format!(
            "Packets in each bin, of {} together, by the time at which the client sent them. Late: after {} s, which \
             counts as lost.",
            pooled_name(&[run]),
            run.loss.waiting_time.milliseconds() / 1e3
        ),
    ];
    shown
}

fn panel(run: &Analysis, times: &FateTimes, scene: &Scene<'_>, direction: Direction) -> TimePanel {
    let bins = scene.bins(FINEST);
    let mut panel = TimePanel::new(format!("On the way {direction}"), Quantity::Count, "packets", 0.0);
    panel.how = format!("packets in a bin, {}", pooled_name(&[run]));
    panel.heads = vec!["in all"];
    let fate = run.loss.fates.pooled(direction).and_then(|fate: &DirectionFate| fate.all);
    let theme = scene.theme;
    let kinds: [(&str, Option<&Vec<TestTime>>, &'static str, Dash); 5] = [
        ("reordered", times.reordered.as_ref(), theme.best_effort, Dash::Solid),
        ("duplicated", times.duplicated.as_ref(), theme.background_class, Dash::Dashed),
        (
            "up or down, not known",
            Some(&times.unattributed).filter(|times| !times.is_empty()),
            theme.muted,
            Dash::Dotted,
        ),
        ("late", Some(&times.late), theme.signaling, Dash::Dashed),
        ("lost", Some(&times.lost), theme.alarm, Dash::Solid),
    ];
    for (name, times, colour, dash) in kinds {
        let Some(times) = times else {
            if name != "up or down, not known" {
                panel.facts.push(format!("{name}: not known"));
            }
            continue;
        };
        let points = bins.sums(times.iter().map(|at| (at.seconds(), 1.0)), observed(run));
        let figures = vec![words::count(times.len() as u64)];
        panel.lines.push(TimeLine { name: name.to_owned(), points, colour, width: 1.5, dash, figures });
    }
    let [eventful, quiet] = HEIGHTS;
    panel.height = if panel.values().any(|count| count > 0.0) { eventful } else { quiet };
    if let Some(fate) = fate {
        let share = if fate.share_least < fate.share_most {
            format!("{} to {}", words::percent(fate.share_least), words::percent(fate.share_most))
        } else {
            words::percent(fate.share_least)
        };
        panel.headline = Some((format!("lost or late, of {} packets", words::count(fate.sent)), share));
    }
    panel
}

//! Fairness: Jain's index among the streams of each direction, over time.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::sharing::stream_sharing::DirectionSharing;
use rrul_analysis::statistics::jain_index::JainStatistics;
use rrul_model::flow::Direction;

use crate::chart::Chart;
use crate::drawing::figure::{Dash, Fill};
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel};
use crate::text::words;
use crate::text::words::direction_word;

/// Height of a panel, pixels.
const HEIGHT: f64 = 190.0;

/// Jain's index over time.
pub(crate) const CHART: Chart =
    Chart::over_time("fairness", "fairness among the streams of a direction over time (Jain's index)", show);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    let mut widths = Vec::new();
    for direction in Direction::ALL {
        match run.sharing.direction(direction).filter(|sharing| !sharing.jain_series.is_empty()) {
            Some(sharing) => {
                let (panel, width) = panel(sharing, scene, direction);
                shown.panels.push(panel);
                widths.push(width);
            }
            None => shown.missing.push(format!(
                "No index for the {}: it needs two streams at the same time.",
                direction_word(direction).to_lowercase()
            )),
        }
    }
    shown.notes = vec![
        super::bins_words(&widths),
        "A point is the mean of Jain's index over the windows in a bin; gray: lowest to highest window. 1: all streams have the \
         same; 1/n: one of n has everything. Only the part of the load in which every stream is due to run is used."
            .to_owned(),
    ];
    shown
}

fn panel(sharing: &DirectionSharing, scene: &Scene<'_>, direction: Direction) -> (TimePanel, f64) {
    let window = sharing.interval_ns as f64 / 1e9;
    let bins = scene.bins(window);
    let streams = sharing.streams.len();
    let points = || sharing.jain_series.iter().map(|(at, index)| (at.seconds(), *index));
    let mut panel = TimePanel::new(direction_word(direction), Quantity::Index, "index", HEIGHT);
    panel.how = format!(
        "Jain's index among {}, in windows of {} ms",
        words::counted(streams, "stream"),
        (window * 1e3).round()
    );
    let ends = |values: &[f64]| {
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        (!values.is_empty()).then(|| (lowest, values.iter().copied().fold(0.0, f64::max)))
    };
    panel.areas.push(Area {
        range: bins.values(points()).iter().map(|(at, values)| (*at, ends(values))).collect(),
        fill: Fill { colour: scene.theme.range, opacity: 0.55 },
    });
    panel.lines.push(TimeLine {
        name: String::new(),
        points: bins.means(points()),
        colour: scene.theme.ink,
        width: 1.8,
        dash: Dash::Solid,
        figures: Vec::new(),
    });
    panel.rules = vec![(1.0, "1: even".to_owned())];
    if streams > 1 {
        panel.rules.push((1.0 / streams as f64, format!("1/{streams}: one has all")));
    }
    let of = |what: &str, statistics: &Option<JainStatistics>| {
        let JainStatistics { sharers, mean, p5, .. } = statistics.as_ref()?;
        Some(format!("among {sharers} {what}: mean {mean:.2}, P5 {p5:.2}"))
    };
    if let Some(jain) = &sharing.jain_streams {
        panel.headline = Some(("mean of all windows".to_owned(), format!("{:.2}", jain.mean)));
        panel.facts.push(format!("over all the time at once: {:.2}", jain.overall));
    }
    panel.facts.extend(of("streams", &sharing.jain_streams));
    panel.facts.extend(of("classes", &sharing.jain_classes));
    panel.facts.extend(of("families", &sharing.jain_families));
    (panel, bins.width)
}

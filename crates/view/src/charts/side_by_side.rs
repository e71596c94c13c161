//! The overview of several runs: a column a run, whose panels share the vertical axis of their row.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use super::{delay_by_direction, direction_rate};
use crate::drawing::Drawing;
use crate::drawing::figure::{Scale, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PITCH, Page, PanelPlan, SIDE_LEFT, time_axis};
use crate::panels::bins;
use crate::panels::bins::Bins;
use crate::panels::delay_panel::increase;
use crate::panels::time_chart::{Scene, introduce, title};
use crate::panels::time_panel::{TimePanel, shared_top};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Most runs side by side: a fifth would be too narrow to read.
pub(super) const MOST: usize = 4;
/// Pixels, of a panel of rates and of one of delay.
const HEIGHTS: [f64; 2] = [160.0, 200.0];
/// Bins of delay are no finer, seconds.
const FINEST: f64 = 0.2;

/// A row: for each run its panel and what stands above it.
struct Row {
    title: &'static str,
    how: &'static str,
    height: f64,
    panels: Vec<(TimePanel, String)>,
}

/// Draws two to four runs.
pub(super) fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let names = words::run_names(runs);
    let phases = runs.first().map(|run| run.test.phases.clone()).unwrap_or_default();
    let scene = Scene { theme, time: time_axis(runs), most_bins: bins::MOST };
    let mut page = Page::new(theme, title(runs, &names), scene.time, phases);
    introduce(&mut page, runs, &names);
    let bins = scene.bins(FINEST);
    let mut rows: Vec<Row> = Direction::ALL.into_iter().map(|direction| rates(runs, &scene, direction)).collect();
    rows.push(delays(runs, &scene, &bins));
    rows.retain(|row| row.panels.iter().any(|(panel, _)| panel.has_values()));
    let count = rows.len();
    for (index, row) in rows.iter().enumerate() {
        // The names of the runs stand above the first row alone.
        let names = if index == 0 { names.as_slice() } else { &[] };
        row.draw(&mut page, runs, names, index + 1 == count);
    }
    if count == 0 {
        page.message("Nothing to draw. None of these runs has streams or delay probes.");
        return page.finish();
    }
    page.footnote(&format!(
        "A column a run; the panels of a row share their axis. Rates: bytes by the time they arrived; the thick line is the mean of \
         the streams. Delay: medians of the packets sent in a bin, the thick line of {}; gray: lowest to highest of these; \
         red strokes: lost ones.",
        pooled_name(runs)
    ));
    let dates = runs.iter().zip(&names).map(|(run, name)| format!("{name}: {}", words::date(&run.test.created)));
    page.footnote(&dates.collect::<Vec<_>>().join("  ·  "));
    page.finish()
}

fn rates(runs: &[&Analysis], scene: &Scene<'_>, direction: Direction) -> Row {
    let [height, _] = HEIGHTS;
    let panel = |run: &&Analysis| {
        let shown = direction_rate::show(run, scene, direction, false).panels.into_iter().next();
        let goodput = run.goodput(direction);
        let head = if goodput.flows.is_empty() { "no streams".to_owned() } else { format!("sum {}", goodput.sum) };
        (shown.unwrap_or_else(|| empty(height)), head)
    };
    let panels = runs.iter().map(panel).collect();
    Row { title: direction_word(direction), how: "per stream", height, panels }
}

fn delays(runs: &[&Analysis], scene: &Scene<'_>, bins: &Bins) -> Row {
    let [_, height] = HEIGHTS;
    let panel = |run: &&Analysis| {
        let head = if run.round_trip_delay.flows.is_empty() {
            "no delay probes".to_owned()
        } else {
            format!("{} under load", increase(&run.round_trip_delay.pooled))
        };
        (delay_by_direction::round_trip(run, scene, bins), head)
    };
    Row {
        title: "Round-trip delay",
        how: "median of each probe flow",
        height,
        panels: runs.iter().map(panel).collect(),
    }
}

fn empty(height: f64) -> TimePanel {
    TimePanel::new("", crate::panels::time_panel::Quantity::Rate, "rate", height)
}

impl Row {
    fn draw(&self, page: &mut Page<'_>, runs: &[&Analysis], names: &[String], last: bool) {
        let panels = || self.panels.iter().map(|(panel, _)| panel);
        let Some(quantity) = panels().map(|panel| panel.quantity).next() else { return };
        let (axis, unit) = quantity.axis(shared_top(panels()), 4);
        // Every name once: a class looks the same in each column.
        let mut legend: Vec<String> = Vec::new();
        for line in panels().flat_map(|panel| &panel.lines).filter(|line| !line.name.is_empty()) {
            if !legend.contains(&line.name) {
                legend.push(line.name.clone());
            }
        }
        let shown = legend.len().min(LEGEND);
        if !names.is_empty() {
            page.heads(names);
        }
        let columns: Vec<_> =
            self.panels.iter().zip(runs).map(|((_, head), run)| (head.clone(), run.test.phases.clone())).collect();
        let placed = page.row(
            &PanelPlan {
                title: self.title,
                unit: format!("{}, {}", unit.name, self.how),
                note: quantity.beyond(panels().flat_map(TimePanel::values), &axis, unit),
                axis,
                scale: Scale::Linear,
                lanes: panels().map(|panel| panel.lanes().len()).max().unwrap_or(0),
                height: self.height,
                side_height: PITCH * (shown + usize::from(legend.len() > shown)) as f64,
                last,
            },
            &columns,
        );
        let Some((_, frame)) = placed.first().copied() else { return };
        for (panel, place) in panels().zip(placed) {
            panel.draw_marks(page, place, &axis, unit);
        }
        page.figure.legend(SIDE_LEFT, frame.top - 2.0, PITCH, 12.0, legend.get(..shown).unwrap_or_default());
        if legend.len() > shown {
            let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
            let text = format!("and {} more, not named here", legend.len() - shown);
            page.figure.text(SIDE_LEFT, frame.top + PITCH * shown as f64, &text, small);
        }
    }
}

/// Most names beside a row.
const LEGEND: usize = 16;

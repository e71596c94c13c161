//! A chart over time: the panels of one run, or those of several below each other on shared axes.

use rrul_analysis::Analysis;
use rrul_model::phase::Phase;

use crate::drawing::Drawing;
use crate::drawing::axis::Axis;
use crate::drawing::page::{Page, time_axis};
use crate::panels::bins;
use crate::panels::bins::Bins;
use crate::panels::time_panel::{TimePanel, shared_top};
use crate::text::words;
use crate::theme::Theme;

/// Most runs below each other.
pub(crate) const MOST: usize = 8;

/// What every panel of a chart has in common.
pub(crate) struct Scene<'a> {
    pub(crate) theme: &'a Theme,
    /// The time axis, seconds.
    pub(crate) time: Axis,
    pub(crate) most_bins: f64,
}

impl Scene<'_> {
    /// Bins over the time axis, not finer than so many seconds.
    pub(crate) fn bins(&self, finest: f64) -> Bins {
        Bins::at_most(self.most_bins, self.time.min, self.time.max, finest)
    }
}

/// What a chart shows of one run.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) panels: Vec<TimePanel>,
    /// What the run does not have, a sentence each.
    pub(crate) missing: Vec<String>,
    /// How to read it; named once.
    pub(crate) notes: Vec<String>,
}

/// Something that can be shown over time beside other things, on a surface of its own making.
pub(crate) struct OverTime {
    /// What it stands under; those of one group follow each other.
    pub(crate) group: &'static str,
    /// Whether it is shown only to those who ask.
    pub(crate) folded: bool,
    /// What it shows of a run.
    pub(crate) show: fn(&Analysis, &Scene<'_>) -> Shown,
}

/// Draws a chart of one to eight runs over the whole of their time.
pub(crate) fn draw(runs: &[&Analysis], theme: &Theme, show: impl Fn(&Analysis, &Scene<'_>) -> Shown) -> Drawing {
    draw_within(runs, theme, time_axis(runs), show)
}

/// Draws a chart of one to eight runs over this time.
pub(crate) fn draw_within(
    runs: &[&Analysis],
    theme: &Theme,
    time: Axis,
    show: impl Fn(&Analysis, &Scene<'_>) -> Shown,
) -> Drawing {
    let names = words::run_names(runs);
    let scene = Scene { theme, time, most_bins: bins::MOST };
    let shown: Vec<Shown> = runs.iter().map(|run| show(run, &scene)).collect();
    let mut page = Page::new(theme, title(runs, &names), time, phases(runs.first().copied()));
    introduce(&mut page, runs, &names);
    let missing = |shown: &Shown| shown.missing.join(" ");
    if shown.iter().all(|shown| shown.panels.is_empty()) {
        let mut said: Vec<String> = shown.iter().map(missing).collect();
        said.dedup();
        page.message(&format!("Nothing to draw. {}", said.join(" ")));
        return page.finish();
    }
    let all = || shown.iter().flat_map(|shown| &shown.panels);
    let drawn = all().count();
    let mut place = 0;
    for ((run, name), shown) in runs.iter().zip(&names).zip(&shown) {
        if runs.len() > 1 {
            page.section(&[name.as_str(), &words::date(&run.test.created)].join("  ·  "), run.test.phases.clone());
        }
        for panel in &shown.panels {
            place += 1;
            let top = shared_top(all().filter(|other| other.axis == panel.axis));
            panel.draw(&mut page, top, place == drawn);
        }
        if runs.len() > 1 && !shown.missing.is_empty() {
            page.remark(&missing(shown));
        }
    }
    let mut notes: Vec<&String> = Vec::new();
    for note in shown.iter().flat_map(|shown| &shown.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    page.footnote(&notes.into_iter().map(String::as_str).collect::<Vec<_>>().join(" "));
    if let [shown] = shown.as_slice() {
        page.footnote(&missing(shown));
    }
    page.finish()
}

/// The title of these runs together.
pub(crate) fn title(runs: &[&Analysis], names: &[String]) -> String {
    match runs {
        [run] => words::title(run),
        _ => names.join(" and "),
    }
}

/// Writes below the title what has to be known of these runs.
pub(crate) fn introduce(page: &mut Page<'_>, runs: &[&Analysis], names: &[String]) {
    if let &[run] = runs {
        page.subtitle(&words::circumstances(run));
    }
    page.doubts(words::doubts(runs, names).as_deref());
}

fn phases(run: Option<&Analysis>) -> Vec<rrul_model::phase::PhaseWindow> {
    run.map(|run| run.test.phases.clone()).unwrap_or_default()
}

/// From the beginning of the idle baseline to the end, seconds: when packets were looked at. Nothing without phases.
pub(crate) fn observed(run: &Analysis) -> (f64, f64) {
    let told = || run.test.phases.iter().filter(|entry| entry.phase != Phase::Survey).map(|entry| entry.window);
    let from = told().map(|window| window.from.seconds()).fold(f64::INFINITY, f64::min);
    let to = told().map(|window| window.to.seconds()).fold(f64::NEG_INFINITY, f64::max);
    (from, to)
}

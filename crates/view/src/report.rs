//! The report: one page with everything that recordings contain, in words first, with charts that can be read and
//! zoomed.
//!
//! The page needs nothing but itself: style, script and data are in it, and it loads no external resources. All text
//! and figures are in it as HTML, so that it can be read without script, printed, and listened to; the script draws the
//! charts. The words of others (titles, names of hosts) are only ever text.

mod data_table;
mod document;
mod drawings;
mod environment;
mod history;
mod markup;
mod missing_data;
mod numbers;
mod palette;
mod panels;
mod plot;
mod plot_part;
mod reading;
mod reported_run;
mod run_part;
mod side_by_side;
mod threads;
mod verdict_part;

use rrul_analysis::Analysis;
use serde::Serialize;

pub use self::history::history_report;
use self::markup::Markup;
use self::numbers::Numbers;
use self::palette::Palette;
use self::plot::{Plot, ShownPhase};
pub use self::reported_run::ReportedRun;
use self::run_part::RunPart;
use self::threads::joined;
pub use crate::charts::history::PastRun;
use crate::drawing::figure::TextStyle;
use crate::drawing::font;
use crate::drawing::font::Weight;
use crate::drawing::page::whole_time_axis;
use crate::error::ViewError;
use crate::text::words;

/// Words by whose width fonts are compared.
const SAMPLE: &str = "Round-trip delay under load, 0123456789 ms";

/// Most runs that a title names.
const NAMED: usize = 3;

/// What the script of the page receives.
#[derive(Debug, Serialize)]
struct Data<'a> {
    /// Colors in both themes, by number.
    colours: &'a [(&'static str, &'static str)],
    /// From when to when, seconds.
    time: [f64; 2],
    /// Family, sample, and its width at 100 pixels, regular and semibold, in the font that drawings were measured with.
    font: (&'static str, &'static str, f64, f64),
    /// Phases of a run, each list once.
    phases: Vec<&'a [ShownPhase]>,
    plots: Vec<NumberedPlot<'a>>,
    drawings: Vec<&'a serde_json::Value>,
}

/// A plot, and the place of its phases in the list.
#[derive(Debug, Serialize)]
struct NumberedPlot<'a> {
    phases: usize,
    #[serde(flatten)]
    plot: &'a Plot,
}

/// These plots, with the lists of phases that they have.
fn numbered<'a>(plots: impl Iterator<Item = &'a Plot>) -> (Vec<&'a [ShownPhase]>, Vec<NumberedPlot<'a>>) {
    let mut lists: Vec<&[ShownPhase]> = Vec::new();
    let number = |plot: &'a Plot| {
        let phases = lists.iter().position(|known| *known == plot.phases).unwrap_or_else(|| {
            lists.push(&plot.phases);
            lists.len() - 1
        });
        NumberedPlot { phases, plot }
    };
    let plots = plots.map(number).collect();
    (lists, plots)
}

/// Family, sample and its widths.
fn font_measured() -> (&'static str, &'static str, f64, f64) {
    let width = |weight| TextStyle::left(100.0, weight, "").width(SAMPLE);
    (font::FAMILY, SAMPLE, width(Weight::Regular), width(Weight::SemiBold))
}

/// The report of these recordings, as one HTML file. The same recordings give the same bytes.
///
/// # Errors
/// [`ViewError::Runs`] without any recording, and those of charts.
pub fn report(runs: &[ReportedRun<'_>]) -> Result<String, ViewError> {
    let analyses: Vec<&Analysis> = runs.iter().map(|run| run.analysis).collect();
    if runs.is_empty() {
        return Err(ViewError::Runs { chart: "report", takes: "one recording or more".to_owned(), given: 0 });
    }
    let palette = Palette::of(runs.len());
    let names = words::run_names(&analyses);
    let several = runs.len() > 1;
    // The part of all runs and the parts of each take about as long, and neither waits for the other.
    let (together, drawn_together, groups) = std::thread::scope(|scope| {
        let together = scope.spawn(|| several.then(|| panels::of_all(&analyses, &names, &palette)));
        let drawn = scope.spawn(|| if several { drawings::of_all(&analyses) } else { Ok(Vec::new()) });
        let groups = panels::of_each(&analyses, &palette);
        (joined(together), joined(drawn), groups)
    });
    let drawn_together = drawn_together?;
    let mut parts = Vec::new();
    for ((run, name), groups) in runs.iter().zip(&names).zip(groups) {
        let drawings = drawings::of_one(run.analysis, several)?;
        parts.push(RunPart { run: *run, name: name.clone(), groups, drawings });
    }
    let title = match analyses.as_slice() {
        [run] => words::title(run),
        _ if names.len() <= NAMED => names.join(" and "),
        _ => words::counted(names.len(), "run"),
    };

    let mut body = Markup::default();
    let mut numbers = Numbers::default();
    if let ([part], None) = (parts.as_slice(), &together) {
        body.element("h1", &[], &title);
        run_part::write(&mut body, part, 2, &mut numbers);
    } else {
        body.element("h1", &[], &title);
        side_by_side::write(&mut body, &analyses, &names);
        if let Some(group) = &together {
            plot_part::toolbar(&mut body);
            plot_part::write_group(&mut body, group, 2, "all", &mut numbers);
        }
        drawings::write(&mut body, &drawn_together, (drawings::HEAD, 2), "all", &mut numbers);
        for (index, part) in parts.iter().enumerate() {
            let id = format!("run{}", index + 1);
            body.within("section", &[("class", "run"), ("id", &id)], |body| {
                body.element("h2", &[], &part.name);
                run_part::write(body, part, 3, &mut numbers);
            });
        }
    }
    reading::write(&mut body);

    let time = whole_time_axis(&analyses);
    let groups = together.iter().chain(parts.iter().flat_map(|part| &part.groups));
    let (phases, plots) = numbered(groups.flat_map(|group| &group.panels).map(|panel| &panel.plot));
    let data = Data {
        colours: palette.pairs(),
        time: [time.min, time.max],
        font: font_measured(),
        phases,
        plots,
        drawings: drawn_together
            .iter()
            .chain(parts.iter().flat_map(|part| &part.drawings))
            .map(|d| &d.option)
            .collect(),
    };
    debug_assert_eq!((numbers.plots, numbers.drawings), (data.plots.len(), data.drawings.len()));
    let links: Vec<(String, &str)> = if parts.len() > 1 {
        parts.iter().enumerate().map(|(index, part)| (format!("run{}", index + 1), part.name.as_str())).collect()
    } else {
        Vec::new()
    };
    document::written(&title, &palette, &links, &body.finish(), &serde_json::to_string(&data)?)
}

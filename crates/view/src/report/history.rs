//! The report of many runs over one line: how it was by date and by hour of day, and a row a run.

use rrul_model::calendar::date_and_time;
use rrul_model::flow::Direction;

use super::data_table::DataTable;
use super::drawings;
use super::markup::Markup;
use super::numbers::Numbers;
use super::palette::Palette;
use super::{Data, document, font_measured, reading};
use crate::charts::history::{BY_DATE, BY_HOUR, Bins, PastRun, draw, title, worst_hours, zone};
use crate::error::ViewError;
use crate::text::style::unknown;
use crate::text::words;
use crate::theme::Theme;

/// The page of these runs, in any order, as one HTML file. `name` is that of the line.
///
/// # Errors
/// [`ViewError::Runs`] without any run.
pub fn history_report(name: &str, runs: &[PastRun]) -> Result<String, ViewError> {
    if runs.is_empty() {
        return Err(ViewError::Runs { chart: "report", takes: "one recording or more".to_owned(), given: 0 });
    }
    let mut runs = runs.to_vec();
    runs.sort_by_key(|run| run.at);
    let drawn = [(&BY_DATE, Bins::Days), (&BY_HOUR, Bins::Hours)]
        .map(|(chart, bins)| drawings::of_chart(chart, draw(&runs, bins, &Theme::LIGHT)));
    let title = format!("{name}: {}", title(&runs));
    let mut body = Markup::default();
    let mut numbers = Numbers::default();
    body.element("h1", &[], &title);
    if let Some(sentence) = worst_hours(&runs) {
        body.element("p", &[("class", "felt")], &sentence);
    }
    drawings::write(&mut body, &drawn, ("By date and by hour of day", 2), "all", &mut numbers);
    body.within("section", &[("class", "group")], |body| {
        body.element("h2", &[], "Runs");
        table(&runs).write(body);
    });
    reading::write(&mut body);
    let palette = Palette::of(1);
    let data = Data {
        colours: palette.pairs(),
        time: [0.0, 1.0],
        font: font_measured(),
        phases: Vec::new(),
        plots: Vec::new(),
        drawings: drawn.iter().map(|drawing| &drawing.option).collect(),
    };
    document::written(&title, &palette, &[], &body.finish(), &serde_json::to_string(&data)?)
}

/// A row a run, the latest first.
fn table(runs: &[PastRun]) -> DataTable {
    let row = |run: &PastRun| {
        let delays =
            Direction::ALL.map(|direction| run.queueing.get(direction).map_or_else(unknown, |delay| delay.to_string()));
        let rates =
            Direction::ALL.map(|direction| run.goodput.get(direction).map_or_else(unknown, |rate| rate.to_string()));
        let lost = run.lost.map_or_else(unknown, words::percent);
        let score = run.score.clone().unwrap_or_else(unknown);
        let first = [date_and_time(run.local()), words::verdict_word(run.verdict).to_owned()];
        first.into_iter().chain(delays).chain(rates).chain([lost, score]).collect()
    };
    let when = format!("run, {}", zone(runs));
    let heads = [
        when.as_str(),
        "verdict",
        "queueing delay down, P95",
        "queueing delay up, P95",
        "goodput down",
        "goodput up",
        "probes lost",
        "RRUL score, of 100",
    ];
    DataTable {
        caption: "Figures of each run".to_owned(),
        heads: heads.map(str::to_owned).to_vec(),
        rows: runs.iter().rev().map(row).collect(),
        words: false,
    }
}

//! The figures of several runs side by side: a row a figure, a column a run.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::metrics::web::page_load_statistics::LoadStatistics;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use super::data_table::DataTable;
use super::markup::Markup;
use crate::panels::delay_panel::increase;
use crate::text::improvement::improvement_sentence;
use crate::text::pooled_probes::pooled_name;
use crate::text::score_lines::seconds;
use crate::text::style::{quantile, unknown};
use crate::text::words;

/// Most runs beside the first that have a sentence of their own.
const TOLD: usize = 3;

/// A row: its name, and the figure of a run.
struct Row {
    name: &'static str,
    figure: fn(&Analysis) -> String,
}

const ROWS: [Row; 18] = [
    Row { name: "verdict", figure: |run| words::verdict_word(run.validity.verdict).to_owned() },
    Row { name: "RRUL score, of 100", figure: score },
    Row { name: "composite score", figure: composite },
    Row {
        name: "round-trip delay idle, P50",
        figure: |run| of_phase(run.round_trip_delay.pooled.idle.as_ref(), |s| s.p50),
    },
    Row {
        name: "round-trip delay loaded, P50",
        figure: |run| of_phase(run.round_trip_delay.pooled.load.as_ref(), |s| s.p50),
    },
    Row {
        name: "round-trip delay loaded, P95",
        figure: |run| of_phase(run.round_trip_delay.pooled.load.as_ref(), |s| s.p95),
    },
    Row {
        name: "round-trip delay loaded, P99",
        figure: |run| of_phase(run.round_trip_delay.pooled.load.as_ref(), |s| s.p99),
    },
    Row { name: "increase under load, median", figure: |run| increase(&run.round_trip_delay.pooled) },
    Row { name: "queueing delay up loaded, P50", figure: |run| queueing(run, Direction::Up) },
    Row { name: "queueing delay down loaded, P50", figure: |run| queueing(run, Direction::Down) },
    Row { name: "probe packets lost", figure: |run| words::loss(run.loss.round_trips) },
    Row { name: "download, sum of all streams", figure: |run| goodput(run, Direction::Down) },
    Row { name: "upload, sum of all streams", figure: |run| goodput(run, Direction::Up) },
    Row { name: "page load idle, mean", figure: |run| page(run, false) },
    Row { name: "page load loaded, mean", figure: |run| page(run, true) },
    Row { name: "families", figure: |run| words::families(&run.test.families) },
    Row { name: "plan", figure: |run| run.test.plan.clone() },
    Row { name: "date", figure: |run| words::date(&run.test.created) },
];

/// The table. Rows in which no run has a figure are left out.
pub(crate) fn table(runs: &[&Analysis], names: &[String]) -> DataTable {
    let row = |row: &Row| {
        let cells: Vec<String> = runs.iter().map(|run| (row.figure)(run)).collect();
        let told = cells.iter().any(|cell| *cell != unknown());
        told.then(|| std::iter::once(row.name.to_owned()).chain(cells).collect())
    };
    DataTable {
        caption: "Figures of all runs side by side".to_owned(),
        heads: std::iter::once(String::new()).chain(names.iter().cloned()).collect(),
        rows: ROWS.iter().filter_map(row).collect(),
        words: false,
    }
}

/// What each further run changed against the first, a sentence each.
pub(crate) fn sentences(runs: &[&Analysis], names: &[String]) -> Vec<String> {
    let [first, others @ ..] = runs else { return Vec::new() };
    // Of many runs the table is shorter to read.
    if others.len() > TOLD {
        return Vec::new();
    }
    let sentence = |(run, name): (&&Analysis, &String)| {
        let delays: [&PhaseDelays; 2] = [&first.round_trip_delay.pooled, &run.round_trip_delay.pooled];
        format!("Under load, {}.", improvement_sentence([&names[0], name], delays))
    };
    others.iter().zip(&names[1..]).map(sentence).collect()
}

fn of_phase(statistics: Option<&DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>) -> String {
    statistics.map_or_else(unknown, |statistics| quantile(pick(statistics)))
}

fn score(run: &Analysis) -> String {
    let web = run.scores.web.as_ref();
    web.map_or_else(unknown, |web| web.score.to_string())
}

fn composite(run: &Analysis) -> String {
    let composite = run.scores.composite.as_ref();
    composite.map_or_else(unknown, |composite| format!("{:.0} of {:.0}", composite.total, composite.maximum_available))
}

fn queueing(run: &Analysis, direction: Direction) -> String {
    let told = &run.one_way_delay;
    if told.clocks.as_ref().is_none_or(|clocks| clocks.unknown_reason(direction).is_some()) {
        return unknown();
    }
    of_phase(told.direction(direction).queueing_delay.load.as_ref(), |statistics| statistics.p50)
}

fn goodput(run: &Analysis, direction: Direction) -> String {
    let goodput = run.goodput(direction);
    if goodput.flows.is_empty() { unknown() } else { goodput.sum.to_string() }
}

/// Of a run that loaded one page; several are listed in the run's own table.
fn page(run: &Analysis, loaded: bool) -> String {
    let [page] = run.page_loads.as_slice() else { return unknown() };
    let mean = if loaded {
        page.loaded.as_ref().and_then(|loads| loads.mean_ns)
    } else {
        page.unloaded.as_ref().and_then(LoadStatistics::whole_mean_ns)
    };
    mean.map_or_else(unknown, seconds)
}

/// Writes the comparison that leads a report of several runs.
pub(crate) fn write(page: &mut Markup, runs: &[&Analysis], names: &[String]) {
    page.within("section", &[("class", "comparison")], |page| {
        page.element("h2", &[], "Side by side");
        for sentence in sentences(runs, names) {
            page.element("p", &[("class", "felt")], &sentence);
        }
        table(runs, names).write(page);
        page.element("p", &[("class", "note")], &format!("Round-trip delay and lost packets: {}.", pooled_name(runs)));
        page.element(
            "p",
            &[("class", "note")],
            "Figures of single runs; rrul compare shows whether a difference is significant. Each run has its own part below, with its verdict.",
        );
    });
}

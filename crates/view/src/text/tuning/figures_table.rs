//! The figures of each direction: rate, interval, cost and gain.

use rrul_analysis::tuning::result::{Outcome, Refusal, TunedDirection, TuningResult};
use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::text::style::unknown;
use crate::text::table::Table;
use crate::text::words::{direction_word, percent};

/// A row: its name, and the cell of a direction; `None` where the direction has nothing to show.
type Row = (&'static str, fn(&TuningResult, Direction, &TunedDirection) -> Option<String>);

const ROWS: [Row; 6] = [
    ("Rate set, found → new", set),
    ("Line rate (90 % interval)", |_, _, tuned| {
        let capacity = tuned.capacity?;
        Some(if capacity.low == capacity.high {
            capacity.median.to_string()
        } else {
            span("–", &capacity.low.to_string(), &capacity.high.to_string())
        })
    }),
    ("Delivered, unshaped → shaped", |_, _, tuned| {
        change(tuned.unshaped.map(|line| line.delivered), tuned.chosen.map(|chosen| chosen.delivered))
    }),
    ("Cost: rate left unused", |_, _, tuned| {
        let chosen = tuned.chosen?;
        let cost = BitRate(u64::try_from(chosen.cost).unwrap_or(0));
        let share =
            tuned.unshaped.filter(|line| line.delivered.0 > 0).map(|line| cost.0 as f64 / line.delivered.0 as f64);
        Some(share.map_or_else(|| cost.to_string(), |share| format!("{cost} ({})", percent(share))))
    }),
    ("Queueing delay P95, likewise", |_, _, tuned| {
        change(tuned.unshaped.map(|line| line.p95), tuned.chosen.map(|chosen| chosen.p95))
    }),
    ("Limit of the queueing delay", limit),
];

/// Returns a column for each direction that was tuned, and only rows with a figure.
pub(crate) fn figures_table(result: &TuningResult) -> Table {
    let tuned: Vec<(Direction, &TunedDirection)> = Direction::ALL
        .into_iter()
        .filter_map(|direction| Some((direction, result.directions.get(direction).as_ref()?)))
        .collect();
    let mut table = Table::default();
    if tuned.is_empty() {
        return table;
    }
    table.named_row("", tuned.iter().map(|(direction, _)| direction_word(*direction).to_owned()));
    for (name, cell) in ROWS {
        let cells: Vec<Option<String>> =
            tuned.iter().map(|(direction, tuned)| cell(result, *direction, tuned)).collect();
        if cells.iter().any(Option::is_some) {
            table.named_row(name, cells.into_iter().map(|cell| cell.unwrap_or_else(unknown)));
        }
    }
    table
}

fn set(result: &TuningResult, direction: Direction, tuned: &TunedDirection) -> Option<String> {
    let rate = tuned.chosen?.rate.to_string();
    let found = match result.shaper.found.map(|found| found.direction(direction)) {
        Some(Some(rate)) => rate.to_string(),
        Some(None) => "unshaped".to_owned(),
        None => "unknown".to_owned(),
    };
    Some(span(" → ", &found, &rate))
}

/// The limit has in it what the shaper adds by itself, which is unknown where it does not act on the direction.
fn limit(result: &TuningResult, _: Direction, tuned: &TunedDirection) -> Option<String> {
    let acts = !matches!(
        result.outcome,
        Outcome::Refused { refusal: Refusal::DirectionsSwapped { .. } | Refusal::NotInPath { .. } }
    );
    tuned.limit.filter(|_| acts).map(|limit| limit.to_string())
}

/// The figures of one direction with their names; those that it has.
pub(crate) fn direction_figures(result: &TuningResult, direction: Direction) -> Vec<(&'static str, String)> {
    let Some(tuned) = result.directions.get(direction).as_ref() else { return Vec::new() };
    ROWS.iter().filter_map(|(name, cell)| Some((*name, cell(result, direction, tuned)?))).collect()
}

/// A value before and after, with the unit of both once where they share it.
fn change<T: std::fmt::Display + Copy>(before: Option<T>, after: Option<T>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) => Some(span(" → ", &before.to_string(), &after.to_string())),
        (Some(only), None) | (None, Some(only)) => Some(only.to_string()),
        (None, None) => None,
    }
}

/// Two values with something between them; a unit that both have is written once.
fn span(between: &str, from: &str, to: &str) -> String {
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match (from.split_once(' '), unit(to)) {
        (Some((number, unit)), Some(other)) if unit == other => format!("{number}{between}{to}"),
        _ => format!("{from}{between}{to}"),
    }
}

/// How the delay falls, for a headline: the unshaped line against the recommended rate, the worse direction of each.
pub(crate) fn delay_change(result: &TuningResult) -> Option<(Delay, Delay)> {
    let tuned = || Direction::ALL.into_iter().filter_map(|direction| result.directions.get(direction).as_ref());
    let unshaped =
        tuned().filter_map(|tuned| tuned.unshaped.filter(|_| tuned.chosen.is_some())).map(|line| line.p95).max()?;
    let shaped = tuned().filter_map(|tuned| tuned.chosen).map(|chosen| chosen.p95).max()?;
    Some((unshaped, shaped))
}

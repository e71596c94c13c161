//! Every trial of a tuning session with its verdict.

use rrul_analysis::tuning::result::{Discarded, JudgedTrial, TuningResult, Verdict};
use rrul_model::flow::Direction;
use rrul_model::shaping::StepPurpose;

use crate::text::style::unknown;
use crate::text::table::Table;
use crate::text::tuning::outcome_words::lower;
use crate::text::words::percent;

/// Returns a row for each trial and direction that it judged.
pub(crate) fn trial_table(result: &TuningResult) -> Table {
    let mut table = Table::default();
    if result.trials.is_empty() {
        return table;
    }
    table.row(["", "direction", "set to", "delivered", "delay P50", "P95", "interval of P95", "lost", "verdict"]);
    for judged in &result.trials {
        for (place, direction) in judged_directions(judged).into_iter().enumerate() {
            let name = if place == 0 { name(judged) } else { String::from(" ") };
            table.named_row(&name, cells(result, judged, direction));
        }
    }
    table
}

/// Columns of the compact table.
const COMPACT: [usize; 6] = [0, 1, 2, 3, 5, 8];

/// Returns the same with fewer columns, for a terminal.
pub(crate) fn compact_trial_table(result: &TuningResult) -> Table {
    let whole = trial_table(result);
    let mut table = Table::default();
    for row in whole.rows() {
        let cell = |column: usize| row.get(column).cloned().unwrap_or_default();
        table.named_row(&cell(COMPACT[0]), COMPACT[1..].iter().map(|column| cell(*column)));
    }
    table
}

/// The directions that a trial says something of.
fn judged_directions(judged: &JudgedTrial) -> Vec<Direction> {
    let only = judged.trial.step.direction;
    Direction::ALL.into_iter().filter(|direction| only.is_none_or(|only| only == *direction)).collect()
}

/// `4 search`: people count from 1.
fn name(judged: &JudgedTrial) -> String {
    let purpose = match judged.trial.step.purpose {
        StepPurpose::Reference => "without shaper",
        StepPurpose::Knob => "does it bind?",
        StepPurpose::Search => "search",
        StepPurpose::Joint => "both together",
        StepPurpose::Fixed => "given rate",
    };
    format!("{} {purpose}", judged.trial.step.number + 1)
}

fn cells(result: &TuningResult, judged: &JudgedTrial, direction: Direction) -> [String; 8] {
    let figures = judged.trial.directions.get(direction);
    let rate = |rate: Option<rrul_model::units::BitRate>| rate.map_or_else(unknown, |rate| rate.to_string());
    let set =
        judged.trial.step.rates.direction(direction).map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
    let [p50, p95, interval] = figures.queueing_delay.map_or_else(
        || [unknown(), unknown(), unknown()],
        |delay| {
            let (low, high) = (delay.p95_low.milliseconds(), delay.p95_high.milliseconds());
            [delay.p50.to_string(), delay.p95.to_string(), format!("{low:.1}–{high:.1} ms")]
        },
    );
    let lost = figures.probe_loss.map_or_else(unknown, percent);
    [lower(direction), set, rate(figures.delivered), p50, p95, interval, lost, verdict(result, judged, direction)]
}

fn verdict(result: &TuningResult, judged: &JudgedTrial, direction: Direction) -> String {
    match judged.discarded {
        Some(Discarded::OtherTraffic) => return "discarded: other traffic".to_owned(),
        Some(Discarded::Interrupted) => return "discarded: interrupted".to_owned(),
        Some(Discarded::Stolen) => return "discarded: CPU steal".to_owned(),
        None => {}
    }
    let number = judged.trial.step.number;
    let tuned = result.directions.get(direction).as_ref();
    let word = match judged.verdicts.get(direction) {
        Some(Verdict::ShaperHolds) => "queue in shaper",
        Some(Verdict::LineHolds) => "queue on line",
        Some(Verdict::NotSaturated) => "not saturated",
        None => "–",
    };
    let chosen = tuned.is_some_and(|tuned| tuned.chosen.is_some_and(|chosen| chosen.trial == number));
    let front = tuned.is_some_and(|tuned| tuned.pareto.iter().any(|point| point.trial == number));
    let mark = if chosen {
        ", recommended"
    } else if front {
        " *"
    } else {
        ""
    };
    format!("{word}{mark}")
}

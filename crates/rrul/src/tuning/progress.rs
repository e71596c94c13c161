//! What a tuning session prints while it runs: a line for each step.

use rrul_analysis::tuning::trial::Trial;
use rrul_model::flow::Direction;
use rrul_model::shaping::{StepPurpose, TuningPlan};

/// The only step of a session that searches for nothing, in one line: what it measures, what was set, and what came of it.
/// A direction without a load is left out.
pub(super) fn subject_line(trial: &Trial, subject: &str) -> String {
    let loaded =
        [Direction::Up, Direction::Down].into_iter().filter(|way| trial.directions.get(*way).delivered.is_some());
    let directions: Vec<String> = loaded.map(|direction| of_direction(trial, direction)).collect();
    format!("{subject}: {}", if directions.is_empty() { "nothing delivered".to_owned() } else { directions.join("; ") })
}

/// One step in one line: what was set, and what came of it.
pub(super) fn trial_line(trial: &Trial, number: usize, plan: &TuningPlan) -> String {
    let of = match plan.most_trials as usize {
        _ if !plan.fixed.is_empty() => format!(" of {}", plan.fixed.len()),
        most if number > most => " (some are repeated)".to_owned(),
        most => format!(" of at most {most}"),
    };
    let judged =
        [Direction::Up, Direction::Down].into_iter().filter(|way| trial.step.direction.is_none_or(|only| only == *way));
    let directions: Vec<String> = judged.map(|direction| of_direction(trial, direction)).collect();
    let purpose = match trial.step.purpose {
        StepPurpose::Reference => "without a shaper: ",
        StepPurpose::Knob => "does the shaper bind? ",
        StepPurpose::Joint => "both together: ",
        StepPurpose::Search | StepPurpose::Fixed => "",
    };
    format!("trial {number}{of}: {purpose}{}", directions.join("; "))
}

fn of_direction(trial: &Trial, direction: Direction) -> String {
    let figures = trial.directions.get(direction);
    let name = direction.select("upload", "download");
    let set = trial.step.rates.direction(direction).map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
    let delivered = figures.delivered.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    let delay =
        figures.queueing_delay.map_or_else(String::new, |delay| format!(", {:+.1} ms", delay.p95.milliseconds()));
    format!("{name} {set}: {delivered} delivered{delay}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::tuning::trial::{TrialDelay, TrialDirection};
    use rrul_model::shaping::{ShaperDescription, ShaperRates, TuningStep};
    use rrul_model::time::TestTime;
    use rrul_model::units::{BitRate, Delay};

    #[test]
    fn a_line_says_what_was_set_and_what_came_of_it() {
        let rates = ShaperRates { down: None, up: Some(BitRate(7_600_000)) };
        let step = TuningStep {
            number: 3,
            purpose: StepPurpose::Search,
            direction: Some(Direction::Up),
            rates,
            set_at: TestTime(0),
            settled_at: TestTime(0),
            ended_at: TestTime(0),
            counters: None,
        };
        let ms = |ms: f64| Delay((ms * 1e6) as i64);
        let (p50, p95, p99) = (ms(1.0), ms(2.1), ms(3.0));
        let delay = TrialDelay { n: 400, p50, p95, p99, p95_low: p50, p95_high: p99 };
        let up = TrialDirection {
            delivered: Some(BitRate(7_412_000)),
            queueing_delay: Some(delay),
            ..TrialDirection::default()
        };
        let down = TrialDirection { delivered: Some(BitRate(19_000_000)), ..TrialDirection::default() };
        let directions = rrul_analysis::by_direction::ByDirection { up, down };
        let mut trial = Trial { step, directions, host_limit: None, stolen_from: None };
        let plan = TuningPlan::new(ShaperDescription::default());
        let line = trial_line(&trial, 4, &plan);
        assert_eq!(line, "trial 4 of at most 14: upload 7.60 Mbit/s: 7.41 Mbit/s delivered, +2.1 ms");
        let line = trial_line(&trial, 15, &plan);
        assert!(line.starts_with("trial 15 (some are repeated): upload 7.60 Mbit/s"), "{line}");
        trial.step.direction = None;
        trial.step.purpose = StepPurpose::Reference;
        trial.step.rates = ShaperRates::UNSHAPED;
        let both = "upload unshaped: 7.41 Mbit/s delivered, +2.1 ms; download unshaped: 19.0 Mbit/s delivered";
        let fixed = TuningPlan { fixed: vec![rates, rates], ..plan };
        assert_eq!(trial_line(&trial, 1, &fixed), format!("trial 1 of 2: without a shaper: {both}"));

        assert_eq!(subject_line(&trial, "class EF alone"), format!("class EF alone: {both}"));
        trial.directions.down.delivered = None;
        let up = "packets of 200 bytes: upload unshaped: 7.41 Mbit/s delivered, +2.1 ms";
        assert_eq!(subject_line(&trial, "packets of 200 bytes"), up);
        trial.directions.up.delivered = None;
        assert_eq!(subject_line(&trial, "all classes together"), "all classes together: nothing delivered");
    }
}

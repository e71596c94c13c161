//! The outcome of a tuning session in one sentence or two.

use rrul_analysis::tuning::result::{Outcome, TunedDirection, TuningResult};
use rrul_model::flow::Direction;

use crate::text::tuning::refusal_words::{refusal, unfinished};
use crate::text::words::{counted, direction_word};

/// A shaper below this part of what the line carries costs rate.
const HELD: f64 = 0.85;

/// What the session amounts to.
pub(crate) fn outcome(result: &TuningResult) -> String {
    match result.outcome {
        Outcome::Recommended => recommended(result),
        Outcome::Varies => {
            let rates = each(result, |direction, tuned| {
                let varying = tuned.varying?;
                Some(format!("{} {} to {}", lower(direction), varying.p10, varying.p90))
            });
            format!(
                "The rate of the line varies ({}, P10 to P90), so no fixed rate is right. Let cake-autorate follow the line.",
                rates.join("; ")
            )
        }
        Outcome::NothingToGain => {
            let delays = each(result, |direction, tuned| {
                let unshaped = tuned.unshaped?;
                Some(format!("{} {} (limit {})", lower(direction), unshaped.p95, tuned.limit?))
            });
            let delays = if delays.is_empty() { String::new() } else { format!(": {} at P95", delays.join(", ")) };
            let held = each(result, |direction, tuned| {
                let (found, carried) = (result.shaper.found?.direction(direction)?, tuned.unshaped?.delivered);
                let is_held = (found.0 as f64) < HELD * carried.0 as f64;
                is_held.then(|| format!("the {} at {found}, and the line carries {carried}", lower(direction)))
            });
            let advice = if held.is_empty() {
                "Leave the shaper as it is.".to_owned()
            } else {
                format!("But the shaper keeps {}: raise its rate, or turn it off.", held.join("; "))
            };
            format!("Nothing to gain: the unshaped line adds little delay{delays}. {advice}")
        }
        Outcome::Refused { refusal: why } => format!("No recommendation. {}", refusal(&why)),
        Outcome::Unfinished { reason } => format!("No recommendation. {}", unfinished(result, reason)),
        Outcome::Measured => {
            format!(
                "{} measured, none searched. * marks trials that no other beats in both rate and delay.",
                counted(result.trials.len(), "setting")
            )
        }
    }
}

fn recommended(result: &TuningResult) -> String {
    let rate = |direction: Direction| {
        result.recommended.direction(direction).map(|rate| format!("{} to {rate}", lower(direction)))
    };
    let rates: Vec<String> = Direction::ALL.into_iter().filter_map(rate).collect();
    if rates.is_empty() {
        return "No rate needs to be set.".to_owned();
    }
    format!("Set {}.", rates.join(" and "))
}

/// What each direction that was tuned has to say.
pub(crate) fn each(result: &TuningResult, say: impl Fn(Direction, &TunedDirection) -> Option<String>) -> Vec<String> {
    let said = |direction: Direction| result.directions.get(direction).as_ref().and_then(|tuned| say(direction, tuned));
    Direction::ALL.into_iter().filter_map(said).collect()
}

pub(crate) fn lower(direction: Direction) -> String {
    direction_word(direction).to_lowercase()
}

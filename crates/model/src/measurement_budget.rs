//! The measurement budget: what all traffic but the load may take of a line, and what was changed to stay within it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Direction;
use crate::units::{BitRate, Share};

/// The budget of one test, set from the surveyed rate of each direction before it began.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasurementBudget {
    /// Client to server; `None` where the rate of the line is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<DirectionBudget>,
    /// Server to client; `None` where the rate of the line is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<DirectionBudget>,
    /// What was changed of the plan; empty when it fits as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<BudgetChange>,
}

impl MeasurementBudget {
    pub fn direction(&self, direction: Direction) -> Option<&DirectionBudget> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectionBudget {
    /// The surveyed rate of the line.
    pub line: BitRate,
    /// The share of it that all traffic but the load may take.
    pub ceiling: Share,
    /// What that traffic would take as the plan has it, IP headers included.
    pub planned: BitRate,
    /// What it is expected to take as it was run.
    pub expected: BitRate,
}

/// One thing that was changed for all flows of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetChange {
    /// Flow type.
    pub flow_type: String,
    /// The parameter that was changed, or `streams`.
    pub parameter: String,
    /// Its value in the plan.
    pub planned: String,
    /// The value used; empty for flows that were left out.
    pub used: String,
}

/// The share that everything but the load may take of a direction of this rate: `share` from 5 Mbit/s up, twice that from
/// 1 Mbit/s, three times that below, where a single voice call is already more than a tenth of the line.
///
/// `line` is a surveyed rate. That of a line sold as 5 Mbit/s may be up to 10 % lower: the survey is an estimate, and headers of
/// the link layer take their part. Such a line counts as one of 5 Mbit/s.
pub fn ceiling(share: Share, line: BitRate) -> Share {
    let factor = match line.0 {
        4_500_000.. => 1.0,
        900_000.. => 2.0,
        _ => 3.0,
    };
    Share((share.0 * factor).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_directions_have_a_higher_ceiling() {
        let share = Share::from_per_mille(50);
        let of = |rate| (ceiling(share, BitRate(rate)).0 * 1000.0).round() as u32;
        assert_eq!([of(5_000_000), of(4_400_000), of(1_000_000), of(890_000)], [50, 100, 100, 150]);
    }

    #[test]
    fn a_survey_that_is_a_little_low_does_not_raise_the_ceiling() {
        let share = Share::from_per_mille(50);
        let of = |rate| (ceiling(share, BitRate(rate)).0 * 1000.0).round() as u32;
        assert_eq!([of(4_520_000), of(905_000)], [50, 100]);
    }
}

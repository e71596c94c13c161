//! The acknowledgements of the load came back: a direction whose way back is full or thins them may be slower for it.

use rrul_model::flow::Direction;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, way};

/// Part of a direction's acknowledgements of which no more is said when it is missing.
const FEW: f64 = 0.10;

/// Fewer acknowledgements than this say nothing.
const LEAST: u64 = 100;

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[ACKS_MISSING], judge };

const ACKS_MISSING: ReasonWord = ReasonWord {
    code: "acks_missing",
    severities: &[Severity::Info],
    when: "over 10 % of the acknowledgements of a direction's load did not arrive: lost on the way back, or thinned by a device",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Some(load) = &evidence.analysis.link_octets.load else { return Vec::new() };
    let of = |direction: Direction| {
        let acknowledgements = load.of(direction).all.acknowledgements.filter(|all| all.sent >= LEAST)?;
        let missing = acknowledgements.thinning.filter(|missing| *missing > FEW)?;
        let text = format!(
            "of the acknowledgements of the {}, {:.0} % did not arrive: they were lost on the way back, or a device there \
             leaves out what later ones make superfluous; load this direction alone to see whether that holds its rate down",
            way(direction),
            missing * 100.0
        );
        Some(ACKS_MISSING.reason(Severity::Info, text))
    };
    Direction::ALL.into_iter().filter_map(of).collect()
}

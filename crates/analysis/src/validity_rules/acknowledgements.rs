//! The ACKs of the load arrived: a direction whose return path is saturated or thins them may be slower for it.

use rrul_model::flow::Direction;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_name, direction_word, share_and_limit};

/// Share of a direction's ACKs that may be missing.
const FEW: f64 = 0.10;

/// Fewer ACKs than this are not judged.
const LEAST: u64 = 100;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[ACKS_MISSING], judge };

const ACKS_MISSING: ReasonWord = ReasonWord {
    code: "acks_missing",
    severities: &[Severity::Info],
    when: "over 10 % of the ACKs of a direction's load did not arrive: lost on the return path, or thinned by a device",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let Some(load) = &evidence.analysis.link_octets.load else { return Vec::new() };
    let of = |direction: Direction| {
        let acknowledgements = load.direction(direction).all.acknowledgements.filter(|all| all.sent >= LEAST)?;
        let missing = acknowledgements.thinning.filter(|missing| *missing > FEW)?;
        let text = format!(
            "{} misses ACKs ({}): they were lost on the {} path, or a device thins them. Load this direction alone to \
             see whether that limits its rate.",
            direction_word(direction),
            share_and_limit(missing, FEW),
            direction_name(direction.opposite())
        );
        Some(ACKS_MISSING.reason(Severity::Info, text))
    };
    Direction::ALL.into_iter().filter_map(of).collect()
}

//! Whether the plan was changed to keep the measurement small beside the load, and whether that was enough.

use rrul_model::flow::Direction;
use rrul_model::measurement_budget::BudgetChange;
use rrul_model::units::{BitRate, Share};

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, way};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[MEASUREMENT_FITTED, MEASUREMENT_TOO_LARGE], judge };

const MEASUREMENT_FITTED: ReasonWord = ReasonWord {
    code: "measurement_fitted",
    severities: &[Severity::Info],
    when: "the plan was changed so that everything but the load stays within the measurement budget",
};

const MEASUREMENT_TOO_LARGE: ReasonWord = ReasonWord {
    code: "measurement_too_large",
    severities: &[Severity::Info],
    when: "everything but the load took more than the measurement budget under load",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let overhead = &evidence.analysis.measurement_overhead;
    let mut reasons = Vec::new();
    if !overhead.changes.is_empty() {
        let limits: Vec<String> = Direction::ALL
            .into_iter()
            .filter_map(|direction| {
                let of = overhead.of(direction);
                let (ceiling, line) = (Share(of.ceiling?), BitRate(of.line_bps?));
                Some(format!("{ceiling} of a {} of {line}", way(direction)))
            })
            .collect();
        let changes: Vec<String> = overhead.changes.iter().map(change).collect();
        let text = format!("Measurement kept within {}: {}.", limits.join(", "), changes.join(", "));
        reasons.push(MEASUREMENT_FITTED.reason(Severity::Info, text));
    }
    for direction in Direction::ALL {
        let of = overhead.of(direction);
        let Some((share, ceiling)) = of.share.zip(of.ceiling).filter(|(share, ceiling)| share > ceiling) else {
            continue;
        };
        let text = format!(
            "Measurement took {:.1} % of the {} under load, more than the {} allowed: the line is slower than the survey found, \
             or the load did not fill it.",
            100.0 * share,
            way(direction),
            Share(ceiling),
        );
        reasons.push(MEASUREMENT_TOO_LARGE.reason(Severity::Info, text));
    }
    reasons
}

fn change(change: &BudgetChange) -> String {
    let BudgetChange { flow_type, parameter, planned, used } = change;
    if used.is_empty() {
        return format!("{flow_type} {parameter} {planned} left out");
    }
    format!("{flow_type} {parameter} {used} (planned {planned})")
}

//! Whether the plan was changed to limit the measurement overhead, and whether that was enough.

use rrul_model::flow::Direction;
use rrul_model::measurement_budget::BudgetChange;
use rrul_model::units::{BitRate, Share};

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_name};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[MEASUREMENT_FITTED, MEASUREMENT_TOO_LARGE], judge };

const MEASUREMENT_FITTED: ReasonWord = ReasonWord {
    code: "measurement_fitted",
    severities: &[Severity::Info],
    when: "the plan was changed to keep the measurement overhead within its budget",
};

const MEASUREMENT_TOO_LARGE: ReasonWord = ReasonWord {
    code: "measurement_too_large",
    severities: &[Severity::Info],
    when: "the measurement overhead exceeded its budget under load",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let overhead = &evidence.analysis.measurement_overhead;
    let mut reasons = Vec::new();
    if !overhead.changes.is_empty() {
        let limits: Vec<String> = Direction::ALL
            .into_iter()
            .filter_map(|direction| {
                let of = overhead.direction(direction);
                let (ceiling, line) = (Share(of.ceiling?), BitRate(of.line_bps?));
                Some(format!("{ceiling} of {line} {}", direction_name(direction)))
            })
            .collect();
        let changes: Vec<String> = overhead.changes.iter().map(change).collect();
        let text =
            format!("Measurement overhead limited to {}. Changed: {}.", limits.join(" and "), changes.join(", "));
        reasons.push(MEASUREMENT_FITTED.reason(Severity::Info, text));
    }
    for direction in Direction::ALL {
        let of = overhead.direction(direction);
        let Some((share, ceiling)) = of.share.zip(of.ceiling).filter(|(share, ceiling)| share > ceiling) else {
            continue;
        };
        let text = format!(
            "Measurement overhead took {:.1} % of the {} under load (limit {}). The line is slower than the survey found, or \
             not saturated: rerun when the line is otherwise idle.",
            100.0 * share,
            direction_name(direction),
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

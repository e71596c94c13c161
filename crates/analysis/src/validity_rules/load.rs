//! Every direction that was to be loaded was.

use rrul_model::flow::Direction;

use crate::metrics::goodput;
use crate::metrics::start_spread::receiver;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host, way};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NO_LOAD], judge };

const NO_LOAD: ReasonWord = ReasonWord {
    code: "no_load",
    severities: &[Severity::Invalid],
    when: "a direction that the plan loads received no octet in the load phase",
};

/// Every direction that was to be loaded was.
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Evidence { recording, analysis, .. } = *evidence;
    let unloaded = Direction::ALL.into_iter().filter(|direction| {
        let goodput = analysis.goodput(*direction);
        !goodput.flows.is_empty() && goodput.octets.0 == 0
    });
    unloaded
        .map(|direction| {
            let (way, host) = (way(direction), host(receiver(direction)));
            let why = if goodput::was_counted(recording, direction) {
                format!("the {host} received nothing while the load was to run; look for flows that failed")
            } else {
                format!("the recording holds no count of octets from the {host}; run the test to its end")
            };
            NO_LOAD.reason(Severity::Invalid, format!("no {way}: {why}"))
        })
        .collect()
}

//! Every direction that the plan loads was loaded.

use rrul_model::flow::Direction;
use rrul_model::observation::receiver;

use crate::metrics::rate::goodput;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NO_LOAD], judge };

const NO_LOAD: ReasonWord = ReasonWord {
    code: "no_load",
    severities: &[Severity::Invalid],
    when: "a direction that the plan loads received no byte in phase load",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let JudgedRun { recording, analysis, .. } = *evidence;
    let unloaded = Direction::ALL.into_iter().filter(|direction| {
        let goodput = analysis.goodput(*direction);
        !goodput.flows.is_empty() && goodput.octets.0 == 0
    });
    unloaded
        .map(|direction| {
            let (word, host) = (direction_word(direction), receiver(direction).name());
            let text = if goodput::was_counted(recording, direction) {
                format!(
                    "{word} carried no load: the {host} received 0 bytes in phase load. Check for flows that failed."
                )
            } else {
                format!(
                    "{word} has no load: the recording contains no byte counts of the {host}. Run the test to its end."
                )
            };
            NO_LOAD.reason(Severity::Invalid, text)
        })
        .collect()
}

//! Some test packet was answered.

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NO_REPLIES], judge };

const NO_REPLIES: ReasonWord = ReasonWord {
    code: "no_replies",
    severities: &[Severity::Invalid],
    when: "the plan has probes and none was answered, or none was sent",
};

/// Some test packet was answered.
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let loss = analysis.loss;
    if analysis.delay_flows.is_empty() || loss.sent > loss.lost {
        return Vec::new();
    }
    let text = match loss.sent {
        0 => "no test packet was sent and waited for, so no delay is known; look for flows that failed, or run the \
              test to its end"
            .to_owned(),
        sent => format!(
            "none of {sent} test packets was answered; check that firewalls let UDP pass between this host and the \
             server's port, both ways"
        ),
    };
    vec![NO_REPLIES.reason(Severity::Invalid, text)]
}

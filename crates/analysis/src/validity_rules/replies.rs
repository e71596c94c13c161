//! Some test packet was answered, in every family.

use rrul_model::flow::{AddressFamily, Direction};

use crate::analysis::Loss;
use crate::join::UDP_PROBE;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NO_REPLIES, UDP_BLOCKED], judge };

const NO_REPLIES: ReasonWord = ReasonWord {
    code: "no_replies",
    severities: &[Severity::Invalid],
    when: "the plan has probes and none was answered, or none was sent",
};

const UDP_BLOCKED: ReasonWord = ReasonWord {
    code: "udp_blocked",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "no probe was answered although the load got through (doubt: in one family, while those of the other were). Rates stand, \
        delays and losses do not",
};

/// Some test packet was answered.
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let loss = analysis.loss;
    if analysis.delay_flows.is_empty() {
        return Vec::new();
    }
    if loss.sent > loss.lost {
        let silent = AddressFamily::ALL.into_iter().filter(|family| is_silent(evidence, *family));
        return silent.map(|family| blocked(Severity::Doubt, &format!("over {family}"))).collect();
    }
    let loaded = Direction::ALL.into_iter().any(|direction| analysis.goodput(direction).octets.0 > 0);
    // A probe flow greets the server first, and fails when nothing comes back.
    let unheard = analysis.failed_flows.iter().any(|failed| failed.flow.flow_type == UDP_PROBE);
    if loaded && (loss.sent > 0 || unheard) {
        return vec![blocked(Severity::Invalid, "at all")];
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

/// Whether probes were sent over this family, and none was answered.
fn is_silent(evidence: &Evidence<'_>, family: AddressFamily) -> bool {
    let flows = evidence.analysis.delay_flows.iter();
    let ours = flows.filter(|entry| entry.flow.flow_type == UDP_PROBE && entry.flow.family == family);
    let all = ours.fold(Loss::default(), |sum, entry| Loss {
        sent: sum.sent + entry.loss.sent,
        lost: sum.lost + entry.loss.lost,
    });
    all.sent > 0 && all.lost == all.sent
}

fn blocked(severity: Severity, how: &str) -> Reason {
    let text = format!(
        "UDP does not get through {how}: no test packet was answered, while TCP was; the delays of the test are missing, check \
         that firewalls let UDP pass between this host and the server's port, both ways"
    );
    UDP_BLOCKED.reason(severity, text)
}

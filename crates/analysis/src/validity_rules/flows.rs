//! Every flow ran, in every family.

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[FLOW_FAILED, FLOW_ABSENT, FAMILY_ABSENT], judge };

const FLOW_FAILED: ReasonWord = ReasonWord {
    code: "flow_failed",
    severities: &[Severity::Doubt],
    when: "a flow could not be set up or ended early",
};

const FLOW_ABSENT: ReasonWord = ReasonWord {
    code: "flow_absent",
    severities: &[Severity::Info],
    when: "ICMP echo never began: the spec rules it out as a method, and many systems allow it to privileged users only; or \
        the client's host has no resolver to be asked, in that family, or no browser",
};

const FAMILY_ABSENT: ReasonWord = ReasonWord {
    code: "family_absent",
    severities: &[Severity::Info],
    when: "a family was expected and is not available; the spec asks for both where both are",
};

/// Every flow ran, in every family.
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let failed = analysis
        .failed_flows
        .iter()
        .map(|entry| FLOW_FAILED.reason(Severity::Doubt, format!("{} failed: {}", entry.flow.name, entry.reason)));
    // Several flows that are absent for one reason are told once.
    let mut absent: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in &analysis.absent_flows {
        match absent.iter_mut().find(|(reason, _)| *reason == entry.reason) {
            Some((_, names)) => names.push(&entry.flow.name),
            None => absent.push((&entry.reason, vec![&entry.flow.name])),
        }
    }
    let absent = absent.into_iter().map(|(reason, names)| {
        let are = if names.len() == 1 { "is" } else { "are" };
        FLOW_ABSENT.reason(Severity::Info, format!("{} {are} absent: {reason}", names.join(", ")))
    });
    // The spec asks for both families where both are available; which are is a property of the network.
    let families = analysis.absent_families.iter().map(|entry| {
        FAMILY_ABSENT.reason(Severity::Info, format!("{} was not tested: {}", entry.family, entry.reason))
    });
    failed.chain(absent).chain(families).collect()
}

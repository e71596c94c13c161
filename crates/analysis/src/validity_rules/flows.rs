//! Every flow ran, in every family.

use crate::flow_label::FlowLabel;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, family_word, sentence};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[FLOW_FAILED, FLOW_ABSENT, FAMILY_ABSENT], judge };

const FLOW_FAILED: ReasonWord = ReasonWord {
    code: "flow_failed",
    severities: &[Severity::Doubt],
    when: "a flow could not be set up or ended early",
};

const FLOW_ABSENT: ReasonWord = ReasonWord {
    code: "flow_absent",
    severities: &[Severity::Info],
    when: "ICMP echo did not run: the spec rules it out as a method, and many systems allow it to privileged users only; or \
        the client has no DNS resolver in that family, or no browser",
};

const FAMILY_ABSENT: ReasonWord = ReasonWord {
    code: "family_absent",
    severities: &[Severity::Info],
    when: "a family was expected and is not available; the spec asks for both where both are",
};

/// Names a flow that is alone of its type, and counts those that are not: names of many would hide the cause.
fn by_type(flows: &[&FlowLabel]) -> String {
    let mut types: Vec<Vec<&FlowLabel>> = Vec::new();
    for flow in flows {
        match types.iter_mut().find(|alike| alike[0].kind() == flow.kind()) {
            Some(alike) => alike.push(flow),
            None => types.push(vec![flow]),
        }
    }
    let words = types.into_iter().map(|alike| match alike.as_slice() {
        [one] => one.name.clone(),
        many => format!("{} ({} flows)", many[0].flow_type, many.len()),
    });
    words.collect::<Vec<String>>().join(", ")
}

/// Every flow ran, in every family.
fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let failed = analysis.failed_flows.iter().map(|entry| {
        let what = sentence(&format!("{} failed: {}", entry.flow.name, entry.reason));
        FLOW_FAILED.reason(Severity::Doubt, format!("{what} Its figures are incomplete: fix the cause and rerun."))
    });
    // One reason for all flows that are absent for the same cause.
    let mut absent: Vec<(&str, Vec<&FlowLabel>)> = Vec::new();
    for entry in &analysis.absent_flows {
        match absent.iter_mut().find(|(reason, _)| *reason == entry.reason) {
            Some((_, flows)) => flows.push(&entry.flow),
            None => absent.push((&entry.reason, vec![&entry.flow])),
        }
    }
    let absent = absent.into_iter().map(|(reason, flows)| {
        FLOW_ABSENT.reason(Severity::Info, sentence(&format!("{} did not run: {reason}", by_type(&flows))))
    });
    // The spec asks for both families where both are available; which are is a property of the network.
    let families = analysis.test.absent_families.iter().map(|entry| {
        let what = format!("{} was not tested: {}", family_word(entry.family), entry.reason);
        FAMILY_ABSENT.reason(Severity::Info, sentence(&what))
    });
    failed.chain(absent).chain(families).collect()
}

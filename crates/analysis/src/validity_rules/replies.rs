//! Some test packet was answered, in every family.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::FlowEventKind;
use rrul_model::recording::FORMER_FORMAT;

use crate::flow_label::FlowLabel;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, family_word};

/// How recordings of format 1, which have no event for it, begin the failure of a flow whose UDP greeting was not answered.
const UNANSWERED_IN_FORMAT_1: &str = "no answer over UDP";

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NO_REPLIES, UDP_BLOCKED], judge };

const NO_REPLIES: ReasonWord = ReasonWord {
    code: "no_replies",
    severities: &[Severity::Invalid],
    when: "the plan has probes and none was answered, or none was sent",
};

const UDP_BLOCKED: ReasonWord = ReasonWord {
    code: "udp_blocked",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "no UDP probe was answered, nor a greeting before it, although other traffic got through (doubt: in one family only). \
        Rates are valid, what UDP measures is missing",
};

/// Some test packet was answered.
fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let loss = analysis.loss.round_trips;
    if analysis.round_trip_delay.flows.is_empty() {
        return Vec::new();
    }
    let families = AddressFamily::ALL.into_iter().filter_map(|family| Some((family, is_silent(evidence, family)?)));
    let (silent, heard): (Vec<_>, Vec<_>) = families.partition(|(_, silent)| *silent);
    if !heard.is_empty() {
        let each = silent.into_iter();
        return each.map(|(family, _)| blocked(Severity::Doubt, Some(family))).collect();
    }
    let loaded = Direction::ALL.into_iter().any(|direction| analysis.goodput(direction).octets.0 > 0);
    let answered = loss.sent > loss.lost;
    if !silent.is_empty() && (loaded || answered) {
        return vec![blocked(Severity::Invalid, None)];
    }
    if answered {
        return Vec::new();
    }
    let text = match loss.sent {
        0 => "No test packet was sent, so no delay is known. Check for flows that failed, or run the test to its end."
            .to_owned(),
        sent => format!("None of {sent} test packets was answered. {LET_UDP_THROUGH}"),
    };
    vec![NO_REPLIES.reason(Severity::Invalid, text)]
}

/// Whether UDP over this family was met with silence: no probe was answered, or no greeting, which each flow sends before
/// its probes. `None` when that was not tried, or nothing came of it.
fn is_silent(evidence: &JudgedRun<'_>, family: AddressFamily) -> Option<bool> {
    let ours = |label: &FlowLabel| label.kind() == FlowKind::UdpProbe && label.family == family;
    let flows: Vec<_> = evidence.analysis.round_trip_delay.flows.iter().filter(|entry| ours(&entry.flow)).collect();
    let sent: u64 = flows.iter().map(|entry| entry.loss.sent).sum();
    let lost: u64 = flows.iter().map(|entry| entry.loss.lost).sum();
    let is_former = evidence.recording.header.format == FORMER_FORMAT;
    let unanswered = evidence.recording.events().any(|(_, event)| {
        let old = is_former && event.event == FlowEventKind::Failed && event.detail.starts_with(UNANSWERED_IN_FORMAT_1);
        let flow = (event.event == FlowEventKind::Unanswered || old).then(|| evidence.recording.flow(event.flow));
        flow.flatten().is_some_and(|flow| flow.kind() == FlowKind::UdpProbe && flow.family == family)
    });
    (sent > 0 || unanswered).then_some(sent == lost)
}

const LET_UDP_THROUGH: &str = "Let UDP to the server's port through all firewalls.";

fn blocked(severity: Severity, family: Option<AddressFamily>) -> Reason {
    let over = family.map_or_else(String::new, |family| format!(" over {}", family_word(family)));
    let text =
        format!("UDP is blocked{over}: no test packet was answered, but other traffic got through. {LET_UDP_THROUGH}");
    UDP_BLOCKED.reason(severity, text)
}

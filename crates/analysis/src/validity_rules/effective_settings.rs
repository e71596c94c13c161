//! The kernels did what the plan asks for.

use std::collections::BTreeSet;

use rrul_model::observation::sender;
use rrul_model::recording::Recording;

use crate::packets::effective_settings;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_name};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[CONGESTION_CONTROL, MARKING_REFUSED], judge };

const CONGESTION_CONTROL: ReasonWord = ReasonWord {
    code: "congestion_control",
    severities: &[Severity::Doubt],
    when: "streams of the load were sent with another congestion control than the plan asks for (`congestion_control`, else `cubic`), as their sender's kernel reports. Unprivileged users may use those of sysctl `net.ipv4.tcp_allowed_congestion_control`",
};

const MARKING_REFUSED: ReasonWord = ReasonWord {
    code: "marking_refused",
    severities: &[Severity::Doubt],
    when: "the kernel of either host applies another DSCP to a flow than its class has. ECN bits are not compared: on a TCP socket they are the kernel's own",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    congestion_control(evidence.recording).into_iter().chain(marking(evidence.recording)).collect()
}

/// The load was sent with the congestion control that the plan asks for.
fn congestion_control(recording: &Recording) -> Option<Reason> {
    let replaced = effective_settings::replaced_congestion_control(recording);
    let streams = replaced.iter().map(|(kind, count)| {
        let direction = direction_name(kind.direction);
        let streams = if *count == 1 { "stream" } else { "streams" };
        let effective = kind.effective.as_deref().unwrap_or("an unknown algorithm");
        format!("{count} {direction} {streams} used {effective} instead of {}", kind.asked)
    });
    let streams: Vec<String> = streams.collect();
    let asked: BTreeSet<&str> = replaced.keys().map(|kind| &*kind.asked).collect();
    let asked = Vec::from_iter(asked).join(" and ");
    let hosts: BTreeSet<&str> = replaced.keys().map(|kind| sender(kind.direction).name()).collect();
    let hosts = Vec::from_iter(hosts).join(" and the ");
    let text = format!(
        "{}. Queues fill differently: allow {asked} on the {hosts} (sysctl net.ipv4.tcp_allowed_congestion_control).",
        streams.join(", ")
    );
    (!replaced.is_empty()).then(|| CONGESTION_CONTROL.reason(Severity::Doubt, text))
}

/// Packets left with the code point of their class.
fn marking(recording: &Recording) -> Option<Reason> {
    let effective_settings::Unmarked { flow, point, asked, octet, flows } = effective_settings::unmarked(recording)?;
    let others = if flows == 1 { String::new() } else { format!(" (first of {flows} such flows)") };
    let host = point.name();
    let text = format!(
        "{flow} leaves the {host} with DSCP {} instead of {asked}{others}. Classes do not compare: check for a container or \
         policy on the {host} that overrides IP_TOS or IPV6_TCLASS.",
        octet >> 2
    );
    Some(MARKING_REFUSED.reason(Severity::Doubt, text))
}

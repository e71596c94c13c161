//! The kernels did what the plan asks for.

use std::collections::BTreeSet;

use rrul_model::flow::Direction;
use rrul_model::recording::Recording;

use crate::in_force;
use crate::metrics::start_spread::sender;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[CONGESTION_CONTROL, MARKING_REFUSED], judge };

const CONGESTION_CONTROL: ReasonWord = ReasonWord {
    code: "congestion_control",
    severities: &[Severity::Doubt],
    when: "streams of the load were sent with another congestion control than the plan asks for (`congestion_control`, else `cubic`), as their sender's kernel told it. Unprivileged users may use those of sysctl `net.ipv4.tcp_allowed_congestion_control`",
};

const MARKING_REFUSED: ReasonWord = ReasonWord {
    code: "marking_refused",
    severities: &[Severity::Doubt],
    when: "the kernel of either end has another DSCP in force for a flow than its class has. ECN bits are not compared: on a TCP socket they are the kernel's own",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    congestion_control(evidence.recording).into_iter().chain(marking(evidence.recording)).collect()
}

/// The load was sent with the congestion control that the plan asks for.
fn congestion_control(recording: &Recording) -> Option<Reason> {
    let replaced = in_force::replaced_congestion_control(recording);
    let streams = replaced.iter().map(|(kind, count)| {
        let direction = match kind.direction {
            Direction::Up => "upload",
            Direction::Down => "download",
        };
        let streams = if *count == 1 { "stream was" } else { "streams were" };
        let in_force = kind.in_force.as_deref().unwrap_or("a congestion control that is not known");
        format!("{count} {direction} {streams} sent with {in_force} instead of {}", kind.asked)
    });
    let streams: Vec<String> = streams.collect();
    let asked: BTreeSet<&str> = replaced.keys().map(|kind| &*kind.asked).collect();
    let asked = Vec::from_iter(asked).join(" and ");
    let hosts: BTreeSet<&str> = replaced.keys().map(|kind| host(sender(kind.direction))).collect();
    let hosts = Vec::from_iter(hosts).join(" and the ");
    let text = format!(
        "{}, so queues were not filled as {asked} fills them; allow {asked} on the {hosts}: sysctl \
         net.ipv4.tcp_allowed_congestion_control",
        streams.join(", ")
    );
    (!replaced.is_empty()).then(|| CONGESTION_CONTROL.reason(Severity::Doubt, text))
}

/// Packets left with the code point of their class.
fn marking(recording: &Recording) -> Option<Reason> {
    let in_force::Unmarked { flow, point, asked, octet, flows } = in_force::unmarked(recording)?;
    let which = match flows {
        1 => flow,
        _ => format!("{flow}, the first of {flows} such flows,"),
    };
    let text = format!(
        "{which} leaves the {} with DSCP {} where {asked} was asked for, so classes do not compare; look for a container \
         or a policy there that overrides IP_TOS and IPV6_TCLASS",
        host(point),
        octet >> 2
    );
    Some(MARKING_REFUSED.reason(Severity::Doubt, text))
}

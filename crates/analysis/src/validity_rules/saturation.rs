//! Every direction that was to be full was, and it was the network that held its streams.

use rrul_model::flow::Direction;

use crate::metrics::start_spread::{receiver, sender};
use crate::metrics::stream_limits::Limits;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host, way, weight};

/// Part of their busy time that senders may be held back by a host where the line was not full.
const INVALID: f64 = 0.10;

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NOT_SATURATED, HOST_LIMITED], judge };

const NOT_SATURATED: ReasonWord = ReasonWord {
    code: "not_saturated",
    severities: &[Severity::Doubt],
    when: "a direction that the plan loads was at no time [saturated](#saturation), and that is known",
};

const HOST_LIMITED: ReasonWord = ReasonWord {
    code: "host_limited",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "a direction was not saturated, and its senders were held back by the receiver's window or by their own buffers for \
        over 10 % (doubt: 5 %) of their busy time, or had nothing to send, or too little (app-limited), for as much of the time",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    Direction::ALL.into_iter().flat_map(|direction| of(evidence, direction)).collect()
}

fn of(evidence: &Evidence<'_>, direction: Direction) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let known_not_to_be = analysis.saturation.of(direction).is_some_and(|found| found.saturated == Some(false));
    // A direction that received nothing has a reason of its own.
    if !known_not_to_be || analysis.goodput(direction).octets.0 == 0 {
        return Vec::new();
    }
    let limits = &analysis.stream_limits.of(direction).pooled;
    let mut reasons: Vec<Reason> = limited(limits, direction).into_iter().collect();
    let text = format!(
        "the {} never filled the line: it brought {}, and no queue, mark or loss showed a bottleneck while its rate was \
         steady; figures under load are not of a loaded line. Use more streams, a longer load or a nearer server",
        way(direction),
        analysis.goodput(direction).sum
    );
    reasons.push(NOT_SATURATED.reason(Severity::Doubt, text));
    reasons
}

/// The host that held the senders back most.
fn limited(limits: &Limits, direction: Direction) -> Option<Reason> {
    let (sender, receiver) = (host(sender(direction)), host(receiver(direction)));
    let causes = [
        (
            limits.rwnd_limited,
            format!("the receive window of the {receiver}"),
            format!("raise net.ipv4.tcp_rmem on the {receiver}"),
        ),
        (
            limits.sndbuf_limited,
            format!("the send buffers of the {sender}"),
            format!("raise net.ipv4.tcp_wmem on the {sender}"),
        ),
        (
            limits.idle,
            format!("the {sender}, which had nothing to send,"),
            format!("stop other programs on the {sender}"),
        ),
        (
            limits.app_limited,
            format!("the {sender}, which had less to send than its window allowed,"),
            format!("stop other programs on the {sender}"),
        ),
    ];
    let (share, cause, remedy) = causes
        .into_iter()
        .filter_map(|(share, cause, remedy)| Some((share?, cause, remedy)))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let text = format!(
        "the {} was held back by {cause} {:.0} % of the time, not by the network; {remedy}",
        way(direction),
        share * 100.0
    );
    weight(share, INVALID).map(|severity| HOST_LIMITED.reason(severity, text))
}

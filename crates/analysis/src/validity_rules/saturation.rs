//! Every direction that was to be full was, and it was the network that held its streams.

use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::metrics::saturation::AckStarvation;
use crate::metrics::start_spread::{receiver, sender};
use crate::metrics::stream_limits::Limits;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, direction_word, host, way, weight};

/// Part of their busy time that senders may be held back by a host where the line was not full.
const INVALID: f64 = 0.10;

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NOT_SATURATED, ACK_STARVATION, HOST_LIMITED], judge };

const NOT_SATURATED: ReasonWord = ReasonWord {
    code: "not_saturated",
    severities: &[Severity::Doubt],
    when: "a direction that the plan loads was at no time [saturated](#saturation), and that is known",
};

const ACK_STARVATION: ReasonWord = ReasonWord {
    code: "ack_starvation",
    severities: &[Severity::Info],
    when: "a direction was not saturated because its [acknowledgements](#saturation) waited in the other direction's queue. A \
        finding about the line and no doubt: no `not_saturated` beside it",
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
    if let Some(starved) = analysis.saturation.of(direction).and_then(|found| found.ack_starvation) {
        return vec![ACK_STARVATION.reason(Severity::Info, ack_starvation(&starved, direction))];
    }
    let limits = &analysis.stream_limits.of(direction).pooled;
    let mut reasons: Vec<Reason> = limited(limits, direction).into_iter().collect();
    let text = format!(
        "{} was never saturated ({}, no queue, loss or mark while its rate was steady). Figures under load are not those of a \
         loaded line. Use more streams, a longer load or a nearer server.",
        direction_word(direction),
        analysis.goodput(direction).sum
    );
    reasons.push(NOT_SATURATED.reason(Severity::Doubt, text));
    reasons
}

fn ack_starvation(starved: &AckStarvation, direction: Direction) -> String {
    let (this, other) = (direction_word(direction), direction_word(direction.opposite()).to_lowercase());
    let wait = Delay(starved.queueing_delay_ns);
    let rate =
        starved.acknowledgements_per_second.map_or_else(String::new, |rate| format!(" ({rate:.0} a second arrive)"));
    format!(
        "{this} did not fill the line: its acknowledgments wait {wait} in the {other} queue{rate}. Shape the {other} to \
         shorten that queue."
    )
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

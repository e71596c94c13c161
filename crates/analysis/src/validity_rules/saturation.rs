//! Every loaded direction was saturated, and the network limited its streams.

use rrul_model::flow::Direction;
use rrul_model::observation::{receiver, sender};
use rrul_model::units::{Delay, Share};

use crate::metrics::rate::saturation::AckStarvation;
use crate::metrics::tcp::stream_limits::Limits;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word, weight};

/// Share of their busy time that a host may limit senders where the line was not saturated.
const INVALID: f64 = 0.10;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[NOT_SATURATED, ACK_STARVATION, HOST_LIMITED], judge };

const NOT_SATURATED: ReasonWord = ReasonWord {
    code: "not_saturated",
    severities: &[Severity::Doubt],
    when: "a direction that the plan loads was at no time [saturated](#saturation), and that is known",
};

const ACK_STARVATION: ReasonWord = ReasonWord {
    code: "ack_starvation",
    severities: &[Severity::Info],
    when: "a direction was not saturated because its [ACKs](#saturation) waited in the other direction's queue. A \
        finding about the line and no doubt: it replaces `not_saturated`",
};

const HOST_LIMITED: ReasonWord = ReasonWord {
    code: "host_limited",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "a direction was not saturated, and its senders were limited by the receiver's window or by their own buffers for \
        over 10 % (doubt: 5 %) of their busy time, or had nothing to send, or too little (app-limited), for as long",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    Direction::ALL.into_iter().flat_map(|direction| reasons(evidence, direction)).collect()
}

fn reasons(evidence: &JudgedRun<'_>, direction: Direction) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let known_not_to_be = analysis.saturation.direction(direction).is_some_and(|found| found.saturated == Some(false));
    // A direction that received nothing has a reason of its own.
    if !known_not_to_be || analysis.goodput(direction).octets.0 == 0 {
        return Vec::new();
    }
    if let Some(starved) = analysis.saturation.direction(direction).and_then(|found| found.ack_starvation) {
        return vec![ACK_STARVATION.reason(Severity::Info, ack_starvation(&starved, direction))];
    }
    let limits = &analysis.stream_limits.direction(direction).pooled;
    let mut reasons: Vec<Reason> = limited(limits, direction).into_iter().collect();
    let text = format!(
        "{} was never saturated ({}, no queue, loss or mark). Figures under load are not those of a loaded line: use more \
         streams (--set streams=8), a longer load or a nearer server.",
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
        starved.acknowledgements_per_second.map_or_else(String::new, |rate| format!(" ({rate:.0} ACKs/s arrive)"));
    format!(
        "{this} was not saturated: its ACKs wait {wait} in the {other} queue{rate}. Shape the {other} to shorten that queue."
    )
}

/// The host that held the senders back most.
fn limited(limits: &Limits, direction: Direction) -> Option<Reason> {
    let (sender, receiver) = (sender(direction).name(), receiver(direction).name());
    let causes = [
        (
            limits.rwnd_limited,
            format!("the {receiver}'s receive window"),
            format!("Raise net.ipv4.tcp_rmem on the {receiver}"),
        ),
        (
            limits.sndbuf_limited,
            format!("the {sender}'s send buffers"),
            format!("Raise net.ipv4.tcp_wmem on the {sender}"),
        ),
        (
            limits.idle,
            format!("the {sender}, which had nothing to send,"),
            format!("Stop other programs on the {sender}"),
        ),
        (
            limits.app_limited,
            format!("the {sender}, which sent less than its window allows,"),
            format!("Stop other programs on the {sender}"),
        ),
    ];
    let (share, cause, remedy) = causes
        .into_iter()
        .filter_map(|(share, cause, remedy)| Some((share?, cause, remedy)))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let text = format!(
        "{} was limited by {cause} {:.0} % of the time (limit {}), not by the network. {remedy}.",
        direction_word(direction),
        share * 100.0,
        Share(INVALID / 2.0)
    );
    weight(share, INVALID).map(|severity| HOST_LIMITED.reason(severity, text))
}

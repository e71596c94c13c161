//! Why no rates are recommended: what happened, the figures with their limits, and what to do.

use rrul_analysis::tuning::result::{Caution, Refusal, TuningResult, Unfinished};
use rrul_analysis::tuning::trial::{HostLimit, QueueHop};
use rrul_model::units::BitRate;

use crate::text::words::{direction_word, percent};

/// More than this part of the rate that was set is too much for a shaper in the path.
const BINDING: f64 = 1.03;

/// Why no rates are recommended, in two sentences or three.
pub(crate) fn refusal(refusal: &Refusal) -> String {
    match *refusal {
        Refusal::DirectionsSwapped { direction, set, delivered, other } => format!(
            "The shaper's directions are swapped: with {} set to {set}, it still delivered {delivered}, and {} fell to {other}. \
             Swap the two rates or interfaces; use --outside if this host is on the Internet side of the shaper.",
            lower(direction),
            lower(direction.opposite()),
        ),
        Refusal::NotInPath { direction, set, delivered } => format!(
            "{} does not pass the shaper: set to {set}, {delivered} arrived (at most {} would). Turn off flow offloading, and check \
             the shaper's interface and the ingress redirect.",
            direction_word(direction),
            scaled(set, BINDING),
        ),
        Refusal::CountedTwice { direction, set, delivered } => format!(
            "{} passes the shaper twice: set to {set}, only {delivered} arrived. Remove the second shaper or redirect, and tune \
             again. Without one, the router is too slow to shape this rate.",
            direction_word(direction),
        ),
        Refusal::QueueElsewhere { direction, set, p95, limit, hop } => format!(
            "{} queues elsewhere: {}, the queueing delay stayed at {p95} at P95 (limit {limit}). {}",
            direction_word(direction),
            set.map_or_else(|| "without a shaper".to_owned(), |set| format!("shaped to {set}")),
            queue_place(hop),
        ),
        Refusal::LossLimited { direction, delivered, loss } => format!(
            "{} loses {} of its packets at any rate, so the load never saturates the line ({delivered}). A shaper cannot cure that: \
             look for the loss in Wi-Fi, cable or modem.",
            direction_word(direction),
            percent(loss),
        ),
        Refusal::HostLimited { direction, set, delivered, limit } => format!(
            "{} is limited by a host: {}, {delivered} arrived{}. {}",
            direction_word(direction),
            set.map_or_else(|| "without a shaper".to_owned(), |set| format!("set to {set}")),
            if limit.is_some_and(HostLimit::is_decisive) { "" } else { ", and no queue was seen" },
            host_words(limit),
        ),
        Refusal::NotMeasured { direction } => format!(
            "{} was not measured: nothing arrived, or no probe did. Check that a firewall lets UDP and TCP port 7785 pass, and tune again.",
            direction_word(direction),
        ),
        Refusal::Disturbed { direction } => format!(
            "Other traffic disturbed every repetition of a trial ({}). Tune again when nothing else uses the line.",
            lower(direction),
        ),
        Refusal::NoRatePasses { direction, set, percentile, delay, limit } => format!(
            "No {} rate keeps the queueing delay within {limit}: at {set}, the smallest that was tried, it is {delay} at \
             P{percentile}. Allow more, for example --delay {}ms, or look for another queue with rrul run.",
            lower(direction),
            (delay.milliseconds() * 1.5).ceil(),
        ),
    }
}

/// Why the search has no answer.
pub(crate) fn unfinished(result: &TuningResult, reason: Unfinished) -> &'static str {
    let stolen = result.cautions.iter().any(|caution| matches!(caution, Caution::Stolen { .. }));
    match reason {
        Unfinished::Trials if stolen => {
            "A hypervisor took processor time from a host again and again, and the trials were used up. Tune between computers with \
             processors of their own, or allow more trials with --max-time 9m."
        }
        Unfinished::Trials => {
            "The search used up its trials without an answer. Tune again on an idle line, or allow more trials with --max-time 9m."
        }
        Unfinished::Time => "The time was up before the search ended. Allow more with --max-time.",
        Unfinished::Data => "The search would have taken more data than it may. Allow more with --max-data.",
        Unfinished::Interrupted => "The session was interrupted before the search ended. Tune again.",
    }
}

fn queue_place(hop: Option<QueueHop>) -> String {
    let Some(QueueHop { hop, address, before_shaper }) = hop else {
        return "Its place is unknown: check Wi-Fi, this host and the server, or trace the path with rrul run."
            .to_owned();
    };
    let at = address.map_or_else(|| format!("hop {hop}"), |address| format!("hop {hop} ({address})"));
    if before_shaper {
        format!("The queue is before {at}, on this side of the shaper: use a cable or better Wi-Fi, then tune again.")
    } else {
        format!(
            "The queue is before {at}, where the shaper does not control it: check Wi-Fi and cable, and that the shaper is on the \
             interface to the line."
        )
    }
}

fn host_words(limit: Option<HostLimit>) -> &'static str {
    match limit {
        Some(HostLimit::ClientProcessor) => {
            "This host's processors were busy: close other programs, or use a faster host."
        }
        Some(HostLimit::ServerProcessor) => "The server's processors were busy: use a faster server.",
        Some(HostLimit::ClientQuota) => {
            "This host's CPU quota stopped it again and again: raise the quota of its control group, or use another host."
        }
        Some(HostLimit::ServerQuota) => {
            "The server's CPU quota stopped it again and again: raise the quota of its control group, or use another server."
        }
        Some(HostLimit::RouterProcessor) => {
            "The router's processors were busy: it cannot shape this rate; use a simpler discipline or a faster router."
        }
        Some(HostLimit::ReceiveWindow) => {
            "A receiver's window held it back: raise net.ipv4.tcp_rmem, or use more streams."
        }
        Some(HostLimit::SendBuffer) => "A sender's buffer held it back: raise net.ipv4.tcp_wmem, or use more streams.",
        None => "Use a server that is nearer or faster, or more streams.",
    }
}

fn lower(direction: rrul_model::flow::Direction) -> String {
    direction_word(direction).to_lowercase()
}

fn scaled(rate: BitRate, by: f64) -> BitRate {
    BitRate((rate.0 as f64 * by) as u64)
}

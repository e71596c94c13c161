//! Test packets left when they were due, and left at all.

use rrul_model::units::Delay;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, share_and_limit};

/// Send lateness that is worth a doubt: 99th percentile.
const LATE_P99: Delay = Delay(2_000_000);
/// Send lateness that is worth a doubt: 99.9th percentile.
const LATE_P99_9: Delay = Delay(10_000_000);
/// Share of a flow's due packets that is worth a doubt when they were not sent.
const SKIPPED: f64 = 0.01;
/// Packets from which on the 99.9th percentile says more than that one packet was late (ln 0.05 / ln 0.999).
const PACKETS_FOR_P99_9: u64 = 2994;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SEND_LATE, PACKETS_SKIPPED], judge };

const SEND_LATE: ReasonWord = ReasonWord {
    code: "send_late",
    severities: &[Severity::Doubt, Severity::Info],
    when: "send lateness above 2 ms at P99, or 10 ms at P99.9 of 2994 packets or more (info: half of either)",
};

const PACKETS_SKIPPED: ReasonWord = ReasonWord {
    code: "packets_skipped",
    severities: &[Severity::Doubt, Severity::Info],
    when: "over 1 % of the packets due in a probe flow (sent and skipped) were skipped (info: any). The missing packets are those due when the client was busiest",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    lateness(evidence).into_iter().chain(skipped(evidence)).collect()
}

/// Test packets left when they were due.
///
/// A doubt and no more: delay is measured from when a packet really left, so lateness spoils the even spacing of the
/// sample and not its values. Half the limit is worth knowing.
fn lateness(evidence: &JudgedRun<'_>) -> Option<Reason> {
    let statistics = evidence.analysis.send_lateness?;
    let (p99, p99_9) = (statistics.p99?, evidence.lateness_p99_9?);
    let enough = statistics.n >= PACKETS_FOR_P99_9;
    let over = |part: i64| p99.0 > LATE_P99.0 / part || enough && p99_9.0 > LATE_P99_9.0 / part;
    let severity = match () {
        () if over(1) => Severity::Doubt,
        () if over(2) => Severity::Info,
        () => return None,
    };
    let text = format!(
        "Test packets left late: P99 {p99} (limit {LATE_P99}), P99.9 {p99_9} (limit {LATE_P99_9}). Stop other programs on \
         the client, or allow rrul real-time scheduling."
    );
    Some(SEND_LATE.reason(severity, text))
}

/// Test packets left at all. What is missing is missing where the host was busiest, so the sample is not an even one.
fn skipped(evidence: &JudgedRun<'_>) -> Option<Reason> {
    let flows = evidence.analysis.round_trip_delay.flows.iter().filter(|entry| entry.skipped.packets > 0);
    let worst = flows.max_by(|a, b| a.skipped.share().total_cmp(&b.skipped.share()))?;
    let severity = if worst.skipped.share() > SKIPPED { Severity::Doubt } else { Severity::Info };
    let text = format!(
        "The client stalled: {} of {} test packets of {} were not sent ({}). Stop other programs on the client, or allow \
         rrul real-time scheduling.",
        worst.skipped.packets,
        worst.skipped.due,
        worst.flow.name,
        share_and_limit(worst.skipped.share(), SKIPPED)
    );
    Some(PACKETS_SKIPPED.reason(severity, text))
}

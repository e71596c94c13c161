//! The server is near enough.

use rrul_model::flow::AddressFamily;

use crate::metrics::delay::server_distance::{FARTHEST_SERVER, nearest};
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, family_word};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SERVER_FAR], judge };

const SERVER_FAR: ReasonWord = ReasonWord {
    code: "server_far",
    severities: &[Severity::Doubt],
    when: "the smallest idle round-trip delay in a family is over 80 ms (spec, Test Requirements)",
};

/// The server is near enough in each family, by the smallest idle round-trip delay of any of its probes.
fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    AddressFamily::ALL
        .into_iter()
        .filter_map(|family| {
            let nearest = nearest(&analysis.round_trip_delay.flows, family).filter(|delay| *delay > FARTHEST_SERVER)?;
            let text = format!(
                "The server is {nearest} away over {} (limit {FARTHEST_SERVER}). Path delay hides queueing delay and slows \
                 saturation: use a nearer server.",
                family_word(family)
            );
            Some(SERVER_FAR.reason(Severity::Doubt, text))
        })
        .collect()
}

//! The rules that say whether a recording deserves trust, by concern. docs/metrics.md lists their reasons.

mod acknowledgements;
mod baseline;
mod browser;
mod cached_metrics;
mod distance;
mod effective_settings;
mod flows;
mod host_drops;
mod imported;
mod load;
mod measurement_budget;
mod path_mtu;
mod processors;
mod punctuality;
mod recording;
mod replies;
mod saturation;
mod server_shared;
mod steadiness;
mod voice;

use rrul_model::flow::Direction;

use crate::measured::Measured;
use crate::validity::{Confidence, Reason, ReasonWord, Validity};
use crate::validity_rule::{JudgedRun, ValidityRule};

/// All of them, in the order of docs/metrics.md.
pub(crate) const RULES: &[ValidityRule] = &[
    path_mtu::RULE,
    load::RULE,
    saturation::RULE,
    steadiness::RULE,
    baseline::RULE,
    server_shared::RULE,
    replies::RULE,
    processors::RULE,
    browser::RULE,
    host_drops::RULE,
    recording::RULE,
    imported::RULE,
    flows::RULE,
    distance::RULE,
    punctuality::RULE,
    effective_settings::RULE,
    voice::RULE,
    acknowledgements::RULE,
    cached_metrics::RULE,
    measurement_budget::RULE,
];

/// Returns every reason, in the order of docs/metrics.md.
pub fn reason_words() -> impl Iterator<Item = &'static ReasonWord> {
    RULES.iter().flat_map(|rule| rule.words)
}

/// The verdict of all rules.
pub(crate) fn judge(evidence: &JudgedRun<'_>) -> Validity {
    let mut reasons: Vec<Reason> = RULES.iter().flat_map(|rule| (rule.judge)(evidence)).collect();
    if evidence.recording.header.tuning.is_none() {
        return Validity::new(reasons, confidence(evidence.analysis));
    }
    // A tuning session changes the load in each step, and judges each step by itself.
    let steady_load = || saturation::RULE.words.iter().chain(steadiness::RULE.words);
    reasons.retain(|reason| steady_load().all(|word| word.code != reason.code));
    Validity::new(reasons, None)
}

/// What saturation and stationarity are worth; `None` when nothing was to load.
fn confidence(analysis: &Measured) -> Option<Confidence> {
    let loaded = || Direction::ALL.into_iter().filter_map(|direction| analysis.saturation.direction(direction));
    loaded().next()?;
    // A direction whose acknowledgments are late is as loaded as this line can be in both at once.
    let saturated = loaded().all(|found| found.saturated == Some(true) || found.ack_starvation.is_some());
    Some(match (saturated, analysis.stationarity.whole()) {
        (true, Some(true)) => Confidence::High,
        (true, _) => Confidence::Medium,
        (false, _) => Confidence::Low,
    })
}

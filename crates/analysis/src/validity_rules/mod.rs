//! The rules that say whether a recording deserves trust, by concern. docs/metrics.md lists their reasons.

mod acknowledgements;
mod baseline;
mod browser;
mod cached_metrics;
mod distance;
mod flows;
mod host_drops;
mod imported;
mod in_force;
mod load;
mod measurement_budget;
mod processors;
mod punctuality;
mod recording;
mod replies;
mod saturation;
mod steadiness;
mod voice;

use crate::validity_rule::ValidityRule;

/// All of them, in the order of docs/metrics.md.
pub(crate) const RULES: &[ValidityRule] = &[
    load::RULE,
    saturation::RULE,
    steadiness::RULE,
    baseline::RULE,
    replies::RULE,
    processors::RULE,
    browser::RULE,
    host_drops::RULE,
    recording::RULE,
    imported::RULE,
    flows::RULE,
    distance::RULE,
    punctuality::RULE,
    in_force::RULE,
    voice::RULE,
    acknowledgements::RULE,
    cached_metrics::RULE,
    measurement_budget::RULE,
];

//! Neither host was short of CPU time (RRUL spec, Test Requirements).

use rrul_model::observation::ObservationPoint;
use rrul_model::units::Share;

use crate::metrics::host::processor_load::ProcessorLoad;
use crate::metrics::host::processor_load::{SATURATED, STOLEN};
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, weight};

/// Share of the load phase's seconds with too little CPU time that makes a recording invalid.
const INVALID: f64 = 0.10;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SATURATED_CORE, STOLEN_TIME, UNKNOWN], judge };

const SATURATED_CORE: ReasonWord = ReasonWord {
    code: "processor_saturated",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "a CPU core that the test needs was over 95 % busy in over 10 % (doubt: 5 %) of the load's seconds",
};

const STOLEN_TIME: ReasonWord = ReasonWord {
    code: "processor_stolen",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "the hypervisor took over 5 % of a CPU core in over 10 % (doubt: 5 %) of the load's seconds",
};

const UNKNOWN: ReasonWord =
    ReasonWord { code: "processor_unknown", severities: &[Severity::Info], when: "a host recorded no CPU load" };

/// Neither host was short of CPU time (RRUL spec, Test Requirements).
fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = point.name();
        let Some(load) = evidence.analysis.processor.iter().find(|load| load.point == point) else {
            let text = format!(
                "CPU load of the {host} was not recorded. It may not have kept up: check it with another tool, such as top."
            );
            reasons.push(UNKNOWN.reason(Severity::Info, text));
            continue;
        };
        let ProcessorLoad { saturated, stolen, .. } = *load;
        reasons.extend(weight(saturated, INVALID).map(|severity| {
            let text = format!(
                "A CPU core of the {host} that the test needs was over {} busy in {:.0} % of the load (limit {}). Stop other \
                 programs on the {host}, or use a faster one.",
                Share(SATURATED),
                saturated * 100.0,
                Share(INVALID / 2.0)
            );
            SATURATED_CORE.reason(severity, text)
        }));
        reasons.extend(weight(stolen, INVALID).map(|severity| {
            let text = format!(
                "The hypervisor took over {} of a CPU core of the {host} in {:.0} % of the load (limit {}). Use a host with \
                 dedicated CPUs.",
                Share(STOLEN),
                stolen * 100.0,
                Share(INVALID / 2.0)
            );
            STOLEN_TIME.reason(severity, text)
        }));
    }
    reasons
}

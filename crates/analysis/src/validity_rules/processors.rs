//! Neither host was short of processor time (RRUL spec, Test Requirements).

use rrul_model::observation::ObservationPoint;

use crate::analysis::ProcessorLoad;
use crate::metrics::processor_load::{SATURATED, STOLEN};
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host, weight};

/// Share of the load phase's seconds with too little processor time that makes a recording invalid.
const INVALID: f64 = 0.10;

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SATURATED_CORE, STOLEN_TIME, UNKNOWN], judge };

const SATURATED_CORE: ReasonWord = ReasonWord {
    code: "processor_saturated",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "a core that the test needed was over 95 % busy in over 10 % (doubt: 5 %) of the load's seconds",
};

const STOLEN_TIME: ReasonWord = ReasonWord {
    code: "processor_stolen",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "the hypervisor took over 5 % of some core in over 10 % (doubt: 5 %) of the load's seconds",
};

const UNKNOWN: ReasonWord =
    ReasonWord { code: "processor_unknown", severities: &[Severity::Info], when: "a host recorded no processor load" };

/// Neither host was short of processor time (RRUL spec, Test Requirements).
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = host(point);
        let Some(load) = evidence.analysis.processor.iter().find(|load| load.point == point) else {
            let text = format!("the processor load of the {host} is not known, so it is not known to have kept up");
            reasons.push(UNKNOWN.reason(Severity::Info, text));
            continue;
        };
        let ProcessorLoad { saturated, stolen, .. } = *load;
        reasons.extend(weight(saturated, INVALID).map(|severity| {
            let text = format!(
                "a processor core of the {host} that the test needed was over {:.0} % busy in {:.0} % of the load's \
                 seconds; stop other programs there, or use a faster host",
                SATURATED * 100.0,
                saturated * 100.0
            );
            SATURATED_CORE.reason(severity, text)
        }));
        reasons.extend(weight(stolen, INVALID).map(|severity| {
            let text = format!(
                "the hypervisor took over {:.0} % of a processor core of the {host} in {:.0} % of the load's seconds; \
                 use a host with processors of its own",
                STOLEN * 100.0,
                stolen * 100.0
            );
            STOLEN_TIME.reason(severity, text)
        }));
    }
    reasons
}

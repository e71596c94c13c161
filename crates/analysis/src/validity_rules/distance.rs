//! The server is near enough.

use rrul_model::flow::AddressFamily;
use rrul_model::units::Delay;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// Largest distance to a server that the test is made for: RRUL spec, Test Requirements.
const FARTHEST_SERVER: Delay = Delay(80_000_000);

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SERVER_FAR], judge };

const SERVER_FAR: ReasonWord = ReasonWord {
    code: "server_far",
    severities: &[Severity::Doubt],
    when: "the smallest idle round-trip delay in a family is over 80 ms (spec, Test Requirements)",
};

/// The server is near enough in each family, by the smallest idle round-trip delay of any of its probes.
fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let nearest = |family: AddressFamily| {
        let flows = analysis.delay_flows.iter().filter(|entry| entry.flow.family == family);
        flows.filter_map(|entry| entry.delays.idle?.min).min()
    };
    AddressFamily::ALL
        .into_iter()
        .filter_map(|family| {
            let nearest = nearest(family).filter(|delay| *delay > FARTHEST_SERVER)?;
            let text = format!(
                "the server is {nearest} away over {family}, farther than {FARTHEST_SERVER}: streams take long to \
                 fill the line, and delay of the distance hides that of queues; use a nearer server"
            );
            Some(SERVER_FAR.reason(Severity::Doubt, text))
        })
        .collect()
}

//! The server was this test's alone while its load ran.

use rrul_model::observation::ObservationPoint;
use rrul_model::phase::Phase;
use rrul_model::units::Share;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule};

/// Part of the load's bytes that other sessions of the server may move meanwhile.
const OTHERS: f64 = 0.01;

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[SERVER_SHARED], judge };

const SERVER_SHARED: ReasonWord = ReasonWord {
    code: "server_shared",
    severities: &[Severity::Doubt],
    when: "other sessions of the server moved over 1 % of the bytes of this test's load while that ran",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    share(evidence)
        .filter(|share| *share > OTHERS)
        .map(|share| {
            let text = format!(
                "Other tests used the server meanwhile: they moved {} of the bytes of this load (limit {}). Rates read low and \
                 delays high: run tests one after another, as `rrul server` has them without --egress.",
                Share(share),
                Share(OTHERS)
            );
            SERVER_SHARED.reason(Severity::Doubt, text)
        })
        .into_iter()
        .collect()
}

/// What others moved under load, of what this test did; `None` where the server does not say.
fn share(evidence: &JudgedRun<'_>) -> Option<f64> {
    let JudgedRun { recording, analysis, .. } = *evidence;
    let load = recording.phase(Phase::Load)?;
    let rows = recording.tables_of(ObservationPoint::Server).flat_map(|tables| tables.other_sessions.rows());
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable_by_key(|row| row.at);
    // From the last reading before the load to the last within it: what is counted was counted up to a second before.
    let before = rows.iter().rev().find(|row| row.at <= load.from).map_or(0, |row| row.octets);
    let last = rows.iter().rev().find(|row| load.contains(row.at))?.octets;
    let own = analysis.link_octets.load.as_ref()?.both.carried_octets;
    (own > 0).then(|| last.saturating_sub(before) as f64 / own as f64)
}

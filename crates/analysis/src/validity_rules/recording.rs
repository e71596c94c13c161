//! The recording is whole.

use std::collections::BTreeSet;

use rrul_model::observation::ObservationPoint;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[PARTIAL, FRAMES_MISSING, OBSERVATIONS_DROPPED], judge };

const PARTIAL: ReasonWord = ReasonWord {
    code: "partial",
    severities: &[Severity::Doubt],
    when: "the run was interrupted, or the file breaks off",
};

const FRAMES_MISSING: ReasonWord = ReasonWord {
    code: "frames_missing",
    severities: &[Severity::Doubt],
    when: "frames of a host are missing from the recording",
};

const OBSERVATIONS_DROPPED: ReasonWord = ReasonWord {
    code: "observations_dropped",
    severities: &[Severity::Doubt],
    when: "a host could not keep up with recording",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    partial(evidence).into_iter().chain(frames(evidence)).collect()
}

/// The recording is complete.
fn partial(evidence: &Evidence<'_>) -> Option<Reason> {
    let why = evidence.analysis.partial.as_ref()?;
    let text = format!("the recording is not complete: {why}; the numbers cover what there is of it");
    Some(PARTIAL.reason(Severity::Doubt, text))
}

/// No observation was lost on its way into the recording.
fn frames(evidence: &Evidence<'_>) -> Vec<Reason> {
    let recording = evidence.recording;
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = host(point);
        let numbers: BTreeSet<u32> = recording.frames_of(point).map(|frame| frame.number).collect();
        let Some(last) = numbers.last() else {
            let text = format!("nothing that the {host} observed is in the recording");
            reasons.push(FRAMES_MISSING.reason(Severity::Doubt, text));
            continue;
        };
        let expected = u64::from(*last) + 1;
        let missing = expected - numbers.len() as u64;
        if missing > 0 {
            let text = format!(
                "{missing} of {expected} frames of the {host} are missing; what happened in them counts as loss"
            );
            reasons.push(FRAMES_MISSING.reason(Severity::Doubt, text));
        }
        let dropped = recording.frames_of(point).fold(0_u64, |sum, frame| sum.saturating_add(frame.dropped));
        if dropped > 0 {
            let text = format!(
                "the {host} had to drop {dropped} observations because it could not keep up with recording; stop \
                 other programs there"
            );
            reasons.push(OBSERVATIONS_DROPPED.reason(Severity::Doubt, text));
        }
    }
    reasons
}

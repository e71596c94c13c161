//! The recording is complete.

use std::collections::BTreeSet;

use rrul_model::observation::ObservationPoint;

use crate::validity::{PARTIAL, Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, sentence};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[CUT_SHORT, FRAMES_MISSING, OBSERVATIONS_DROPPED], judge };

const CUT_SHORT: ReasonWord = ReasonWord {
    code: PARTIAL,
    severities: &[Severity::Doubt],
    when: "the run was interrupted, or the file is cut off",
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

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    partial(evidence).into_iter().chain(frames(evidence)).collect()
}

fn partial(evidence: &JudgedRun<'_>) -> Option<Reason> {
    let why = evidence.analysis.test.partial.as_ref()?;
    let what = sentence(&format!("The recording is incomplete: {why}"));
    let text = format!("{what} Figures cover the recorded part only: rerun the test to its end.");
    Some(CUT_SHORT.reason(Severity::Doubt, text))
}

/// No observation was lost on its way into the recording.
fn frames(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let recording = evidence.recording;
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = point.name();
        let numbers: BTreeSet<u32> = recording.frames_of(point).map(|frame| frame.number).collect();
        let Some(last) = numbers.last() else {
            let text = format!("The recording contains nothing that the {host} observed. Run the test to its end.");
            reasons.push(FRAMES_MISSING.reason(Severity::Doubt, text));
            continue;
        };
        let written = recording.end.as_ref().and_then(|end| end.frames(point)).map_or(0, u64::from);
        let expected = written.max(u64::from(*last) + 1);
        let missing = expected - numbers.len() as u64;
        if missing > 0 {
            let text = format!(
                "{missing} of {expected} frames of the {host} are missing from the recording. Packets in them count as lost: \
                 rerun the test."
            );
            reasons.push(FRAMES_MISSING.reason(Severity::Doubt, text));
        }
        let dropped = recording.frames_of(point).fold(0_u64, |sum, frame| sum.saturating_add(frame.dropped));
        if dropped > 0 {
            let text = format!(
                "The {host} dropped {dropped} observations because recording could not keep up. Stop other programs on the \
                 {host}."
            );
            reasons.push(OBSERVATIONS_DROPPED.reason(Severity::Doubt, text));
        }
    }
    reasons
}

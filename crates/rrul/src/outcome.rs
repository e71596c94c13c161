//! What the exit code says of a result.

use rrul_analysis::Analysis;
use rrul_analysis::tuning::result::Outcome as Tuned;
use rrul_analysis::validity::Verdict;
use rrul_model::shaping::ShaperRates;

/// What a run means to whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A valid result, or whatever was asked for was done.
    Good,
    /// A result with doubts, or with flows that failed.
    Doubtful,
}

impl Outcome {
    pub(crate) fn of(analysis: &Analysis) -> Self {
        let good = match analysis.tuning() {
            // A session judges each of its steps, and its answer is what was asked for.
            Some(tuning) => match tuning.outcome {
                Tuned::Recommended | Tuned::NothingToGain | Tuned::Measured => true,
                Tuned::Varies => tuning.recommended != ShaperRates::UNSHAPED,
                Tuned::Refused { .. } | Tuned::Unfinished { .. } => false,
            },
            None => analysis.validity.verdict == Verdict::Valid,
        };
        if good { Self::Good } else { Self::Doubtful }
    }
}

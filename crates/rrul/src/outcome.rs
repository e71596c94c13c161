//! What the exit code says of a result.

use rrul_analysis::Analysis;
use rrul_analysis::validity::Verdict;

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
        if analysis.validity.verdict == Verdict::Valid { Self::Good } else { Self::Doubtful }
    }
}

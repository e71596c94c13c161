//! Whether the numbers of a recording deserve trust, with reasons that a user can act on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict over a whole recording: the worst of its reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No validity issues found.
    #[default]
    Valid,
    /// The figures may be wrong; the reasons say which and why.
    Doubtful,
    /// The figures say nothing about the network.
    Invalid,
}

/// How well figures under load represent the loaded line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The load is not known to have been the most that the line carries, or the recording is invalid.
    Low,
    /// The load was the most that the line carries, but is not known to have been stationary.
    Medium,
    /// Every loaded direction was [saturated](#saturation), or kept from it by its late ACKs, and everything was
    /// [stationary](#stationarity).
    High,
}

/// The code of the reason that the run was interrupted, or that the file is cut off.
pub const PARTIAL: &str = "partial";

/// How much a reason weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Does not change the verdict.
    Info,
    /// Makes the recording doubtful.
    Doubt,
    /// Makes the recording invalid.
    Invalid,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Doubt => "doubt",
            Self::Invalid => "invalid",
        }
    }
}

/// What a code means: one line of the list in docs/metrics.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasonWord {
    pub code: &'static str,
    /// How much it may weigh, the heaviest first.
    pub severities: &'static [Severity],
    pub when: &'static str,
}

/// One thing to know about a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Stable name of a reason, listed below.
    pub code: &'static str,
    /// What the reason means for the verdict.
    pub severity: Severity,
    /// Two sentences at most: what happened, with its figure and limit; what to do.
    pub text: String,
}

impl Reason {
    /// Returns the first sentence: what happened, complete in itself.
    pub fn headline(&self) -> &str {
        self.sentences().0
    }

    /// Returns the rest: what follows from it and what to do; empty where the headline is all.
    pub fn detail(&self) -> &str {
        self.sentences().1
    }

    /// The first sentence ends at the first period or question mark that an uppercase letter follows.
    fn sentences(&self) -> (&str, &str) {
        let text = self.text.trim();
        let ends = text.match_indices(['.', '?']).map(|(at, _)| at + 1);
        let mut splits = ends.map(|end| text.split_at(end)).filter(|(_, rest)| rest.starts_with(' '));
        let split = splits.find(|(_, rest)| rest.trim_start().starts_with(char::is_uppercase));
        split.map_or((text, ""), |(first, rest)| (first, rest.trim_start()))
    }
}

/// Whether the numbers deserve trust.
///
/// A run can complete and its figures still say little about the network: the hosts lacked CPU time, the line was never
/// saturated, other traffic used it. Each reason has a sentence for people and a code for programs.
///
/// Lateness alone never makes a recording invalid: delay is measured from when a packet really left, so lateness
/// changes the spacing of the sample and not its values.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(title = "Validity")]
pub struct Validity {
    /// The most severe of the reasons.
    ///
    /// Source: spec, Test Requirements.
    pub verdict: Verdict,
    /// How well figures under load represent the loaded line. Null when the plan has no load.
    ///
    /// Source: draft-ietf-ippm-responsiveness.
    pub confidence: Option<Confidence>,
    /// Every reason, the most severe first.
    pub reasons: Vec<Reason>,
}

impl Validity {
    /// The verdict that follows from these reasons, and the confidence that the load gives.
    ///
    /// Figures of an invalid recording deserve none.
    pub fn new(mut reasons: Vec<Reason>, confidence: Option<Confidence>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.severity));
        let verdict = match reasons.first().map(|reason| reason.severity) {
            None | Some(Severity::Info) => Verdict::Valid,
            Some(Severity::Doubt) => Verdict::Doubtful,
            Some(Severity::Invalid) => Verdict::Invalid,
        };
        let confidence = confidence.map(|found| if verdict == Verdict::Invalid { Confidence::Low } else { found });
        Self { verdict, confidence, reasons }
    }
}

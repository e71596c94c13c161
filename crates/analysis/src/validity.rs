//! Whether the numbers of a recording deserve trust, with reasons that a user can act on.

use serde::Serialize;

/// The verdict over a whole recording: the worst of its reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing speaks against the numbers.
    #[default]
    Valid,
    /// The numbers may be off; the reasons say which and why.
    Doubtful,
    /// The numbers say nothing about the network.
    Invalid,
}

/// How much a reason weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; takes nothing from the numbers.
    Info,
    /// Makes the recording doubtful.
    Doubt,
    /// Makes the recording invalid.
    Invalid,
}

/// One thing to know about a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A stable name for programs, such as `server_far`; docs/metrics.md lists all.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// What it is, for people, with what can be done.
    pub text: String,
}

/// Whether the numbers deserve trust.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Validity {
    /// The worst of the reasons.
    pub verdict: Verdict,
    /// Every reason, the heaviest first.
    pub reasons: Vec<Reason>,
}

impl Validity {
    /// The verdict that follows from these reasons.
    pub fn of(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.severity));
        let verdict = match reasons.first().map(|reason| reason.severity) {
            None | Some(Severity::Info) => Verdict::Valid,
            Some(Severity::Doubt) => Verdict::Doubtful,
            Some(Severity::Invalid) => Verdict::Invalid,
        };
        Self { verdict, reasons }
    }
}

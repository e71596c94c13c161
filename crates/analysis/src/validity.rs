//! Whether the numbers of a recording deserve trust, with reasons that a user can act on.

use serde::{Deserialize, Serialize};

use crate::metric_word::{MetricGroup, MetricWord};
use crate::validity_rules::RULES;

/// The words for the verdict.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Validity",
    path: "validity",
    about: "A run may go well and its numbers still say little about the network: the hosts were short of processor \
        time, the line was never full, something else used it. What speaks against the numbers is said in words, and in \
        codes for programs.\n\n\
        Lateness alone never makes a recording invalid: delay is measured from when a packet really left, so lateness \
        spoils the even spacing of the sample and not its values.",
    words: &[
        MetricWord {
            name: "verdict",
            about: "`valid`, `doubtful` or `invalid`: the worst of the reasons",
            unit: "",
            source: "spec, Test Requirements",
        },
        MetricWord {
            name: "confidence",
            about: "how well figures under load stand for the loaded line: `high` when every direction that was loaded was \
                [saturated](#saturation) and all is [stationary](#stationarity), `medium` when saturated only, `low` when not \
                known to be saturated, or invalid; `null` when nothing was to load",
            unit: "",
            source: "draft-ietf-ippm-responsiveness",
        },
        MetricWord { name: "reasons[].code", about: "stable name of a reason; all stand below", unit: "", source: "" },
        MetricWord {
            name: "reasons[].severity",
            about: "`info` takes nothing from the verdict, `doubt` makes it doubtful, `invalid` invalid",
            unit: "",
            source: "",
        },
        MetricWord { name: "reasons[].text", about: "what it is and what can be done", unit: "", source: "" },
    ],
};

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

/// How well figures under load stand for the loaded line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A direction that was to be full is not known to have been.
    Low,
    /// The line was full, and its rate or delay did not stay, or is not known to have.
    Medium,
    /// The line was full, and rate and delay stayed what they were.
    High,
}

/// How much a reason weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; takes nothing from the numbers.
    Info,
    /// Makes the recording doubtful.
    Doubt,
    /// Makes the recording invalid.
    Invalid,
}

impl Severity {
    /// Its name in data.
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
    /// The stable name.
    pub code: &'static str,
    /// How much it may weigh, the heaviest first.
    pub severities: &'static [Severity],
    /// When it is said.
    pub when: &'static str,
}

/// Every reason that there is, in the order of docs/metrics.md.
pub fn reason_words() -> impl Iterator<Item = &'static ReasonWord> {
    RULES.iter().flat_map(|rule| rule.words)
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
    /// How well figures under load stand for the loaded line; `None` when nothing was to load.
    pub confidence: Option<Confidence>,
    /// Every reason, the heaviest first.
    pub reasons: Vec<Reason>,
}

impl Validity {
    /// The verdict that follows from these reasons, and the confidence that the load gives.
    ///
    /// Figures of an invalid recording deserve none.
    pub fn of(mut reasons: Vec<Reason>, confidence: Option<Confidence>) -> Self {
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

//! What a rule of validity is: it looks at a recording and its numbers, and reports their validity issues.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::recording::Recording;
use rrul_model::units::{Delay, Share};

use crate::measured::Measured;
use crate::validity::{Reason, ReasonWord, Severity};

/// The data to judge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedRun<'a> {
    pub(crate) recording: &'a Recording,
    /// The numbers, complete but for the verdict.
    pub(crate) analysis: &'a Measured,
    /// The 99.9th percentile of the send lateness.
    pub(crate) lateness_p99_9: Option<Delay>,
}

/// The rules of one concern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValidityRule {
    /// Every reason that it may give.
    pub(crate) words: &'static [ReasonWord],
    /// The reasons that it gives here; silent where the recording does not hold what it looks at.
    pub(crate) judge: fn(&JudgedRun<'_>) -> Vec<Reason>,
}

impl ReasonWord {
    /// This reason, of this weight, in these words.
    pub(crate) fn reason(&self, severity: Severity, text: String) -> Reason {
        debug_assert!(self.severities.contains(&severity), "{} is never {severity:?}", self.code);
        Reason { code: self.code, severity, text }
    }
}

/// Doubtful from half of what makes a recording invalid; the limits themselves do not count.
pub(crate) fn weight(value: f64, invalid_above: f64) -> Option<Severity> {
    match value {
        value if value > invalid_above => Some(Severity::Invalid),
        value if value > invalid_above / 2.0 => Some(Severity::Doubt),
        _ => None,
    }
}

/// A direction as the subject of a sentence.
pub(crate) fn direction_word(direction: Direction) -> &'static str {
    direction.select("Upload", "Download")
}

/// A direction in a sentence.
pub(crate) fn direction_name(direction: Direction) -> &'static str {
    direction.select("upload", "download")
}

/// A family in a sentence.
pub(crate) fn family_word(family: AddressFamily) -> &'static str {
    match family {
        AddressFamily::Ipv4 => "IPv4",
        AddressFamily::Ipv6 => "IPv6",
    }
}

/// `text` as one sentence: with its period.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// A share with its limit: `12 %, limit 5 %`.
pub(crate) fn share_and_limit(share: f64, limit: f64) -> String {
    // As many decimals as the limit needs.
    let decimals = match limit {
        limit if limit < 0.01 => 2,
        limit if limit < 0.02 => 1,
        _ => 0,
    };
    format!("{:.decimals$} %, limit {}", share * 100.0, Share(limit))
}

//! The recording is of rrul, or says what another program's lacks.

use rrul_model::flow::Direction;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[COUNTED_AT_SENDER, IMPORTED], judge };

const COUNTED_AT_SENDER: ReasonWord = ReasonWord {
    code: "counted_at_sender",
    severities: &[Severity::Doubt],
    when: "the recording is of another program that counted a direction's octets where they were sent: what waited in the sender's \
        buffers is in the rates, which may be above what the line carries",
};

const IMPORTED: ReasonWord = ReasonWord {
    code: "imported",
    severities: &[Severity::Info],
    when: "the recording is of another program: says what it does not hold, or what less is known of",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let Some(imported) = &evidence.recording.header.imported else { return Vec::new() };
    let tool = &imported.tool;
    let counted = imported.counted_at_sender.iter().map(|direction| {
        let rates = match direction {
            Direction::Up => "upload rates",
            Direction::Down => "download rates",
        };
        let text = format!(
            "{rates} of {tool} are the sender's count, socket buffers included: they may be above what the line carries, most \
             at the beginning; over the whole load they are off by no more than the buffers hold"
        );
        COUNTED_AT_SENDER.reason(Severity::Doubt, text)
    });
    let about = format!(
        "measured by {tool}: markings on arrival, octets on the link, lateness and processors were not recorded, and TCP \
         counters no more than the chart of TCP shows"
    );
    let notes = imported.notes.iter().map(|note| format!("{tool}: {note}"));
    counted.chain(std::iter::once(about).chain(notes).map(|text| IMPORTED.reason(Severity::Info, text))).collect()
}

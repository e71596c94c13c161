//! Who measured, and what recordings of other programs do not contain.

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word, sentence};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[COUNTED_AT_SENDER, IMPORTED], judge };

const COUNTED_AT_SENDER: ReasonWord = ReasonWord {
    code: "counted_at_sender",
    severities: &[Severity::Doubt],
    when: "another program measured, and counted a direction's bytes at the sender: rates include what waited in the sender's \
        buffers, and may exceed what the line carries",
};

const IMPORTED: ReasonWord = ReasonWord {
    code: "imported",
    severities: &[Severity::Info],
    when: "another program measured: names what its recording does not contain, or contains in less detail",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let Some(imported) = &evidence.recording.header.imported else { return Vec::new() };
    let tool = &imported.tool;
    let counted = imported.counted_at_sender.iter().map(|direction| {
        let text = format!(
            "{} rates of {tool} are counted at the sender, socket buffers included, and may exceed the line's rate. The \
             excess is largest at the start: use the mean over the whole load.",
            direction_word(*direction)
        );
        COUNTED_AT_SENDER.reason(Severity::Doubt, text)
    });
    let about = format!(
        "Measured by {tool}, which records no markings on arrival, bytes on the link, send lateness or CPU load. TCP \
         counters are those of the TCP chart only."
    );
    let notes = imported.notes.iter().map(|note| sentence(&format!("{tool}: {note}")));
    counted.chain(std::iter::once(about).chain(notes).map(|text| IMPORTED.reason(Severity::Info, text))).collect()
}

//! At most three notes: that the run was cut short, the other validity issues, then findings, then what is worth knowing.

use rrul_analysis::Analysis;
use rrul_analysis::validity::{PARTIAL, Severity};
use rrul_model::flow::Direction;

use crate::text::sections::unknown_queueing;
use crate::text::short_summary::figures::{DirectionFigures, Figures, lost_words};
use crate::text::short_summary::layout::{COLUMNS, condensed, printable, wrapped};
use crate::text::words;
use crate::text::words::direction_word;

const NOTES: usize = 3;
const NOTE_LINES: usize = 2;
/// Loss that users notice.
pub(super) const LOSSY: f64 = 0.01;

/// How much a note weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Doubt,
    /// A finding, or a reason that does not change the verdict.
    Remark,
}

/// The notes within so many lines, whole, and a line that counts the others.
pub(super) fn lines(run: &Analysis, figures: &Figures, room: usize) -> Vec<(Weight, String)> {
    let notes = notes(run, figures);
    // A blank line precedes them.
    let room = room.saturating_sub(1);
    let (mut lines, mut shown) = (Vec::new(), 0);
    for (weight, text) in notes.iter().take(NOTES) {
        let counted = usize::from(notes.len() > shown + 1);
        let left = room.saturating_sub(lines.len() + counted).min(NOTE_LINES);
        let fits = wrapped(text, COLUMNS).len() <= left;
        // Only the first note is cut; the others are counted instead.
        if left == 0 || !fits && shown > 0 && left < NOTE_LINES {
            break;
        }
        lines.extend(condensed(text, left, COLUMNS).into_iter().map(|line| (*weight, line)));
        shown += 1;
    }
    let hidden = notes.len() - shown;
    if hidden > 0 {
        lines.push((Weight::Remark, format!("{} with --full.", words::counted(hidden, "more note"))));
    }
    lines
}

fn notes(run: &Analysis, figures: &Figures) -> Vec<(Weight, String)> {
    let of = |severity: Severity, weight: Weight, word: &'static str| {
        let reasons = run.validity.reasons.iter().filter(move |reason| reason.severity == severity);
        reasons.map(move |reason| (reason, (weight, format!("{word}: {}", printable(reason.headline())))))
    };
    let doubts = of(Severity::Invalid, Weight::Doubt, "Invalid").chain(of(Severity::Doubt, Weight::Doubt, "Doubtful"));
    // That a run was cut short comes first: it explains what else is wrong.
    let (cut_short, others): (Vec<_>, Vec<_>) = doubts.partition(|(reason, _)| reason.code == PARTIAL);
    let mut notes: Vec<(Weight, String)> = cut_short.into_iter().chain(others).map(|(_, note)| note).collect();
    notes.extend(findings(run, figures).into_iter().map(|text| (Weight::Remark, printable(&text))));
    notes.extend(of(Severity::Info, Weight::Remark, "Note").map(|(_, note)| note));
    notes
}

fn findings(run: &Analysis, figures: &Figures) -> Vec<String> {
    let mut findings = Vec::new();
    findings.extend(background(run, figures));
    let unknown = run.one_way_delay.clocks.iter().flat_map(unknown_queueing);
    findings.extend(unknown.map(|(what, why)| format!("{what} is unknown: {why}")));
    findings
}

/// Background starves or loses packets, and the other classes lose none. The sentence names no cause: a collision of hash
/// buckets in a fair queue looks the same as a queue that serves background last.
fn background(run: &Analysis, figures: &Figures) -> Option<String> {
    let held_back = |direction: Direction| {
        let DirectionFigures { lost, background_lost, .. } = *figures.direction(direction);
        if lost.is_some_and(|lost| lost.least >= LOSSY) {
            return None;
        }
        let word = direction_word(direction).to_lowercase();
        if let Some(lost) = background_lost.filter(|lost| lost.least >= LOSSY) {
            return Some(format!("{word} loses {} of its probes", lost_words(lost)));
        }
        let treatment = run.class_treatment.directions.iter().find(|entry| entry.direction == direction)?;
        let starved = treatment.background.filter(|background| background.starved)?;
        Some(format!("{word} starved {} of the time", words::percent(starved.starved_share)))
    };
    let facts: Vec<String> = Direction::ALL.into_iter().filter_map(held_back).collect();
    (!facts.is_empty()).then(|| format!("Background traffic is held back ({}).", facts.join(", ")))
}

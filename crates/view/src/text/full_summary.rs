//! Summaries for a terminal: plain words and aligned figures.

use rrul_analysis::Analysis;
use rrul_analysis::validity::{Severity, Verdict};

use crate::text::path_lines;
use crate::text::score_lines;
use crate::text::sections::{Section, Topic, sections};
use crate::text::style::{Style, finished, printable};
use crate::text::text_scored;
use crate::text::words;

/// Everything about a run, in sections.
///
/// Percentiles that fall on a lost packet read "lost": a lost packet counts as infinitely late, it is never left out.
/// What a run does not have is not in its summary. Ends in a newline.
pub fn text_summary(run: &Analysis, style: Style) -> String {
    let mut lines = head(run, style);
    for section in sections(run) {
        lines.push(String::new());
        lines.extend(section_lines(&section, style));
    }
    finished(&lines)
}

/// Chosen sections of the same, in the order of the full summary. Ends in a newline.
///
/// A topic of which the run has nothing is named with the reason that it has nothing to show.
pub fn text_sections(run: &Analysis, topics: &[Topic], style: Style) -> String {
    let mut lines = vec![style.heading(&printable(&words::title(run))), printable(&words::circumstances(run))];
    for topic in Topic::ALL.into_iter().filter(|topic| topics.iter().any(|asked| asked.name() == topic.name())) {
        let sections = topic.sections(run);
        if topic.name() == Topic::VALIDITY {
            lines.extend([String::new(), style.heading("Validity")]);
            lines.extend(validity_lines(run, style).into_iter().map(|line| format!("  {line}")));
        } else if sections.is_empty() {
            lines.extend([String::new(), format!("{}: this recording has no such measurements.", topic.name())]);
        }
        for section in sections {
            lines.push(String::new());
            lines.extend(section_lines(&section, style));
        }
    }
    finished(&lines)
}

fn section_lines(section: &Section, style: Style) -> Vec<String> {
    let told = section.told.lines();
    std::iter::once(style.heading(&section.heading)).chain(told.iter().map(|line| printable(line))).collect()
}

fn head(run: &Analysis, style: Style) -> Vec<String> {
    let mut lines = vec![style.heading(&printable(&words::title(run))), printable(&words::circumstances(run))];
    lines.extend(score_lines::lead(run).iter().map(|line| style.heading(&printable(line))));
    lines.extend(path_lines::lead(run).iter().map(|line| printable(line)));
    lines.extend(validity_lines(run, style));
    lines
}

/// The verdict with every reason and note.
fn validity_lines(run: &Analysis, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if run.validity.verdict == Verdict::Valid {
        lines.push("Valid: no validity issues found.".to_owned());
    }
    lines.extend(words::warnings(run).iter().map(|warning| style.alarm(&printable(warning))));
    lines.extend(run.validity.confidence.map(|confidence| words::confidence(confidence).to_owned()));
    lines.extend(text_scored::lines(run));
    let notes = run.validity.reasons.iter().filter(|reason| reason.severity == Severity::Info);
    lines.extend(notes.map(|reason| printable(&format!("Note: {}", reason.text))));
    lines
}

//! Summaries for a terminal: plain words and aligned figures.

use rrul_analysis::Analysis;
use rrul_analysis::validity::{Severity, Verdict};
use rrul_model::units::Delay;

use crate::path_lines;
use crate::score_lines;
use crate::sections::{Section, Topic, sections, sections_about};
use crate::text_scored;
use crate::words;

/// Whether a summary may use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Characters only: files, pipes, and whoever asks for no colour.
    Plain,
    /// ANSI escape sequences (ECMA-48 SGR): headings bold, doubts red.
    Ansi,
}

impl Style {
    pub(crate) fn heading(self, text: &str) -> String {
        self.wrapped(text, "1")
    }

    pub(crate) fn alarm(self, text: &str) -> String {
        self.wrapped(text, "31")
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrapped(text, "32")
    }

    pub(crate) fn amber(self, text: &str) -> String {
        self.wrapped(text, "33")
    }

    fn wrapped(self, text: &str, code: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

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
    for topic in Topic::ALL.into_iter().filter(|topic| topics.contains(topic)) {
        let sections = sections_about(run, topic);
        if topic == Topic::Validity {
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

pub(crate) fn finished(lines: &[String]) -> String {
    lines.join("\n") + "\n"
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

pub(crate) fn unknown() -> String {
    "–".to_owned()
}

/// A figure from the distribution of delays; none means that it falls on a lost packet.
pub(crate) fn quantile(delay: Option<Delay>) -> String {
    delay.map_or_else(|| "lost".to_owned(), |delay| delay.to_string())
}

/// Text of others without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

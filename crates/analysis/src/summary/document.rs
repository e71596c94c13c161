//! docs/metrics.md, made from the doc comments of the summary's types.

use std::fmt::Write;

use crate::summary::Summary;
use crate::summary::schema::schema_of;
use crate::summary::sections::{Row, Section, sections};
use crate::validity::ReasonWord;
use crate::validity_rules::reason_words;

/// What stands above the sections.
const INTRODUCTION: &str = "What rrul reports, how each number is defined, and where the definition comes from. Every \
    number is computed from the recording alone, so an old recording gets today's definitions when it is shown again. \
    The names are those of `rrul show --json`; [summary.schema.json](summary.schema.json) is its schema. \"Spec\" is the \
    RRUL specification. This page is made from the program: `rrul list metrics` prints the same.\n\n\
    Units are base units as integers: bits per second (`_bps`), nanoseconds (`_ns`), bytes, counts, parts per million \
    (`_ppm`). Shares are 0 to 1. `null` is \"not known\", never zero. Fields of one recording may be added within \
    `\"format\": \"rrul-summary/1\"`; none changes its meaning. Braces stand for each of what is in them: `{down,up}.octets` \
    is `down.octets` and `up.octets`. `[]` is each element of a list.";

/// Lines of running text are no longer than this.
const WIDTH: usize = 120;
/// A section names this many of the places where it occurs.
const MOST_PLACES: usize = 6;

/// The whole of docs/metrics.md.
pub fn metrics_document() -> String {
    let mut document = format!("# Metrics\n\n{}\n", wrapped(INTRODUCTION));
    for Section { title, places, about, rows } in sections(&schema_of::<Summary>()) {
        let _ = write!(document, "\n## {title}\n");
        let named: Vec<String> = places.iter().take(MOST_PLACES).map(|place| format!("`{place}`")).collect();
        let more = if places.len() > MOST_PLACES { ", and others" } else { "" };
        if places.iter().any(|place| !place.is_empty()) {
            let _ = write!(document, "\n{}\n", wrapped(&format!("Under {}{more}.", named.join(", "))));
        }
        if !about.is_empty() {
            let _ = write!(document, "\n{}\n", wrapped(&about));
        }
        document += "\n| name | definition | unit | source |\n|---|---|---|---|\n";
        for Row { name, definition, unit, section, source } in &rows {
            let unit = section.as_ref().map_or_else(|| unit.clone(), |title| format!("[{title}](#{})", anchor(title)));
            document += &row(&[&format!("`{name}`"), definition, &unit, source]);
        }
        if places == ["validity"] {
            document += "\n| code | severity | when |\n|---|---|---|\n";
            for ReasonWord { code, severities, when } in reason_words() {
                let severities: Vec<&str> = severities.iter().map(|severity| severity.name()).collect();
                document += &row(&[&format!("`{code}`"), &severities.join(", "), when]);
            }
        }
    }
    document
}

/// The anchor that Markdown gives a heading.
fn anchor(title: &str) -> String {
    let letters = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    letters.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

fn row(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |")
}

/// Running text in lines of at most [`WIDTH`]; lines of the text itself stay apart.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_is_broken_between_words_and_paragraphs_stay_apart() {
        let text = format!("{}\n\n* two", "word ".repeat(30).trim_end());
        let lines: Vec<String> = wrapped(&text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH) && lines[0].len() > WIDTH - 6, "{lines:?}");
        assert_eq!(lines[2..], ["", "* two"]);
    }

    #[test]
    fn anchors_are_those_of_markdown() {
        assert_eq!(anchor("Service classes: acted upon"), "service-classes-acted-upon");
        assert_eq!(anchor("The specification's optimum"), "the-specifications-optimum");
    }
}

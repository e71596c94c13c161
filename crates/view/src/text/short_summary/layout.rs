//! Widths in terminal columns, and text that is made to fit into them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) use crate::text::style::printable;

/// Width of the short summary, columns.
pub(crate) const COLUMNS: usize = 80;

/// Columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    // The width of a string may be less than the sum over its characters; terminals do not agree, so the larger counts.
    text.width().max(text.chars().map(|c| c.width().unwrap_or(0)).sum())
}

/// `text`, its end cut to what fits into `room` columns.
pub(crate) fn fitting(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while width(&kept) + 1 > room && kept.pop().is_some() {}
    format!("{}…", kept.trim_end())
}

/// `text`, its beginning cut to what fits into `room` columns.
pub(crate) fn fitting_start(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while !kept.is_empty() && width(&kept.iter().collect::<String>()) + 1 > room {
        kept.remove(0);
    }
    format!("…{}", kept.iter().collect::<String>())
}

/// `text` in lines of at most `room` columns, those after the first indented by two.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace().fold(Vec::new(), with_unit) {
        let word = word.as_str();
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            lines.push(std::mem::replace(&mut line, format!("  {word}")));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.push(line);
    lines.iter().map(|line| fitting(line, room)).collect()
}

/// Adds a word; a unit stays with the number before it.
fn with_unit(mut words: Vec<String>, word: &str) -> Vec<String> {
    let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%'));
    match words.last_mut().filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit())) {
        Some(number) => {
            number.push(' ');
            number.push_str(word);
        }
        None => words.push(word.to_owned()),
    }
    words
}

/// Units that follow a number.
const UNITS: [&str; 6] = ["%", "ms", "s", "kbit/s", "Mbit/s", "Gbit/s"];

/// A text is not cut down to less than this, bytes: what stands before may be a mere prefix.
const LEAST_CLAUSE: usize = 30;

/// `text` in at most `most` lines of `room` columns: whole where it fits, else whole clauses of it, else cut.
pub(crate) fn condensed(text: &str, most: usize, room: usize) -> Vec<String> {
    let whole = wrapped(text, room);
    if whole.len() <= most {
        return whole;
    }
    // Never at a comma: half of a list says something else.
    let marks: [&[&str]; 2] = [&["; ", ". "], &[": "]];
    for marks in marks {
        let ends = marks.iter().flat_map(|mark| text.match_indices(*mark)).map(|(at, _)| at);
        let shorter = ends.filter(|end| *end >= LEAST_CLAUSE).filter_map(|end| {
            let lines = wrapped(&format!("{}.", text.get(..end)?), room);
            (lines.len() <= most).then_some((end, lines))
        });
        if let Some((_, lines)) = shorter.max_by_key(|(end, _)| *end) {
            return lines;
        }
    }
    let mut cut: Vec<String> = whole.into_iter().take(most).collect();
    if let Some(last) = cut.last_mut() {
        *last = if width(last) < room { format!("{last}…") } else { fitting(&format!("{last}…"), room) };
    }
    cut
}

/// A file name as a shell reads it back as one word.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((width("abc"), width("日本")), (3, 4));
        assert_eq!(fitting("日本語", 5), "日本…");
        assert_eq!(fitting_start("/a/long/path.rrul", 10), "…path.rrul");
    }

    #[test]
    fn a_long_text_keeps_whole_clauses() {
        let text = format!("the first of three long clauses; {}; the third", "word ".repeat(40).trim());
        assert_eq!(condensed(&text, 1, COLUMNS), ["the first of three long clauses."]);
        let unbroken = condensed(&"word ".repeat(60), 2, COLUMNS);
        assert!(unbroken.len() == 2 && unbroken[1].ends_with('…'), "{unbroken:?}");
        assert!(unbroken.iter().all(|line| width(line) <= COLUMNS));
    }

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(wrapped("busy in 100 % of the load", 11), ["busy in", "  100 % of", "  the load"]);
        let lines = ["at", "  8.61 Mbit/s,", "  a share of %", "  each"];
        assert_eq!(wrapped("at 8.61 Mbit/s, a share of % each", 14), lines);
    }

    #[test]
    fn a_file_name_with_blanks_is_quoted() {
        assert_eq!(shell_word("a/b-1.rrul"), "a/b-1.rrul");
        assert_eq!(shell_word("my file.rrul"), "'my file.rrul'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}

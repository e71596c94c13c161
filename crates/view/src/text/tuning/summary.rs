//! The short summary of a tuning session: one screen.

use rrul_analysis::Analysis;
use rrul_analysis::tuning::result::{Outcome, TuningResult};

use crate::text::octet_lines::size;
use crate::text::short_summary::layout::{COLUMNS, condensed, fitting, printable, shell_word, width, wrapped};
use crate::text::style::{Style, finished};
use crate::text::table::SectionBody;
use crate::text::tuning::figures_table::figures_table;
use crate::text::tuning::findings::findings;
use crate::text::tuning::outcome_words::outcome;
use crate::text::tuning::settings::{Settings, settings};
use crate::text::tuning::trial_table::{compact_trial_table, trial_table};
use crate::text::words;

/// Most lines. One less than a terminal of 24 lines has, so that the shell's prompt fits below.
const LINES: usize = 23;
/// Most lines of a finding.
const FINDING_LINES: usize = 2;
/// Columns before the lines to paste.
const SYSTEM: usize = 11;

/// The outcome of a tuning session recorded in `file`: at most 24 lines. Ends in a newline.
pub(crate) fn tuning_summary(run: &Analysis, result: &TuningResult, file: &str, style: Style) -> String {
    let mut blocks = vec![
        vec![style.heading(&fitting(&headline(run, result), COLUMNS))],
        wrapped(&printable(&outcome(result)), COLUMNS).iter().map(|line| coloured(result, line, style)).collect(),
        figures_table(result).lines(),
    ];
    blocks.retain(|block| !block.is_empty());
    let closing = closing(file);
    let mut left = LINES.saturating_sub(blocks.iter().map(|block| block.len() + 1).sum::<usize>() + closing.len());
    // What to paste first is worth more than the last note.
    let settings = settings(result);
    let reserved = settings.first().map_or(0, |first| setting_lines(first).len() + 1).min(left);
    left -= reserved;
    let notes = within(findings(result).iter().map(|text| condensed(text, FINDING_LINES, COLUMNS)), &mut left);
    if !notes.is_empty() {
        blocks.push(notes);
    }
    left += reserved;
    let mut shown = if result.outcome == Outcome::Measured {
        within(compact_trial_table(result).lines().into_iter().map(|line| vec![fitting(&line, COLUMNS)]), &mut left)
    } else {
        within(settings.iter().map(setting_lines), &mut left)
    };
    if !shown.is_empty() {
        if result.outcome != Outcome::Measured && left > 0 {
            shown.insert(0, "To keep these rates:".to_owned());
        }
        blocks.push(shown);
    }
    blocks.push(closing);
    finished(&blocks.join(&String::new()))
}

/// The figures and everything to know, as a section of the full summary.
pub(crate) fn section(result: &TuningResult) -> SectionBody {
    let table = figures_table(result);
    let sentences = std::iter::once(outcome(result)).chain(findings(result)).map(|text| format!("  {text}"));
    let below = sentences.chain(settings(result).iter().flat_map(setting_lines)).collect();
    SectionBody { table, words: false, below }
}

/// The trials, likewise.
pub(crate) fn trials(result: &TuningResult) -> SectionBody {
    trial_table(result).into()
}

/// What was tuned, to whom, when, and what it took.
fn headline(run: &Analysis, result: &TuningResult) -> String {
    let shaper = &result.shaper;
    let of = [&shaper.target, &shaper.driver].into_iter().find(|word| !word.is_empty());
    let with = if run.test.server.is_empty() { String::new() } else { format!(" to {}", run.test.server) };
    let took = (result.took.0.max(0) / 1_000_000_000).cast_unsigned();
    let took = humane(took);
    let spent = format!("{}, {took}, {}", words::counted(result.trials.len(), "trial"), size(result.data.0));
    let when = words::date(&run.test.created);
    let when = when
        .strip_suffix(" UTC")
        .and_then(|date| date.get(..16))
        .map_or_else(String::new, |minute| format!(" · {minute} UTC"));
    let what = printable(&format!("Shaper {}{with}", of.map_or("", String::as_str)));
    let end = format!("{when} · {spent}");
    format!("{}{end}", fitting(&what, COLUMNS.saturating_sub(width(&end))))
}

/// Whole seconds as people write them: `4 min 10 s`.
fn humane(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

fn coloured(result: &TuningResult, line: &str, style: Style) -> String {
    match result.outcome {
        Outcome::Recommended | Outcome::NothingToGain => style.green(line),
        Outcome::Measured => style.heading(line),
        Outcome::Varies => style.amber(line),
        Outcome::Refused { .. } | Outcome::Unfinished { .. } => style.alarm(line),
    }
}

/// As many whole groups as fit, one blank line before them counted; takes their room from `left`.
fn within(groups: impl Iterator<Item = Vec<String>>, left: &mut usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in groups {
        let more = group.len() + usize::from(lines.is_empty());
        if more > *left {
            break;
        }
        *left -= more;
        lines.extend(group);
    }
    lines
}

/// `  OpenWrt    uci set ...`, its further lines below the first; a line that is pasted is never broken.
fn setting_lines(settings: &Settings) -> Vec<String> {
    let Settings { system, lines } = settings;
    let lines: Vec<String> = lines.iter().map(|line| printable(line)).collect();
    let column = SYSTEM.max(system.len() + 2);
    if lines.iter().any(|line| 2 + column + width(line) > COLUMNS) {
        return std::iter::once(format!("  {system}")).chain(lines.iter().map(|line| format!("  {line}"))).collect();
    }
    let name = |index| if index == 0 { *system } else { "" };
    lines.iter().enumerate().map(|(index, line)| format!("  {:column$}{line}", name(index))).collect()
}

/// The commands that show more.
fn closing(file: &str) -> Vec<String> {
    let word = shell_word(&printable(file));
    let lines = [
        format!("All trials: rrul show {word} --section tuning"),
        format!("Chart:      rrul plot {word} --chart tune"),
    ];
    if lines.iter().all(|line| width(line) <= COLUMNS) {
        return lines.to_vec();
    }
    vec!["More: rrul show FILE --section tuning, rrul plot FILE --chart tune".to_owned()]
}

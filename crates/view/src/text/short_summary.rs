//! The short summary: what a person reads of a run, on one screen of 80 columns by 24 lines.
//!
//! - [`headline`]: what, when, to whom, and whether the numbers can be trusted
//! - [`grades`]: bufferbloat letter, RRUL score and voice
//! - [`figures`]: the numbers by direction, of best effort and expedited forwarding
//! - [`bottleneck`]: where each direction's queue is
//! - [`advice`]: what to do, in one line
//! - [`notes`]: the most important reasons and findings
//! - [`layout`]: widths in columns, shortening, and lines within the limit

mod advice;
mod bottleneck;
mod figures;
mod grades;
mod headline;
pub(crate) mod layout;
mod notes;

use rrul_analysis::Analysis;

use crate::text::style::{Style, finished};
use crate::text::tuning::summary::tuning_summary;
use figures::Figures;
use layout::{COLUMNS, fitting, printable};
use notes::Weight;

/// Most lines. One less than a terminal of 24 lines has, so that the shell's prompt fits below.
const LINES: usize = 23;

/// The short summary of a run recorded in `file`: at most 24 lines of at most 80 columns. Ends in a newline.
pub fn short_summary(run: &Analysis, file: &str, style: Style) -> String {
    if let Some(tuning) = run.tuning() {
        return tuning_summary(run, tuning, file, style);
    }
    let figures = Figures::of(run);
    let mut blocks = vec![
        vec![headline::line(run, style)],
        grades::lines(run),
        figures.lines(),
        bottleneck::lines(run)
            .into_iter()
            .map(|line| fitting(&line, COLUMNS))
            .chain([style.heading(&fitting(&advice::line(run, &figures), COLUMNS))])
            .collect(),
    ];
    let closing = closing(&printable(file));
    blocks.retain(|block| !block.is_empty());
    // A blank line follows each block.
    let taken: usize = blocks.iter().map(|block| block.len() + 1).sum::<usize>() + closing.len();
    let notes = notes::lines(run, &figures, LINES.saturating_sub(taken));
    if !notes.is_empty() {
        let styled = |(weight, line): (Weight, String)| if weight == Weight::Doubt { style.alarm(&line) } else { line };
        blocks.push(notes.into_iter().map(styled).collect());
    }
    blocks.push(closing);
    finished(&blocks.join(&String::new()))
}

/// The file, and the commands that show more of it.
fn closing(file: &str) -> Vec<String> {
    let word = layout::shell_word(file);
    let commands = [format!("All figures: rrul show {word} --full"), format!("Report:      rrul report {word}")];
    if commands.iter().all(|line| layout::width(line) <= COLUMNS) {
        return commands.to_vec();
    }
    let room = COLUMNS - layout::width("Recording: ");
    vec![
        format!("Recording: {}", layout::fitting_start(file, room)),
        "More:      rrul show FILE --full, rrul report FILE".to_owned(),
    ]
}

//! The equalizer for a terminal: bars of 0 to 20 over time, a row for each part, class, family and direction.

use rrul_analysis::Analysis;
use rrul_analysis::scores::equalizer::{Bars, Column, Equalizer, SLOW, WINDOW};
use rrul_analysis::scores::score_cell::ScoreCell;
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::time::TestTime;

use crate::text::style::{Style, printable};
use crate::text::words::family_name;

/// Bars in a row.
const WIDEST: u128 = 80;
/// From nothing to the most.
pub const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const MOST: f64 = 20.0;
/// Green from here on, and amber.
const GOOD: f64 = 15.0;
const FAIR: f64 = 8.0;

/// The equalizer of a run; otherwise a line that says why not. Ends in a newline.
pub fn text_equalizer(run: &Analysis, style: Style) -> String {
    if let Some(withheld) = &run.scores.withheld {
        return printable(&format!("No equalizer: {withheld}.")) + "\n";
    }
    let Some(told) = fitting(run, WIDEST) else { return "No equalizer: no idle baseline.\n".to_owned() };
    let seconds = told.window_ns as f64 / 1e9;
    let title =
        format!("A block is {seconds} s, slew and pages {} s; full is as on the idle line", seconds * f64::from(SLOW));
    let mut lines = vec![style.heading(&title)];
    let mut rows: Vec<(String, &Bars, bool)> = Vec::new();
    rows.push(("pages".to_owned(), &told.web, true));
    for column in &told.columns {
        let name = format!("{} {}", column.class, family_name(column.family));
        // Both directions have the same delay and slew: those of round trips.
        if column.direction == Direction::Down {
            rows.push((format!("{name} delay"), &column.delay, false));
            rows.push((format!("{name} slew"), &column.slew, true));
        }
        rows.extend(by_direction(&name, column));
    }
    rows.retain(|(_, bars, _)| bars.0.iter().any(Option::is_some));
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
    let count = told.columns.first().map_or(0, |column| column.delay.0.len());
    lines.push(format!("  {:width$}  {}", "", phases(run, &told, count)));
    for (name, bars, slow) in rows {
        let place = |block: usize| if slow { slow_place(&told, block) } else { block };
        let blocks: String =
            (0..count).map(|number| block(bars.0.get(place(number)).copied().flatten(), style)).collect();
        lines.push(format!("  {name:width$}  {blocks}").trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}

/// Which window of slew and pages a block lies in.
fn slow_place(told: &Equalizer, block: usize) -> usize {
    let at = told.from_ns.0.saturating_add(told.window_ns.saturating_mul(block as i64));
    let within = at.max(told.slow_from_ns.0).saturating_sub(told.slow_from_ns.0);
    usize::try_from(within / told.slow_window_ns.max(1)).unwrap_or(usize::MAX)
}

/// In windows of a length such that a row has no more bars than this.
pub(crate) fn fitting(run: &Analysis, widest: u128) -> Option<Equalizer> {
    let windows = run.test.phases.iter().filter(|entry| entry.phase != Phase::Survey).map(|entry| entry.window);
    let length: u128 = windows.map(|window| window.length().as_nanos()).sum();
    let times = length.div_ceil(WINDOW.as_nanos() * widest).max(1);
    Equalizer::new(run, &ScoreCell::all(run), WINDOW.saturating_mul(u32::try_from(times).ok()?))
}

fn by_direction<'a>(name: &str, column: &'a Column) -> [(String, &'a Bars, bool); 2] {
    [
        (format!("{name} variation {}", column.direction), &column.delay_variation, false),
        (format!("{name} loss {}", column.direction), &column.loss, false),
    ]
}

fn block(bar: Option<f64>, style: Style) -> String {
    let Some(bar) = bar else { return " ".to_owned() };
    let step = (bar / MOST * (BLOCKS.len() - 1) as f64).round().clamp(0.0, (BLOCKS.len() - 1) as f64);
    let block = BLOCKS[step as usize].to_string();
    match bar {
        bar if bar >= GOOD => style.green(&block),
        bar if bar >= FAIR => style.amber(&block),
        _ => style.alarm(&block),
    }
}

/// A line that says where the load is.
fn phases(run: &Analysis, told: &Equalizer, count: usize) -> String {
    let loaded = |block: usize| {
        let at = TestTime(told.from_ns.0.saturating_add(told.window_ns.saturating_mul(block as i64)));
        run.test.phases.iter().any(|entry| entry.phase == Phase::Load && entry.window.contains(at))
    };
    let line: String = (0..count).map(|block| if loaded(block) { '─' } else { ' ' }).collect();
    let (from, blocks) = (line.chars().take_while(|c| *c == ' ').count(), line.chars().filter(|c| *c == '─').count());
    let word = " load ";
    if blocks < word.len() + 2 {
        return line.trim_end().to_owned();
    }
    let left = (blocks - word.len()) / 2;
    format!("{}{}{word}{}", " ".repeat(from), "─".repeat(left), "─".repeat(blocks - word.len() - left))
}

//! The equalizer: what each class keeps of the idle line's delay, delay variation and loss, a block for each second.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use rrul_analysis::scores::composite::Ratios;

use super::delays::{self, WIDE};
use super::palette::Palette;
use super::panel::{blocks, heading};
use super::state::State;

/// Columns of a name.
const NAME: u16 = 7;
/// Columns of a figure.
const FIGURE: u16 = 9;
/// The text after a name where the table of delays does not fit, and its place among [`delays::figures`].
const FIGURES: [(&str, usize); 3] = [("now", 1), ("added", 2), ("lost", 4)];

/// The parts, by the words that `rrul show --equalizer` has for them.
type Part = (&'static str, fn(&Ratios) -> Option<f64>);
const PARTS: [Part; 3] =
    [("delay", |kept| kept.delay), ("variation", |kept| kept.delay_variation), ("loss", |kept| kept.loss)];

/// Rows that it would like to have.
pub(super) fn rows(state: &State) -> u16 {
    2 + state.course.cells().len() as u16
}

pub(super) fn draw(state: &State, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    heading(area, area.y, "Equalizer", "a block is a second; full is as on the idle line", buffer);
    let figures = if area.width < WIDE { &FIGURES[..] } else { &[] };
    let left = NAME + figures.len() as u16 * FIGURE + u16::from(!figures.is_empty()) * 2;
    let part = area.width.saturating_sub(left) / PARTS.len() as u16;
    if area.height < 3 || part < 4 {
        return;
    }
    let room = part - 2;
    let right =
        |column: u16, text: &str| area.x + (NAME + (column + 1) * FIGURE).saturating_sub(text.chars().count() as u16);
    for (column, (name, _)) in (0..).zip(figures) {
        buffer.set_string(right(column, name), area.y + 1, name, Palette::muted());
    }
    for (number, (name, _)) in (0..).zip(PARTS) {
        buffer.set_stringn(area.x + left + number * part, area.y + 1, name, usize::from(room), Palette::muted());
    }
    for (y, cell) in (area.y + 2..area.bottom()).zip(state.course.cells()) {
        buffer.set_string(area.x, y, state.name(cell), Style::new().fg(palette.class(cell.class)));
        let told = delays::figures(cell);
        for (column, (_, place)) in (0..).zip(figures) {
            let text = told[*place].split(" (").next().unwrap_or_default();
            buffer.set_string(right(column, text), y, text, Style::new());
        }
        let kept = cell.kept(usize::from(room));
        for (number, (_, pick)) in (0..).zip(PARTS) {
            let shares: Vec<Option<f64>> = kept.iter().map(pick).collect();
            blocks(area.x + left + number * part, y, &shares, palette, buffer);
        }
    }
}

//! Where everything stands on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::palette::Palette;
use super::state::State;
use super::{delays, equalizer, head, rates};

/// A smaller terminal gets one line.
const LEAST: (u16, u16) = (60, 15);
/// Rows of the rates at least, with their heading and figures.
const RATES: u16 = 5;
/// Rows of the delays at least.
const DELAYS: u16 = 5;

pub(super) fn draw(state: &State, palette: &Palette, buffer: &mut Buffer) {
    let area = buffer.area;
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let line = state.note.clone().unwrap_or_else(|| state.line());
        buffer.set_stringn(area.x, area.y, line, usize::from(area.width), Style::new());
        return;
    }
    head::draw(state, area, buffer);
    let foot = 1;
    let body = area.height - head::ROWS - foot;
    let equalizer = equalizer::rows(state).min(body - RATES - DELAYS);
    let charts = body - equalizer;
    // Delays get the larger part: their chart has more lines to tell apart.
    let rates = (charts * 2 / 5).max(RATES);
    let heights = [(rates, 0), (charts - rates, 1), (equalizer, 2)];
    let mut y = area.y + head::ROWS;
    for (height, panel) in heights {
        let place = Rect { y, height, ..area };
        match panel {
            0 => rates::draw(state, place, palette, buffer),
            1 => delays::draw(state, place, palette, buffer),
            _ if height > 0 => equalizer::draw(state, place, palette, buffer),
            _ => {}
        }
        y += height;
    }
    head::draw_foot(state, Rect { y, height: foot, ..area }, palette, buffer);
}

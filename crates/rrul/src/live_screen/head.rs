//! The top of the screen: what is run, and how far it has come; and its last lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use rrul_model::observation::ObservationPoint;

use super::palette::Palette;
use super::state::State;

/// Rows of the top.
pub(super) const ROWS: u16 = 2;

/// Draws the title and the ruler of phases.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let left = (state.length() - state.now.seconds()).clamp(0.0, state.length());
    let status = match state.phase() {
        name @ ("start" | "finish") => name.to_owned(),
        name => format!("{name}, {left:.0} s left of {:.0} s", state.length()),
    };
    let room = usize::from(area.width).saturating_sub(status.chars().count() + 2);
    let (x, _) = buffer.set_stringn(area.x, area.y, &state.title, room, Palette::strong());
    let room = room.saturating_sub(usize::from(x - area.x));
    if room > state.about.chars().count() + 2 {
        buffer.set_string(x + 2, area.y, &state.about, Palette::muted());
    }
    let status_at = area.right().saturating_sub(status.chars().count() as u16);
    buffer.set_string(status_at, area.y, status, Palette::strong());
    ruler(state, area, area.y + 1, buffer);
}

/// The phases by their share of the test: what is over is heavy, what is to come is light.
fn ruler(state: &State, area: Rect, y: u16, buffer: &mut Buffer) {
    let columns = f64::from(area.width) / state.length();
    let over = (state.now.seconds().max(0.0) * columns) as u16;
    for column in 0..area.width {
        let (line, style) = if column < over { ("━", Style::new()) } else { ("─", Palette::muted()) };
        buffer.set_string(area.x + column, y, line, style);
    }
    for entry in &state.phases {
        let [from, to] = [entry.window.from, entry.window.to].map(|at| (at.seconds() * columns).round() as u16);
        let name = format!(" {} ", entry.phase.name());
        let width = name.chars().count() as u16;
        if to.saturating_sub(from) >= width + 2 {
            let now = entry.phase.name() == state.phase();
            let style = if now { Style::new().add_modifier(Modifier::REVERSED) } else { Palette::muted() };
            buffer.set_string(area.x + from + (to - from - width) / 2, y, name, style);
        }
    }
}

/// Draws the hosts, and in the last row what the program says, or what can be done.
pub(super) fn draw_foot(state: &State, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let (mut x, _) = buffer.set_stringn(area.x, area.y, "Busiest core", width, Palette::muted());
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let busy = state.course.busiest_core(point);
        let share = busy.map_or_else(|| "-".to_owned(), |busy| format!("{:.0} %", 100.0 * busy));
        let style =
            if state.course.has_full_core(point) { Palette::strong().fg(palette.alarm()) } else { Palette::muted() };
        (x, _) = buffer.set_stringn(x, area.y, format!("  {} {share}", point.name()), width, style);
    }
    let keys = "q, Ctrl-C: stop and keep the results";
    let keys_at = area.right().saturating_sub(keys.chars().count() as u16);
    if let Some(note) = &state.note {
        let style = Palette::strong().fg(palette.alarm());
        let room = usize::from(area.right().saturating_sub(x + 3));
        buffer.set_stringn(x + 3, area.y, note, room, style);
    } else if keys_at > x {
        buffer.set_string(keys_at, area.y, keys, Palette::muted());
    }
}

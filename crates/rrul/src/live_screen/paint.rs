//! From a buffer to what a terminal is sent: the cells that differ from what it shows, with ECMA-48 sequences.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

/// Knows what a terminal shows.
#[derive(Debug, Default)]
pub(super) struct Painter {
    shown: Option<Buffer>,
}

impl Painter {
    /// What makes the terminal show this; everything anew when its size has changed, or nothing is known of it.
    pub(super) fn paint(&mut self, next: Buffer) -> String {
        let mut text = String::new();
        let shown = self.shown.take().filter(|shown| shown.area == next.area).unwrap_or_else(|| {
            text.push_str("\x1b[0m\x1b[2J");
            Buffer::empty(next.area)
        });
        let (mut place, mut look) = (None, Look::default());
        for (x, y, cell) in shown.diff(&next) {
            if place != Some((x, y)) {
                let _ = write!(text, "\x1b[{};{}H", y + 1, x + 1);
            }
            let wanted = Look::of(cell);
            if wanted != look {
                text.push_str(&wanted.sequence());
                look = wanted;
            }
            text.push_str(cell.symbol());
            // Behind the last column some terminals wait there and others are in the next row.
            place = (x + 1 < next.area.width).then_some((x + 1, y));
        }
        if look != Look::default() {
            text.push_str("\x1b[0m");
        }
        self.shown = Some(next);
        text
    }

    /// Whoever else wrote to the terminal: nothing is known of it any longer.
    pub(super) fn forget(&mut self) {
        self.shown = None;
    }
}

/// An empty screen of a size.
pub(super) fn blank((width, height): (u16, u16)) -> Buffer {
    Buffer::empty(Rect { x: 0, y: 0, width, height })
}

/// Color and weight of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    colour: Color,
    modifier: Modifier,
}

impl Default for Look {
    fn default() -> Self {
        Self { colour: Color::Reset, modifier: Modifier::empty() }
    }
}

impl Look {
    fn of(cell: &Cell) -> Self {
        Self { colour: cell.fg, modifier: cell.modifier }
    }

    /// Select graphic rendition (ECMA-48 8.3.117); colors beyond the first eight as aixterm and xterm have them.
    fn sequence(self) -> String {
        let mut codes = vec!["0".to_owned()];
        for (modifier, code) in [(Modifier::BOLD, "1"), (Modifier::DIM, "2"), (Modifier::REVERSED, "7")] {
            if self.modifier.contains(modifier) {
                codes.push(code.to_owned());
            }
        }
        match self.colour {
            Color::Red => codes.push("31".to_owned()),
            Color::Green => codes.push("32".to_owned()),
            Color::Yellow => codes.push("33".to_owned()),
            Color::Blue => codes.push("34".to_owned()),
            Color::Magenta => codes.push("35".to_owned()),
            Color::Cyan => codes.push("36".to_owned()),
            Color::DarkGray => codes.push("90".to_owned()),
            Color::Indexed(index) => codes.push(format!("38;5;{index}")),
            Color::Rgb(red, green, blue) => codes.push(format!("38;2;{red};{green};{blue}")),
            _ => {}
        }
        format!("\x1b[{}m", codes.join(";"))
    }
}

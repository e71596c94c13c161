//! Rows with a name each, and panels side by side that share them: bars, boxes, waterfalls.

use crate::drawing::axis::Axis;
use crate::drawing::figure::{Align, Frame, PanelIndex, Scale, Side, TextStyle, Ticks};
use crate::drawing::font::Weight;
use crate::drawing::page::{MARGIN, Page, SIDE_RIGHT, fitted};

/// Between the names of rows and the first panel.
const NAME_GAP: f64 = 12.0;

/// A panel beside others over the same rows.
pub(crate) struct Column {
    /// What it shows, in bold.
    pub(crate) title: String,
    /// In which unit, and how, after the title.
    pub(crate) unit: String,
    /// What the reader should know of values outside.
    pub(crate) note: Option<String>,
    pub(crate) x: Side,
    /// What it shows, below it.
    pub(crate) x_words: String,
    /// Left edge, pixels.
    pub(crate) left: f64,
    /// Pixels.
    pub(crate) width: f64,
}

/// Rows one below the other.
pub(crate) struct Rows<'r> {
    /// Their names; an empty one belongs to the row above.
    pub(crate) names: &'r [String],
    /// From row to row, pixels.
    pub(crate) pitch: f64,
}

impl Rows<'_> {
    /// The height on the vertical axis of the middle of a row.
    pub(crate) fn at(&self, row: usize) -> f64 {
        self.names.len() as f64 - row as f64 - 0.5
    }

    /// The top of a line of text beside a row.
    pub(crate) fn text_top(&self, frame: Frame, row: usize, size: f64) -> f64 {
        frame.top + (row as f64 + 0.5) * self.pitch - size * 0.52
    }
}

impl Page<'_> {
    /// Names strokes side by side in one line, each beside a sample of it.
    pub(crate) fn key(&mut self, names: &[String]) {
        let style = TextStyle::left(12.0, Weight::Regular, self.theme.ink);
        self.y += 8.0;
        let mut x = MARGIN;
        for name in names {
            self.figure.legend(x, self.y, 17.0, 12.0, std::slice::from_ref(name));
            x += style.width(name) + 48.0;
        }
        self.y += 18.0;
    }

    /// Adds panels side by side below the others, with the names of their rows at the left; gives their places.
    pub(crate) fn rows(&mut self, rows: &Rows<'_>, columns: &[Column]) -> Vec<(PanelIndex, Frame)> {
        self.y += 18.0;
        let top = self.y;
        let mut below = top;
        for (index, column) in columns.iter().enumerate() {
            self.y = top;
            let end = columns.get(index + 1).map_or(SIDE_RIGHT, |next| next.left - 16.0);
            let from = if index == 0 { MARGIN } else { column.left };
            self.plane_head((from, end), &column.title, &column.unit, column.note.as_deref());
            below = below.max(self.y);
        }
        let count = rows.names.len().max(1) as f64;
        let height = rows.pitch * count;
        let y = Side { axis: Axis { min: 0.0, max: count, step: 1.0 }, scale: Scale::Linear, ticks: Ticks::None };
        let mut places = Vec::new();
        for column in columns {
            let frame = Frame { left: column.left, top: below, width: column.width, height };
            places.push((self.plane_at(frame, &column.x, &y, &column.x_words), frame));
        }
        if let Some((_, frame)) = places.first() {
            let size = 12.0_f64.min(rows.pitch);
            let style = TextStyle { align: Align::Right, ..TextStyle::left(size, Weight::Regular, self.theme.ink) };
            let room = frame.left - NAME_GAP - MARGIN;
            for (row, name) in rows.names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                let name = fitted(name, style, room);
                self.figure.text(frame.left - NAME_GAP, rows.text_top(*frame, row, size), &name, style);
            }
        }
        self.y = below + height + 43.0;
        places
    }
}

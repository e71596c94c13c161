//! Panels that are not over time: each has a horizontal axis of its own.

use crate::drawing::axis::Axis;
use crate::drawing::figure::{Align, Frame, PanelIndex, Side, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{MARGIN, PANEL_LEFT, Page};
use crate::theme::Theme;

/// Width of a panel with figures beside it.
pub(crate) const PLANE_WIDTH: f64 = 640.0;
/// Left edge of the figures beside such a panel.
pub(crate) const BESIDE_LEFT: f64 = PANEL_LEFT + PLANE_WIDTH + 52.0;

/// Between a panel and the words below its horizontal axis.
const WORDS_BELOW: f64 = 29.0;

/// A panel to be placed on a page.
pub(crate) struct PlanePlan<'p> {
    /// What it shows, in bold.
    pub(crate) title: &'p str,
    /// What its vertical axis shows, after the title.
    pub(crate) unit: String,
    /// What the reader should know of values outside, at the right of the title.
    pub(crate) note: Option<String>,
    pub(crate) x: Side,
    /// What it shows, below it.
    pub(crate) x_words: String,
    pub(crate) y: Side,
    /// Pixels.
    pub(crate) width: f64,
    /// Pixels.
    pub(crate) height: f64,
    /// Room that the figures beside it need, pixels.
    pub(crate) side_height: f64,
}

impl<'a> Page<'a> {
    /// A page of panels that are not over time.
    pub(crate) fn timeless(theme: &'a Theme, title: String) -> Self {
        Self::new(theme, title, Axis::between(0.0, 1.0, 1), Vec::new())
    }

    /// Adds a panel below the others; gives its place.
    pub(crate) fn plane(&mut self, plan: &PlanePlan<'_>) -> (PanelIndex, Frame) {
        self.y += 18.0;
        self.plane_head((MARGIN, PANEL_LEFT + plan.width), plan.title, &plan.unit, plan.note.as_deref());
        let frame = Frame { left: PANEL_LEFT, top: self.y, width: plan.width, height: plan.height };
        let index = self.plane_at(frame, &plan.x, &plan.y, &plan.x_words);
        self.y = (self.y + plan.height + WORDS_BELOW + 14.0).max(frame.top + plan.side_height);
        (index, frame)
    }

    /// Writes what a panel shows, and steps below it. `from` and `to` are the room that it has across.
    pub(super) fn plane_head(&mut self, (from, to): (f64, f64), title: &str, unit: &str, note: Option<&str>) {
        let bold = TextStyle::left(14.0, Weight::SemiBold, self.theme.ink);
        let plain = TextStyle::left(12.0, Weight::Regular, self.theme.muted);
        self.figure.text(from, self.y, title, bold);
        self.figure.text(from + bold.width(title) + 9.0, self.y + 1.5, unit, plain);
        if let Some(note) = note {
            let style = TextStyle { align: Align::Right, colour: self.theme.alarm, ..plain };
            // Below the title where both do not fit side by side.
            if bold.width(title) + plain.width(unit) + style.width(note) + 36.0 > to - from {
                self.y += 17.0;
            }
            self.figure.text(to, self.y + 1.5, note, style);
        }
        self.y += 30.0;
    }

    /// Draws a panel where it is to be, with the words below its horizontal axis.
    pub(super) fn plane_at(&mut self, frame: Frame, x: &Side, y: &Side, words: &str) -> PanelIndex {
        let index = self.figure.plane(frame, x, y);
        let style = TextStyle { align: Align::Centre, ..TextStyle::left(12.0, Weight::Regular, self.theme.muted) };
        self.figure.text(frame.left + frame.width / 2.0, frame.top + frame.height + WORDS_BELOW, words, style);
        index
    }
}

//! Panels side by side on a page, which share their vertical axis.

use rrul_model::phase::PhaseWindow;

use crate::drawing::axis::{Axis, nice_step};
use crate::drawing::figure::{Frame, LANE, PanelIndex, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PANEL_LEFT, PANEL_WIDTH, PHASE_NAMES, Page, PanelPlan, PhaseNames, TIME_TICKS, fitted};

/// Between the panels, pixels.
const COLUMN_GAP: f64 = 22.0;

impl Page<'_> {
    /// Writes what each column is, above the panels side by side.
    pub(crate) fn heads(&mut self, names: &[String]) {
        let style = TextStyle::left(14.0, Weight::SemiBold, self.theme.ink);
        let count = names.len().max(1) as f64;
        let width = (PANEL_WIDTH - COLUMN_GAP * (count - 1.0)) / count;
        self.y += 14.0;
        for (number, name) in names.iter().enumerate() {
            self.figure.text(
                PANEL_LEFT + (width + COLUMN_GAP) * number as f64,
                self.y,
                &fitted(name, style, width),
                style,
            );
        }
        self.y += 12.0;
    }

    /// Adds panels side by side, one for each head and its phases, in the place of one; gives their places.
    ///
    /// The heads stand above them, and above the first row the names of the phases. The first alone bears the figures of the vertical axis, which is that of all.
    pub(crate) fn row(
        &mut self,
        plan: &PanelPlan<'_>,
        columns: &[(String, Vec<PhaseWindow>)],
    ) -> Vec<(PanelIndex, Frame)> {
        let first = self.panels == 0;
        self.panels += 1;
        self.y += 18.0;
        self.name_panel(plan);
        self.y += 23.0;
        let count = columns.len().max(1) as f64;
        let width = (PANEL_WIDTH - COLUMN_GAP * (count - 1.0)) / count;
        let ticks = (f64::from(TIME_TICKS) / count).floor().max(2.0);
        let time = Axis { step: nice_step(self.time.length() / ticks), ..self.time };
        let (lanes, names) = (LANE * plan.lanes as f64, if first { PHASE_NAMES } else { 0.0 });
        let top = self.y + 20.0 + names + lanes;
        let style = TextStyle::left(12.5, Weight::SemiBold, self.theme.ink);
        let mut placed = Vec::new();
        for (number, (head, phases)) in columns.iter().enumerate() {
            let left = PANEL_LEFT + (width + COLUMN_GAP) * number as f64;
            let frame = Frame { left, top, width, height: plan.height };
            self.figure.text(left, self.y, head, style);
            let index = self.figure.panel(frame, &time, &plan.axis, plan.scale, plan.last);
            if number > 0 {
                self.figure.without_values(index);
            }
            self.shade_phases(index, phases);
            if first {
                self.name_phases(&PhaseNames {
                    frame,
                    time,
                    phases: phases.clone(),
                    top: top - lanes - PHASE_NAMES,
                    outside: COLUMN_GAP / 2.0 - 1.0,
                });
            }
            placed.push((index, frame));
        }
        self.y = top + plan.height.max(plan.side_height);
        if plan.last {
            self.name_time(top + plan.height);
        }
        placed
    }
}

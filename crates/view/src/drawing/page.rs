//! The page of a chart: title, panels one below the other on one time axis, and notes.

mod panel_row;
mod plane;
mod rows;

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;
use rrul_model::phase::{Phase, PhaseWindow};

use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, tick_words};
use crate::drawing::figure::{Align, Figure, Frame, LANE, PanelIndex, Scale, TextStyle};
use crate::drawing::font::Weight;
use crate::theme::Theme;

pub(crate) use plane::{BESIDE_LEFT, PLANE_WIDTH, PlanePlan};
pub(crate) use rows::{Column, Rows};

/// Width of every chart, pixels.
const WIDTH: f64 = 1160.0;
/// Left edge of all text and, with the figures of the axes beside it, of no panel.
pub(crate) const MARGIN: f64 = 24.0;
/// Left edge of the panels.
pub(crate) const PANEL_LEFT: f64 = 66.0;
pub(crate) const PANEL_WIDTH: f64 = 786.0;
/// Left edge of the column beside the panels.
pub(crate) const SIDE_LEFT: f64 = 880.0;
/// Right edge of that column.
pub(crate) const SIDE_RIGHT: f64 = WIDTH - MARGIN;
/// Between the lines of the tables beside the panels.
pub(crate) const PITCH: f64 = 17.0;

/// Height of the line of phase names above the first panel, pixels.
const PHASE_NAMES: f64 = 17.0;

/// Most lines that a title may take.
const TITLE_LINES: usize = 2;
/// About so many ticks on the time axis.
const TIME_TICKS: u32 = 10;

/// A chart under construction, filled from the top.
pub(crate) struct Page<'a> {
    /// What is drawn on it.
    pub(crate) figure: Figure<'a>,
    pub(crate) theme: &'a Theme,
    /// The time axis of all panels, seconds.
    pub(crate) time: Axis,
    phases: Vec<PhaseWindow>,
    title: String,
    y: f64,
    panels: usize,
    nothing: Option<String>,
}

/// A panel to be placed on a page.
pub(crate) struct PanelPlan<'p> {
    /// What it shows, in bold.
    pub(crate) title: &'p str,
    /// In which unit, and how, after the title.
    pub(crate) unit: String,
    /// What the reader should know of values outside, at the right of the title.
    pub(crate) note: Option<String>,
    pub(crate) axis: Axis,
    /// How values lie along it.
    pub(crate) scale: Scale,
    /// Lanes of strokes above it.
    pub(crate) lanes: usize,
    /// Pixels.
    pub(crate) height: f64,
    /// Room that the column beside it needs, pixels.
    pub(crate) side_height: f64,
    /// Whether it is the lowest, which bears the figures of the time axis.
    pub(crate) last: bool,
}

/// The line of phase names above a panel.
struct PhaseNames {
    frame: Frame,
    /// Time axis of the panel, seconds.
    time: Axis,
    phases: Vec<PhaseWindow>,
    /// Top of the line, pixels.
    top: f64,
    /// How far a name may stand outside the panel, pixels.
    outside: f64,
}

impl<'a> Page<'a> {
    /// A page with its heading. Phases are those of the runs' plan.
    pub(crate) fn new(theme: &'a Theme, title: String, time: Axis, phases: Vec<PhaseWindow>) -> Self {
        let mut page =
            Self { figure: Figure::new(theme), theme, time, phases, title, y: 22.0, panels: 0, nothing: None };
        let style = TextStyle::left(20.0, Weight::SemiBold, theme.ink);
        for line in wrapped(&page.title.clone(), style, TITLE_LINES) {
            page.figure.text(MARGIN, page.y, &line, style);
            page.y += 27.0;
        }
        page.y += 2.0;
        page
    }

    /// A line below the title.
    pub(crate) fn subtitle(&mut self, text: &str) {
        let style = TextStyle::left(12.5, Weight::Regular, self.theme.muted);
        for line in wrapped(text, style, TITLE_LINES) {
            self.figure.text(MARGIN, self.y, &line, style);
            self.y += 18.0;
        }
    }

    /// The sentence that says what the chart shows.
    pub(crate) fn statement(&mut self, text: &str) {
        let style = TextStyle::left(15.0, Weight::Regular, self.theme.ink);
        for line in wrapped(text, style, TITLE_LINES) {
            self.figure.text(MARGIN, self.y, &line, style);
            self.y += 22.0;
        }
    }

    /// The line of doubts below the title, which must not be overlooked; the summary has the reasons.
    pub(crate) fn doubts(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let style = TextStyle::left(12.5, Weight::SemiBold, self.theme.alarm);
        self.figure.text(MARGIN, self.y, &fitted(text, style, SIDE_RIGHT - MARGIN), style);
        self.y += 18.0;
    }

    /// Adds a panel below the others; gives its place and the top of the column beside it.
    pub(crate) fn panel(&mut self, plan: &PanelPlan<'_>) -> (PanelIndex, Frame) {
        let first = self.panels == 0;
        self.panels += 1;
        self.y += 18.0;
        self.name_panel(plan);
        let lanes = LANE * plan.lanes as f64;
        self.y += 26.0 + lanes + if first { PHASE_NAMES } else { 0.0 };
        let frame = Frame { left: PANEL_LEFT, top: self.y, width: PANEL_WIDTH, height: plan.height };
        let index = self.figure.panel(frame, &self.time, &plan.axis, plan.scale, plan.last);
        self.shade_phases(index, &self.phases.clone());
        if first {
            self.name_phases(&PhaseNames {
                frame,
                time: self.time,
                phases: self.phases.clone(),
                top: frame.top - lanes - PHASE_NAMES,
                outside: f64::INFINITY,
            });
        }
        self.y += plan.height.max(plan.side_height);
        if plan.last {
            self.name_time(frame.top + frame.height);
        }
        (index, frame)
    }

    /// Shades the phases without load, and in another color phase `web`.
    fn shade_phases(&mut self, panel: PanelIndex, phases: &[PhaseWindow]) {
        for colour in [self.theme.idle_shade, self.theme.web_shade] {
            let shaded = phases.iter().filter(|entry| self.theme.phase_shade(entry.phase) == Some(colour));
            let stretches: Vec<_> =
                shaded.map(|entry| (entry.window.from.seconds(), entry.window.to.seconds())).collect();
            self.figure.shade(panel, &stretches, colour);
        }
    }

    /// Writes below the lowest panels what their horizontal axis is.
    fn name_time(&mut self, bottom: f64) {
        let style = TextStyle { align: Align::Centre, ..TextStyle::left(12.0, Weight::Regular, self.theme.muted) };
        self.figure.text(PANEL_LEFT + PANEL_WIDTH / 2.0, bottom + 29.0, "seconds since the run began", style);
        self.y = self.y.max(bottom + 43.0);
    }

    /// Writes the line above a panel.
    fn name_panel(&mut self, plan: &PanelPlan<'_>) {
        let bold = TextStyle::left(14.0, Weight::SemiBold, self.theme.ink);
        let plain = TextStyle::left(12.0, Weight::Regular, self.theme.muted);
        self.figure.text(MARGIN, self.y, plan.title, bold);
        self.figure.text(MARGIN + bold.width(plan.title) + 9.0, self.y + 1.5, &plan.unit, plain);
        if let Some(note) = &plan.note {
            let style = TextStyle { align: Align::Right, colour: self.theme.alarm, ..plain };
            self.figure.text(PANEL_LEFT + PANEL_WIDTH, self.y + 1.5, note, style);
        }
    }

    /// Writes the names of the phases above a panel.
    fn name_phases(&mut self, names: &PhaseNames) {
        let PhaseNames { frame, time, phases, top, outside } = names;
        let style = TextStyle::left(11.0, Weight::Regular, self.theme.muted);
        for entry in phases {
            // A chart of a part of the run shows a part of a phase.
            let x = |seconds: f64| frame.x(time, seconds.clamp(time.min, time.max));
            let (from, to) = (x(entry.window.from.seconds()), x(entry.window.to.seconds()));
            if to <= from && (time.min > entry.window.from.seconds() || entry.window.to.seconds() > time.max) {
                continue;
            }
            let name = entry.phase.name();
            let width = style.width(name);
            // The first and the last are short and have room outside the panel; a name that fits nowhere is left out.
            let (x, align) = match entry.phase {
                _ if to - from >= width + 4.0 => (f64::midpoint(from, to), Align::Centre),
                Phase::Idle if to - width >= frame.left - outside => (to, Align::Right),
                Phase::After if from + width <= frame.left + frame.width + outside => (from, Align::Left),
                _ => continue,
            };
            self.figure.text(x, *top, name, TextStyle { align, ..style });
        }
    }

    /// A line of explanation below everything.
    pub(crate) fn footnote(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let style = TextStyle::left(11.0, Weight::Regular, self.theme.muted);
        self.y += 6.0;
        for line in wrapped(text, style, usize::MAX) {
            self.y += 15.0;
            self.figure.text(MARGIN, self.y - 8.0, &line, style);
        }
    }

    /// The page, cut off below what is on it.
    pub(crate) fn finish(mut self) -> Drawing {
        let survey = self.phases.iter().find(|entry| entry.phase == Phase::Survey);
        let survey = survey.map(|entry| entry.window.to.seconds()).filter(|ended| *ended <= self.time.min);
        if let Some(ended) = survey.filter(|_| self.panels > 0) {
            self.footnote(&format!(
                "The survey of the idle line until second {} is not shown; the chart delay has it.",
                tick_words(ended)
            ));
        }
        let drawing = self.figure.finish(WIDTH, (self.y + 22.0).ceil(), &self.title);
        Drawing { nothing: self.nothing, ..drawing }
    }

    /// Begins the panels of another run, whose phases these are.
    pub(crate) fn section(&mut self, name: &str, phases: Vec<PhaseWindow>) {
        self.y += if self.panels > 0 { 30.0 } else { 14.0 };
        let style = TextStyle::left(16.0, Weight::SemiBold, self.theme.ink);
        for line in wrapped(name, style, 1) {
            self.figure.text(MARGIN, self.y, &line, style);
        }
        self.y += 12.0;
        self.phases = phases;
        self.panels = 0;
    }

    /// A line of words in the place of a panel.
    pub(crate) fn remark(&mut self, text: &str) {
        let style = TextStyle::left(13.0, Weight::Regular, self.theme.muted);
        self.y += 14.0;
        for line in wrapped(text, style, TITLE_LINES) {
            self.figure.text(MARGIN, self.y, &line, style);
            self.y += 18.0;
        }
    }

    /// Room of this height below the others; gives its top.
    pub(crate) fn room(&mut self, height: f64) -> f64 {
        let top = self.y;
        self.y += height;
        top
    }

    /// A message in the place of panels.
    pub(crate) fn message(&mut self, text: &str) {
        self.nothing = Some(text.to_owned());
        let style = TextStyle::left(15.0, Weight::Regular, self.theme.ink);
        self.y += 60.0;
        for line in wrapped(text, style, usize::MAX) {
            self.figure.text(MARGIN, self.y, &line, style);
            self.y += 24.0;
        }
        self.y += 60.0;
    }
}

/// `text` in lines that fit the page; what does not fit into `most` lines ends in an ellipsis.
fn wrapped(text: &str, style: TextStyle, most: usize) -> Vec<String> {
    let room = SIDE_RIGHT - MARGIN;
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if style.width(&longer) > room && !line.is_empty() {
            lines.push(std::mem::replace(&mut line, word.to_owned()));
        } else {
            line = longer;
        }
        if lines.len() >= most {
            break;
        }
    }
    if lines.len() < most {
        lines.push(line);
    } else if let Some(last) = lines.last_mut() {
        last.push('…');
    }
    for line in &mut lines {
        // One word longer than the page: a path, or no language at all.
        *line = fitted(line, style, room);
    }
    lines
}

/// `text`, cut to what fits into `room` pixels.
pub(crate) fn fitted(text: &str, style: TextStyle, room: f64) -> String {
    if style.width(text) <= room {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while style.width(&kept) + style.width("…") > room && kept.pop().is_some() {}
    kept + "…"
}

/// The time axis that shows all of these runs from the idle baseline on. The survey before it, if any, takes
/// nearly as long as the load, and leaves that less room.
pub(crate) fn time_axis(runs: &[&Analysis]) -> Axis {
    covering(runs, |phase| phase != Phase::Survey)
}

/// The time axis that shows all of these runs: their phases and whatever was observed outside them.
pub(crate) fn whole_time_axis(runs: &[&Analysis]) -> Axis {
    covering(runs, |_| true)
}

fn covering(runs: &[&Analysis], shown: impl Fn(Phase) -> bool) -> Axis {
    let mut from = f64::INFINITY;
    let mut to = f64::NEG_INFINITY;
    let mut see = |seconds: f64| {
        from = from.min(seconds);
        to = to.max(seconds);
    };
    for run in runs {
        for entry in run.test.phases.iter().filter(|entry| shown(entry.phase)) {
            see(entry.window.from.seconds());
            // Phase `after` ends when the queues are empty: the axis ends at the next whole second.
            see(entry.window.to.seconds().ceil());
        }
        if !run.test.phases.is_empty() {
            continue;
        }
        for direction in Direction::ALL {
            run.goodput(direction).flows.iter().flat_map(|flow| &flow.series).for_each(|point| see(point.at.seconds()));
        }
        run.round_trip_delay.flows.iter().flat_map(|flow| &flow.series).for_each(|point| see(point.at.seconds()));
    }
    if from > to {
        return Axis::between(0.0, 1.0, TIME_TICKS);
    }
    let axis = Axis::between(from, to, TIME_TICKS);
    // Ticks stand from the left edge on: where that is half way between round seconds, twice as many are round.
    let is_multiple = |step: f64| (from / step - (from / step).round()).abs() < 1e-9;
    let step = if !is_multiple(axis.step) && is_multiple(axis.step / 2.0) { axis.step / 2.0 } else { axis.step };
    Axis { step, ..axis }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: TextStyle = TextStyle { size: 12.0, weight: Weight::Regular, colour: "#000000", align: Align::Left };

    #[test]
    fn long_text_is_wrapped_and_then_cut_with_an_ellipsis() {
        assert_eq!(wrapped("a short line", STYLE, 2), ["a short line"]);
        let long = "word ".repeat(200);
        let lines = wrapped(&long, STYLE, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert!(wrapped(&long, STYLE, usize::MAX).concat().matches("word").count() == 200);
        let unbroken = wrapped(&"x".repeat(5_000), STYLE, 2);
        assert!(unbroken.len() == 1 && unbroken[0].ends_with('…') && STYLE.width(&unbroken[0]) <= SIDE_RIGHT - MARGIN);
        assert_eq!(wrapped("", STYLE, 2), [""]);
    }
}

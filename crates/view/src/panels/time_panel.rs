//! A panel over time as data: what is drawn in it, and the figures beside it. Every chart over time is made of these.

use rrul_model::units::{BitRate, Delay};

use crate::drawing::axis::{Axis, Unit, figures, readable_top, tick_words};
use crate::drawing::figure::{Align, Dash, Fill, Frame, Line, PanelIndex, Scale, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PANEL_LEFT, PITCH, Page, PanelPlan, SIDE_LEFT, SIDE_RIGHT};
use crate::text::words;

/// Names one below the other; more are in two columns with at most one figure a name.
const ONE_COLUMN: usize = 8;
/// Most names beside a panel.
const NAMED: usize = 32;
/// Room of the figure in large type, pixels.
const HEADLINE: f64 = 46.0;
/// Width of a column of figures, pixels.
const FIGURE: f64 = 55.0;
/// Between two columns of names, pixels.
const GUTTER: f64 = 22.0;

/// What the values of a panel are; they are held in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// bit/s.
    Rate,
    /// Nanoseconds.
    Delay,
    Octets,
    Count,
    /// 0 to 1, shown in per cent.
    Share,
    /// 0 to 1.
    Index,
}

impl Quantity {
    /// The axis for values up to `top` base units, and its unit.
    pub(crate) fn axis(self, top: f64, ticks: u32) -> (Axis, Unit) {
        let base = Axis::from_zero(top, ticks);
        let unit = match self {
            Self::Rate => Unit::of_rates(base.max),
            Self::Delay => Unit::of_delays(base.max),
            Self::Octets => Unit::of_octets(base.max),
            Self::Share => Unit { size: 0.01, name: "%" },
            Self::Count | Self::Index => Unit { size: 1.0, name: "" },
        };
        let axis = match self {
            Self::Share => Axis { min: 0.0, max: 100.0, step: 25.0 },
            Self::Index => Axis { min: 0.0, max: 1.0, step: 0.25 },
            // Nothing is half a packet.
            Self::Count if base.step < 1.0 => Axis::from_zero(base.max.ceil().max(2.0), 2),
            _ => Axis::from_zero(base.max / unit.size, ticks),
        };
        (axis, unit)
    }

    /// How many of these values an axis in this unit does not reach, in words; `None` when it reaches all.
    pub(crate) fn beyond(self, values: impl Iterator<Item = f64>, axis: &Axis, unit: Unit) -> Option<String> {
        let (limit, floor) = (axis.max * unit.size, axis.min * unit.size);
        let slack = limit.abs() * 1e-9;
        let (mut above, mut below, mut highest) = (0, 0, 0.0_f64);
        for value in values {
            above += usize::from(value > limit + slack);
            below += usize::from(value < floor - slack);
            highest = highest.max(value);
        }
        let mut said = Vec::new();
        if above > 0 {
            let (points, top) = (words::counted(above, "point"), tick_words(axis.max));
            let unit = if unit.name.is_empty() { String::new() } else { format!(" {}", unit.name) };
            said.push(format!("{points} above {top}{unit}, highest {}", self.words(highest)));
        }
        if below > 0 {
            said.push(format!("{} below {}", words::counted(below, "point"), tick_words(axis.min)));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// A value in words, with its unit.
    fn words(self, value: f64) -> String {
        match self {
            Self::Rate => BitRate(value as u64).to_string(),
            Self::Delay => Delay(value as i64).to_string(),
            Self::Octets => {
                let unit = Unit::of_octets(value);
                format!("{} {}", figures(value / unit.size), unit.name)
            }
            Self::Count => words::count(value as u64),
            Self::Share => words::percent(value),
            Self::Index => format!("{value:.2}"),
        }
    }
}

/// A line of a panel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeLine {
    /// Its name; empty for a line that is named elsewhere.
    pub(crate) name: String,
    /// Seconds, and base units; `None` interrupts it.
    pub(crate) points: Vec<(f64, Option<f64>)>,
    pub(crate) colour: &'static str,
    /// Pixels.
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    /// The figures beside its name.
    pub(crate) figures: Vec<String>,
}

/// A filled range of a panel: seconds, lower and upper end in base units.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Area {
    pub(crate) range: Vec<(f64, Option<(f64, f64)>)>,
    pub(crate) fill: Fill,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimePanel {
    pub(crate) title: String,
    /// How, after the unit.
    pub(crate) how: String,
    pub(crate) quantity: Quantity,
    /// Panels with the same word have the same axis.
    pub(crate) axis: &'static str,
    /// Behind the lines, the first at the back.
    pub(crate) areas: Vec<Area>,
    /// The first at the back.
    pub(crate) lines: Vec<TimeLine>,
    /// Names of rows of equal height, from the top, in the place of an axis; areas lie in them, row by row from 0 at the bottom.
    ///
    /// With each a figure, shown in the column beside.
    pub(crate) rows: Vec<(String, String)>,
    /// Horizontal rules: value, and what it means.
    pub(crate) rules: Vec<(f64, String)>,
    /// Strokes above the panel, seconds and color; a lane for each color.
    pub(crate) strokes: Vec<(f64, &'static str)>,
    /// What the one large figure is, and the figure.
    pub(crate) headline: Option<(String, String)>,
    /// What the figures beside the names are, one word or two a column.
    pub(crate) heads: Vec<&'static str>,
    /// Smaller words below the names.
    pub(crate) facts: Vec<String>,
    /// Pixels.
    pub(crate) height: f64,
}

impl TimePanel {
    /// A panel without anything in it yet.
    pub(crate) fn new(title: impl Into<String>, quantity: Quantity, axis: &'static str, height: f64) -> Self {
        Self {
            title: title.into(),
            how: String::new(),
            quantity,
            axis,
            areas: Vec::new(),
            lines: Vec::new(),
            rows: Vec::new(),
            rules: Vec::new(),
            strokes: Vec::new(),
            headline: None,
            heads: Vec::new(),
            facts: Vec::new(),
            height,
        }
    }

    /// Whether it shows a value.
    pub(crate) fn has_values(&self) -> bool {
        self.values().next().is_some()
    }

    /// Every value that is drawn as a point of a line or as the upper end of a range.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let lines = self.lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
        let areas = self.areas.iter().flat_map(|area| &area.range).filter_map(|(_, ends)| ends.map(|ends| ends.1));
        lines.chain(areas).filter(|value| value.is_finite())
    }

    /// Draws it with an axis that is to be read up to `top` base units.
    pub(crate) fn draw(&self, page: &mut Page<'_>, top: f64, last: bool) {
        let ticks = if self.height < 130.0 { 3 } else { 4 };
        let (axis, unit) = match self.rows.len() {
            0 => self.quantity.axis(top, ticks),
            rows => (Axis { min: 0.0, max: rows as f64, step: 1.0 }, Unit { size: 1.0, name: "" }),
        };
        let (panel, frame) = page.panel(&PanelPlan {
            title: &self.title,
            unit: self.unit_words(unit),
            note: self.quantity.beyond(self.values(), &axis, unit),
            axis,
            scale: Scale::Linear,
            lanes: self.lanes().len(),
            height: self.height,
            side_height: self.side_height(),
            last,
        });
        self.draw_marks(page, (panel, frame), &axis, unit);
        self.name_rows(page, panel, frame);
        self.draw_side(page, frame.top);
    }

    /// The unit, and how values are shown in it.
    pub(crate) fn unit_words(&self, unit: Unit) -> String {
        [unit.name, &self.how].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The colors of its strokes.
    pub(crate) fn lanes(&self) -> Vec<&'static str> {
        let mut colours: Vec<&'static str> = Vec::new();
        for (_, colour) in &self.strokes {
            if !colours.contains(colour) {
                colours.push(colour);
            }
        }
        colours
    }

    /// Draws what is within its frame, and the strokes above.
    pub(crate) fn draw_marks(&self, page: &mut Page<'_>, place: (PanelIndex, Frame), axis: &Axis, unit: Unit) {
        let (panel, frame) = place;
        for area in &self.areas {
            let scaled = |(low, high): (f64, f64)| (low / unit.size, high / unit.size);
            let range: Vec<_> = area.range.iter().map(|(at, ends)| (*at, ends.map(scaled))).collect();
            page.figure.range(panel, &range, area.fill);
        }
        self.draw_rules(page, panel, frame, axis);
        for (index, line) in self.lines.iter().enumerate() {
            let points = line.points.iter().map(|(at, value)| (*at, value.map(|value| value / unit.size))).collect();
            let TimeLine { name, colour, width, dash, .. } = line;
            let height = u8::try_from(3 + index).unwrap_or(u8::MAX);
            page.figure.line(panel, &Line { name, points, colour, width: *width, dash: *dash, height });
        }
        let lanes = self.lanes();
        for (lane, colour) in lanes.iter().enumerate() {
            let strokes = self.strokes.iter().filter(|stroke| stroke.1 == *colour);
            let at: Vec<f64> = strokes.map(|stroke| stroke.0).collect();
            page.figure.strokes_above(panel, &at, axis.max, lanes.len() - 1 - lane, colour);
        }
    }

    fn name_rows(&self, page: &mut Page<'_>, panel: PanelIndex, frame: Frame) {
        if self.rows.is_empty() {
            return;
        }
        page.figure.without_values(panel);
        let name_style = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
        let figure_style = TextStyle { align: Align::Left, ..name_style };
        let pitch = frame.height / self.rows.len() as f64;
        for (index, (name, figure)) in self.rows.iter().enumerate() {
            let y = frame.top + pitch * (index as f64 + 0.5) - 7.0;
            page.figure.text(PANEL_LEFT - 7.0, y, name, name_style);
            page.figure.text(SIDE_LEFT, y, figure, figure_style);
        }
    }

    fn draw_rules(&self, page: &mut Page<'_>, panel: PanelIndex, frame: Frame, axis: &Axis) {
        for (value, words) in &self.rules {
            let points = vec![(page.time.min, Some(*value)), (page.time.max, Some(*value))];
            let colour = page.theme.axis;
            page.figure.line(panel, &Line { name: "", points, colour, width: 1.0, dash: Dash::Dashed, height: 2 });
            let style = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
            // Below the line if room is left, or the words would leave the panel.
            let y = frame.y(axis, *value);
            let y = if y + 16.0 < frame.top + frame.height { y + 2.0 } else { y - 14.0 };
            page.figure.text(frame.left + frame.width - 4.0, y, words, style);
        }
    }

    /// The lines that have a name.
    fn named(&self) -> Vec<&TimeLine> {
        self.lines.iter().filter(|line| !line.name.is_empty()).collect()
    }

    /// Columns and rows of names.
    fn table(&self) -> (usize, usize) {
        let shown = self.named().len().min(NAMED);
        let columns = if shown > ONE_COLUMN && self.heads.len() < 2 { 2 } else { 1 };
        (columns, shown.div_ceil(columns))
    }

    fn side_height(&self) -> f64 {
        let hidden = usize::from(self.named().len() > NAMED);
        let rows = self.table().1 + usize::from(!self.heads.is_empty()) + hidden + self.facts.len();
        self.headline.as_ref().map_or(0.0, |_| HEADLINE) + PITCH * rows as f64
    }

    fn draw_side(&self, page: &mut Page<'_>, top: f64) {
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        let mut y = top - 2.0;
        if let Some((what, figure)) = &self.headline {
            page.figure.text(SIDE_LEFT, y, what, small);
            let style = TextStyle::left(22.0, Weight::SemiBold, page.theme.ink);
            page.figure.text(SIDE_LEFT, y + 15.0, figure, style);
            y += HEADLINE;
        }
        let named = self.named();
        let (columns, rows) = self.table();
        let width = SIDE_RIGHT - SIDE_LEFT;
        let column_width = if columns > 1 { (width - GUTTER) / 2.0 } else { width };
        let edge = |column: usize, figure: usize| {
            let right = SIDE_LEFT + column as f64 * (column_width + GUTTER) + column_width;
            right - FIGURE * (self.heads.len().saturating_sub(1 + figure)) as f64
        };
        if !self.heads.is_empty() {
            for column in 0..columns {
                for (index, head) in self.heads.iter().enumerate() {
                    let style = TextStyle { size: 10.5, align: Align::Right, ..small };
                    page.figure.text(edge(column, index), y + 2.0, head, style);
                }
            }
            y += PITCH;
        }
        for (column, chunk) in named.get(..named.len().min(NAMED)).unwrap_or_default().chunks(rows.max(1)).enumerate() {
            let names: Vec<String> = chunk.iter().map(|line| line.name.clone()).collect();
            page.figure.legend(SIDE_LEFT + column as f64 * (column_width + GUTTER), y, PITCH, 12.0, &names);
            for (row, line) in chunk.iter().enumerate() {
                for (index, figure) in line.figures.iter().enumerate() {
                    let style = TextStyle { size: 12.0, colour: page.theme.ink, align: Align::Right, ..small };
                    page.figure.text(edge(column, index), y + 2.0 + PITCH * row as f64, figure, style);
                }
            }
        }
        y += PITCH * rows as f64;
        let hidden = named.len().saturating_sub(NAMED);
        if hidden > 0 {
            page.figure.text(SIDE_LEFT, y, &format!("and {hidden} more, not named here"), small);
            y += PITCH;
        }
        for fact in &self.facts {
            page.figure.text(SIDE_LEFT, y + 2.0, fact, small);
            y += PITCH;
        }
    }
}

/// Where an axis for all these panels has to end, base units.
pub(crate) fn shared_top<'p>(panels: impl Iterator<Item = &'p TimePanel>) -> f64 {
    let panels: Vec<&TimePanel> = panels.collect();
    let values: Vec<f64> = panels.iter().flat_map(|panel| panel.values()).collect();
    // Most bins of a count are empty, so that the 99th percentile says nothing of the others.
    if panels.iter().any(|panel| panel.quantity == Quantity::Count) {
        return values.into_iter().fold(0.0, f64::max);
    }
    readable_top(values)
}

//! What panels are made of: charts in braille, scales, blocks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line, Points};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_view::text::equalizer::BLOCKS;

use super::palette::Palette;

/// Columns left of a chart, for the scale.
const SCALE: u16 = 10;
/// Columns right of a chart, for the names of lines.
const NAMES: u16 = 7;

/// One line of a chart.
pub(super) struct Series {
    /// The text at its end.
    pub(super) name: String,
    pub(super) colour: Color,
    /// A value for each second from T0 on; nothing where it is not known.
    pub(super) values: Vec<Option<f64>>,
}

/// A chart over the whole test.
pub(super) struct Chart<'a> {
    /// Its lines, the most important last: it is drawn over the others.
    pub(super) series: Vec<Series>,
    /// Seconds, as places from T0, with a loss.
    pub(super) losses: Vec<usize>,
    /// The length of the test, seconds.
    pub(super) length: f64,
    /// Where the load begins and ends.
    pub(super) phases: &'a [PhaseWindow],
    /// A value as its scale says it.
    pub(super) unit: fn(f64) -> String,
    /// The scale reaches at least to this.
    pub(super) least: f64,
}

impl Chart<'_> {
    pub(super) fn draw(&self, area: Rect, palette: &Palette, buffer: &mut Buffer) {
        if area.width <= SCALE + NAMES || area.height < 2 {
            return;
        }
        let top = nice(self.most().max(self.least));
        let chart = Rect { x: area.x + SCALE, width: area.width - SCALE - NAMES, ..area };
        let scale = |y: u16, value: f64, buffer: &mut Buffer| {
            let text = (self.unit)(value);
            buffer.set_string(area.x, y, format!("{text:>8} ┤"), Palette::muted());
        };
        for y in area.y..area.bottom() {
            buffer.set_string(area.x + SCALE - 1, y, "│", Palette::muted());
        }
        scale(area.y, top, buffer);
        if area.height >= 7 {
            scale(area.y + area.height / 2, top / 2.0, buffer);
        }
        scale(area.bottom() - 1, 0.0, buffer);
        let canvas = Canvas::default().marker(Marker::Braille).x_bounds([0.0, self.length]).y_bounds([0.0, top]);
        canvas.paint(|context| self.paint(context, (top, chart.height), palette)).render(chart, buffer);
        self.name_lines(chart, top, buffer);
        // Losses stand below all lines, on the lowest row.
        let columns = f64::from(chart.width) / self.length;
        for second in &self.losses {
            let column = ((*second as f64 + 0.5) * columns) as u16;
            let style = Style::new().fg(palette.alarm());
            buffer.set_string(chart.x + column.min(chart.width - 1), chart.bottom() - 1, "×", style);
        }
    }

    fn most(&self) -> f64 {
        self.series.iter().flat_map(|series| &series.values).flatten().copied().fold(0.0, f64::max)
    }

    fn paint(&self, context: &mut Context<'_>, (top, height): (f64, u16), palette: &Palette) {
        // Four dots of Braille are one above the other; every second one makes a dotted line.
        let dots = 4 * height;
        for phase in self.phases.iter().filter(|entry| entry.phase == Phase::Load) {
            for at in [phase.window.from, phase.window.to] {
                let share = |dot: u16| (f64::from(dot) + 0.5) / f64::from(dots);
                let line: Vec<_> = (0..dots).step_by(2).map(|dot| (at.seconds(), top * share(dot))).collect();
                context.draw(&Points::new(&line, palette.axis()));
            }
        }
        context.layer();
        for series in &self.series {
            // A value stands for its whole second; a gap is a gap.
            let middle = |second: usize| second as f64 + 0.5;
            let known = |second: usize| series.values.get(second).copied().flatten();
            for second in 0..series.values.len() {
                let Some(value) = known(second) else { continue };
                match second.checked_sub(1).and_then(known) {
                    Some(before) => {
                        context.draw(&Line::new(middle(second - 1), before, middle(second), value, series.colour));
                    }
                    None => context.draw(&Points::new(&[(middle(second), value)], series.colour)),
                }
            }
        }
    }

    /// The name of each line, as near to its latest value as room allows.
    fn name_lines(&self, chart: Rect, top: f64, buffer: &mut Buffer) {
        let mut taken: Vec<u16> = Vec::new();
        for series in self.series.iter().rev() {
            let Some(value) = series.values.iter().rev().take(5).flatten().next() else { continue };
            let from_top =
                ((1.0 - value / top) * f64::from(chart.height)).clamp(0.0, f64::from(chart.height - 1)) as u16;
            let rows = (0..chart.height).map(|row| chart.y + row).filter(|row| !taken.contains(row));
            let Some(row) = rows.min_by_key(|row| row.abs_diff(chart.y + from_top)) else { continue };
            taken.push(row);
            let room = usize::from(NAMES - 1);
            buffer.set_stringn(chart.right() + 1, row, &series.name, room, Style::new().fg(series.colour));
        }
    }
}

/// The next of 1, 1.5, 2, 3, 5, 7 times a power of ten.
fn nice(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

/// A block for each share, 0 to 1; a blank without one.
pub(super) fn blocks(x: u16, y: u16, shares: &[Option<f64>], palette: &Palette, buffer: &mut Buffer) {
    for (column, share) in (x..).zip(shares) {
        let Some(share) = share.map(|share| share.clamp(0.0, 1.0)) else { continue };
        let block = BLOCKS[(share * (BLOCKS.len() - 1) as f64).round() as usize];
        buffer.set_string(column, y, block.to_string(), Style::new().fg(palette.kept(share)));
    }
}

/// A heading over the whole width: a name, figures, and a rule to the end.
pub(super) fn heading(area: Rect, y: u16, name: &str, explained: &str, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let (x, _) = buffer.set_stringn(area.x, y, name, width, Palette::strong());
    let room = usize::from(area.right().saturating_sub(x));
    let text = if explained.is_empty() { String::new() } else { format!("  {explained}") };
    let (x, _) = buffer.set_stringn(x, y, text, room, Palette::muted());
    let rule = "─".repeat(usize::from(area.right().saturating_sub(x + 1)));
    if area.right() > x {
        buffer.set_string(x + 1, y, rule, Palette::muted());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_values() {
        for (value, top) in [(0.0, 1e-9), (1.0, 1.0), (18.9, 20.0), (215.0, 300.0), (551.0, 700.0), (7001.0, 10_000.0)]
        {
            assert!((nice(value) / top - 1.0).abs() < 1e-9, "{value}: {}", nice(value));
        }
    }
}

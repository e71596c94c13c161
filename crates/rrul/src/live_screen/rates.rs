//! Goodput over time: a chart for each direction, a line for each class and one for their sum.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

use super::palette::Palette;
use super::panel::{Chart, Series, heading};
use super::state::State;

/// Draws both directions side by side.
pub(super) fn draw(state: &State, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    let half = area.width / 2;
    let left = Rect { width: half.saturating_sub(1), ..area };
    let right = Rect { x: area.x + half, width: area.width - half, ..area };
    for (direction, area) in Direction::ALL.into_iter().zip([left, right]) {
        draw_direction(state, direction, area, palette, buffer);
    }
}

fn draw_direction(state: &State, direction: Direction, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    let word = direction.select("Upload", "Download");
    let streams = state.streams(direction);
    let sum = state.course.sum(direction);
    let now = sum.last().map_or_else(|| "-".to_owned(), ToString::to_string);
    let of = if streams == 0 { "no load".to_owned() } else { format!("sum of {streams}") };
    heading(area, area.y, &format!("{word} {now}"), &of, buffer);
    if area.height < 4 {
        return;
    }
    let classes = || state.course.rates().iter().filter(|rate| rate.direction == direction);
    let values = |rates: &[BitRate]| rates.iter().map(|rate| Some(rate.0 as f64)).collect();
    let mut series: Vec<Series> = classes()
        .map(|rate| Series {
            name: rate.class.to_string(),
            colour: palette.class(rate.class),
            values: values(&state.course.rate(rate)),
        })
        .collect();
    // The sum of one class is that class.
    if series.len() > 1 {
        series.push(Series { name: "sum".to_owned(), colour: Color::Reset, values: values(&sum) });
    }
    let chart = Chart {
        series,
        losses: Vec::new(),
        length: state.length(),
        phases: &state.phases,
        unit: short_rate,
        least: 100_000.0,
    };
    chart.draw(Rect { y: area.y + 1, height: area.height - 2, ..area }, palette, buffer);
    let (mut x, y) = (area.x, area.bottom() - 1);
    for rate in classes() {
        let last = state.course.rate(rate).last().map_or_else(|| "-".to_owned(), |rate| short_rate(rate.0 as f64));
        let text = format!("{} {last}", rate.class);
        if usize::from(area.right().saturating_sub(x)) < text.chars().count() {
            break;
        }
        buffer.set_string(x, y, &text, Style::new().fg(palette.class(rate.class)));
        x += text.chars().count() as u16 + 2;
    }
}

/// A rate with as few characters as tell it: `18.9M` is Mbit/s.
fn short_rate(rate: f64) -> String {
    let text = BitRate(rate.max(0.0).round() as u64).to_string();
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    match unit.chars().next() {
        _ if number == "0" => "0".to_owned(),
        Some(letter) if letter != 'b' => format!("{number}{letter}"),
        _ => number.to_owned(),
    }
}

//! Round-trip delay over time, a line for each class and family, with losses; and what it is now against the idle line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use rrul_analysis::live::DelayCell;
use rrul_model::units::Delay;

use super::palette::Palette;
use super::panel::{Chart, Series, heading};
use super::state::{State, latest};

/// From this width on the figures are beside the chart, as a table.
pub(super) const WIDE: u16 = 130;
/// The columns of the table: medians on the idle line and in the latest second, what was added to them, the longest of that
/// second, and what was lost so far.
const COLUMNS: [&str; 5] = ["idle", "now", "added", "longest", "lost"];
const TABLE: u16 = 64;

pub(super) fn draw(state: &State, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    let snapshot = state.live.snapshot();
    let now = snapshot.delay.map_or_else(|| "-".to_owned(), |delay| delay.to_string());
    let lost = match snapshot.lost_last_second {
        0 => String::new(),
        lost => format!("   lost {lost} in the last second"),
    };
    let explained = format!("median of probes by second{lost}");
    heading(area, area.y, &format!("Round-trip delay {now}"), &explained, buffer);
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if area.width < WIDE {
        // The figures are beside the equalizer.
        chart(state, palette).draw(body, palette, buffer);
        return;
    }
    let chart_area = Rect { width: area.width - TABLE, ..body };
    chart(state, palette).draw(chart_area, palette, buffer);
    table(state, Rect { x: chart_area.right() + 2, width: TABLE - 2, ..body }, palette, buffer);
}

fn chart<'a>(state: &'a State, palette: &Palette) -> Chart<'a> {
    let cells = state.course.cells();
    let series = |cell: &DelayCell| Series {
        name: state.name(cell),
        colour: palette.class(cell.class),
        values: cell.seconds().iter().map(|second| second.median.map(Delay::milliseconds)).collect(),
    };
    let seconds = cells.iter().map(|cell| cell.seconds().len()).max().unwrap_or(0);
    let lost =
        |second: &usize| cells.iter().any(|cell| cell.seconds().get(*second).is_some_and(|found| found.lost > 0));
    Chart {
        series: cells.iter().copied().map(series).collect(),
        losses: (0..seconds).filter(lost).collect(),
        length: state.length(),
        phases: &state.phases,
        unit: |milliseconds| match Delay((milliseconds * 1e6) as i64) {
            Delay(0) => "0 ms".to_owned(),
            delay => delay.to_string(),
        },
        least: 1.0,
    }
}

/// What a cell's probes meet now, as [`COLUMNS`] has it.
pub(super) fn figures(cell: &DelayCell) -> [String; 5] {
    let said = |delay: Option<Delay>| delay.map_or_else(|| "-".to_owned(), |delay| delay.to_string());
    let (idle, now) = (cell.idle_median(), latest(cell).and_then(|second| second.median));
    let added = idle.zip(now).map_or_else(|| "-".to_owned(), |(idle, now)| added(now - idle));
    let losses = cell.losses();
    let lost = losses.share().map(|share| format!("{} ({:.1} %)", losses.gone, 100.0 * share));
    let longest = latest(cell).and_then(|second| second.longest);
    [said(idle), said(now), added, said(longest), lost.unwrap_or_else(|| "-".to_owned())]
}

fn added(delay: Delay) -> String {
    if delay.0 > 0 { format!("+{delay}") } else { delay.to_string() }
}

fn table(state: &State, area: Rect, palette: &Palette, buffer: &mut Buffer) {
    let ends = [16, 26, 36, 46, 62];
    let right = |end: u16, text: &str| area.x + end.saturating_sub(text.chars().count() as u16);
    for (name, end) in COLUMNS.into_iter().zip(ends) {
        buffer.set_string(right(end, name), area.y, name, Palette::muted());
    }
    for (y, cell) in (area.y + 1..area.bottom()).zip(state.course.cells()) {
        buffer.set_string(area.x, y, state.name(cell), Style::new().fg(palette.class(cell.class)));
        for (text, end) in figures(cell).iter().zip(ends) {
            buffer.set_string(right(end, text), y, text, Style::new());
        }
    }
}

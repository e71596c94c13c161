//! The equalizer: the parts of the composite over time, a row of bars for each class and family.

use rrul_analysis::Analysis;
use rrul_analysis::scores::composite::{CellScore, PART};
use rrul_analysis::scores::equalizer::{Bars, Column, Equalizer};
use rrul_model::flow::{AddressFamily, Direction};

use crate::chart::Chart;
use crate::drawing::figure::Fill;
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimePanel};
use crate::text::equalizer::fitting;

/// Pixels of a row.
const ROW: f64 = 24.0;
/// Most bars in a row.
const WIDEST: u128 = 160;
/// The part of a row that a full bar takes.
const FULL: f64 = 0.86;
/// What is left of a bar of nothing, or it would look like a gap.
const STUB: f64 = 0.04;

/// Parts of the score over time.
pub(crate) const CHART: Chart =
    Chart::over_time("equalizer", "parts of the composite score over time, by class, family and direction", show);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let missing = |text: String| Shown { missing: vec![text], ..Shown::default() };
    if let Some(withheld) = &run.scores.withheld {
        return missing(format!("No equalizer: {withheld}."));
    }
    let Some(equalizer) = fitting(run, WIDEST) else {
        return missing("No equalizer: no idle baseline.".to_owned());
    };
    let panels: Vec<TimePanel> = parts(&equalizer)
        .iter()
        .map(|part| panel(run, part, &equalizer, scene))
        .filter(|panel| !panel.rows.is_empty())
        .collect();
    let seconds = |ns: i64| ns as f64 / 1e9;
    let notes = vec![format!(
        "A bar is {} s, of slew and pages {} s; full is {PART:.0} points: as on the idle line. A hairline is 0; without a bar, \
         nothing of it was sent. Delay and slew are of round trips.",
        seconds(equalizer.window_ns),
        seconds(equalizer.slow_window_ns)
    )];
    Shown { panels, notes, missing: Vec::new() }
}

/// One part of the score: its name, whether its windows are the long ones, and its bars.
struct Part<'a> {
    title: &'static str,
    slow: bool,
    rows: Vec<(Option<&'a Column>, &'a Bars)>,
    /// Its points in the score.
    whole: fn(&CellScore) -> Option<f64>,
}

fn parts(equalizer: &Equalizer) -> Vec<Part<'_>> {
    type Whole = fn(&CellScore) -> Option<f64>;
    let of = |title, slow, direction: Direction, pick: fn(&Column) -> &Bars, whole: Whole| Part {
        title,
        slow,
        whole,
        rows: equalizer.columns.iter().filter(|c| c.direction == direction).map(|c| (Some(c), pick(c))).collect(),
    };
    vec![
        of("Delay", false, Direction::Down, |column| &column.delay, |cell| cell.delay),
        of(
            "Delay variation, down",
            false,
            Direction::Down,
            |column| &column.delay_variation,
            |cell| cell.delay_variation,
        ),
        of("Delay variation, up", false, Direction::Up, |column| &column.delay_variation, |cell| cell.delay_variation),
        of("Loss, down", false, Direction::Down, |column| &column.loss, |cell| cell.loss),
        of("Loss, up", false, Direction::Up, |column| &column.loss, |cell| cell.loss),
        of("Start slew", true, Direction::Down, |column| &column.slew, |cell| cell.slew),
        Part { title: "Pages", slow: true, rows: vec![(None, &equalizer.web)], whole: |_| None },
    ]
}

fn panel(run: &Analysis, part: &Part<'_>, equalizer: &Equalizer, scene: &Scene<'_>) -> TimePanel {
    let rows: Vec<_> = part.rows.iter().filter(|(_, bars)| bars.0.iter().any(Option::is_some)).collect();
    let both_families =
        AddressFamily::ALL.iter().all(|family| equalizer.columns.iter().any(|column| column.family == *family));
    let mut panel = TimePanel::new(part.title, Quantity::Index, "row", ROW * rows.len() as f64);
    panel.how = format!("0 to {PART:.0} points a row");
    let (from, width) = if part.slow {
        (equalizer.slow_from_ns, equalizer.slow_window_ns)
    } else {
        (equalizer.from_ns, equalizer.window_ns)
    };
    let (from, width) = (from.seconds(), width as f64 / 1e9);
    for (index, (column, bars)) in rows.iter().enumerate() {
        let base = (rows.len() - 1 - index) as f64;
        let bar = |(number, bar): (usize, &Option<f64>)| {
            let left = from + number as f64 * width;
            let ends = bar.map(|points| (base, base + (points / PART * FULL).clamp(STUB, FULL)));
            // A sliver between bars, so that each can be distinguished from the next.
            let gap = (width * 0.08).min(scene.time.length() * 0.002);
            [(left + gap, ends), (left + width - gap, ends), (left + width - gap, None)]
        };
        let range = bars.0.iter().enumerate().flat_map(bar).collect();
        let colour = column.map_or(scene.theme.muted, |column| scene.theme.class(column.class));
        panel.areas.push(Area { range, fill: Fill { colour, opacity: 0.85 } });
        let name = match column {
            None => "all".to_owned(),
            Some(column) if both_families => {
                format!("{} {}", column.class, crate::text::label::family_word(column.family))
            }
            Some(column) => column.class.to_string(),
        };
        panel.rows.push((name, over_load(run, part, *column)));
    }
    panel
}

/// What a row has of the score, whose window is the scored part of the load.
fn over_load(run: &Analysis, part: &Part<'_>, column: Option<&Column>) -> String {
    let points = run.scores.composite.as_ref().and_then(|composite| match column {
        None => composite.parts.web,
        Some(column) => composite
            .cells
            .iter()
            .find(|c| (c.class, c.family, c.direction) == (column.class, column.family, column.direction))
            .and_then(part.whole),
    });
    points.map_or_else(String::new, |points| format!("{points:.1} of {PART:.0} over the load"))
}

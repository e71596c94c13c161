//! The distribution of page load times, idle and under load.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::{Load, LoadOutcome};
use rrul_analysis::statistics::product_limit::{Observed, product_limit};
use rrul_model::units::Delay;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::{Sample, nanoseconds};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Align, Dash, Line, Scale, Side, Step, TextStyle, Ticks};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan, SIDE_RIGHT, fitted};
use crate::drawing::run_colours::{colour_words, run_colours};
use crate::panels::delay_side::{Reach, delay_side};
use crate::panels::page_conditions::{busy_loads, idle_loads, page_name};
use crate::panels::run_heading::headed;
use crate::text::words;
use crate::theme::Theme;

/// Height of a panel, pixels.
const HEIGHT: f64 = 380.0;
/// Most pages named beside the panel.
const NAMED: usize = 30;
/// Right edges of the columns of figures, from the left of the table.
const COLUMNS: [f64; 4] = [236.0, 280.0, 322.0, SIDE_RIGHT - BESIDE_LEFT];
/// Room for a name, pixels.
const NAME_ROOM: f64 = 176.0;
/// From the top of the table to its first row, pixels.
const ROWS: f64 = 25.0;

/// The chart that shows how long pages take, not only on average.
pub(crate) const CHART: Chart = Chart {
    name: "page_ecdf",
    about: "cumulative distribution of page load time, idle and loaded, by page and HTTP version",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// Loads of one page, idle and under load.
struct Entry {
    name: String,
    colour: &'static str,
    /// Pixels of its solid line.
    width: f64,
    idle: Times,
    busy: Times,
}

/// Times of loads under one condition, nanoseconds.
#[derive(Default)]
struct Times {
    loads: usize,
    incomplete: usize,
    /// Each load time and the part of loads that took at most this long.
    curve: Vec<(f64, f64)>,
    longest: f64,
}

impl Times {
    fn new(loads: &[&Load]) -> Self {
        let observed: Vec<Observed> = loads
            .iter()
            .filter_map(|load| match load.outcome {
                LoadOutcome::Complete => Some(Observed::Took(nanoseconds(load.took))),
                LoadOutcome::CutShort => Some(Observed::Longer(nanoseconds(load.took))),
                LoadOutcome::Failed | LoadOutcome::Capped => Some(Observed::Never),
                // What the browser did says nothing of the network.
                LoadOutcome::Broken => None,
            })
            .collect();
        let incomplete = observed.iter().filter(|one| !matches!(one, Observed::Took(_))).count();
        let longest = observed.iter().map(|one| match one {
            Observed::Took(time) | Observed::Longer(time) => *time,
            Observed::Never => 0.0,
        });
        let longest = longest.fold(0.0, f64::max);
        Self { loads: observed.len(), incomplete, curve: product_limit(&observed), longest }
    }

    /// The first time within which half of the loads were complete.
    fn median(&self, unit: Unit) -> String {
        if self.loads == 0 {
            return "–".to_owned();
        }
        let at = self.curve.iter().find(|(_, share)| *share >= 0.5 - 1e-9);
        at.map_or_else(|| "never".to_owned(), |(time, _)| unit.delay(Some(Delay(*time as i64))))
    }

    /// Whether some never were seen to end.
    fn ends_below_all(&self) -> bool {
        self.loads > 0 && self.curve.last().is_none_or(|(_, share)| *share < 1.0 - 1e-9)
    }

    /// The times for which an axis is made: those taken, and the longest that a load was waited for.
    fn sample(&self) -> Sample {
        let longest = (self.loads > 0).then_some(self.longest);
        let times = self.curve.iter().map(|(time, _)| *time).chain(longest);
        let mut sorted: Vec<Delay> = times.map(|time| Delay(time as i64)).collect();
        sorted.sort_unstable();
        Sample { sorted, lost: 0 }
    }
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let entries = entries(runs, theme);
    if entries.iter().all(|entry| entry.idle.loads + entry.busy.loads == 0) {
        page.message("Nothing to draw. No page was loaded, idle or under load.");
        return page.finish();
    }
    panel(&mut page, &entries);
    page.footnote(&format!(
        "Solid: loads begun under load, in the scored window; dashed: begun on the idle line. Product-limit estimate (Kaplan and Meier \
         1958): a load that was cut off counts as under way until then, one that failed or was given up never ends, so a \
         curve ends below 100 % where loads did not end. Loads whose browser broke are left out. {}",
        match runs.len() {
            1 => colour_words(entries.len()).to_owned(),
            many => format!("The pages of a run have its color, the first the widest line. {}", colour_words(many)),
        },
    ));
    page.finish()
}

fn entries<'r>(runs: &[&'r Analysis], theme: &Theme) -> Vec<Entry> {
    let names = words::run_names(runs);
    let style = TextStyle::left(12.0, Weight::Regular, theme.ink);
    let of = |(place, run): (usize, &&'r Analysis)| {
        let run: &'r Analysis = run;
        run.page_loads.iter().enumerate().map(move |(number, page)| (place, run, number, page))
    };
    let pages = || runs.iter().enumerate().flat_map(of);
    // One run: a color for each of its pages. Several: that of the run, for whatever it loaded.
    let of_run = run_colours(theme, runs.len());
    let of_page = run_colours(theme, pages().count());
    let single = runs.len() == 1;
    pages()
        .enumerate()
        .map(|(index, (place, run, number, page))| {
            let page_words = page_name(run, page);
            let name = if single { page_words } else { format!("{}: {page_words}", names[place]) };
            Entry {
                name: fitted(&name, style, NAME_ROOM),
                colour: if single { of_page[index] } else { of_run[place] },
                width: if single { 2.2 } else { 2.6 / (1.0 + 0.7 * number as f64) },
                idle: Times::new(&idle_loads(run, page)),
                busy: Times::new(&busy_loads(run, page)),
            }
        })
        .collect()
}

fn panel(page: &mut Page<'_>, entries: &[Entry]) {
    let samples: Vec<Sample> = entries.iter().flat_map(|entry| [entry.idle.sample(), entry.busy.sample()]).collect();
    let (x, unit) = delay_side(&samples.iter().collect::<Vec<_>>(), Reach::All);
    // Seconds are what people count page loads in.
    let (x, unit) = if unit.name == "ms" && x.axis.max > 1000.0 {
        let axis = Axis { min: x.axis.min / 1e3, max: x.axis.max / 1e3, step: x.axis.step / 1e3 };
        (Side { axis, ..x }, Unit { size: 1e9, name: "s" })
    } else {
        (x, unit)
    };
    let scale_words = if x.scale == Scale::Logarithmic { ", logarithmic scale" } else { "" };
    let ticks = [0, 25, 50, 75, 100].map(|percent| (f64::from(percent) / 100.0, format!("{percent} %")));
    let rows = entries.len().min(NAMED);
    let plan = PlanePlan {
        title: "Page load time",
        unit: "part of all loads that took at most this long".to_owned(),
        note: None,
        x_words: format!("page load time, {}{scale_words}", unit.name),
        x,
        y: Side {
            axis: Axis { min: 0.0, max: 1.0, step: 0.25 },
            scale: Scale::Linear,
            ticks: Ticks::Named(ticks.to_vec()),
        },
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: ROWS + PITCH * (rows + 2) as f64,
    };
    let (panel, frame) = page.plane(&plan);
    let floor = if plan.x.scale == Scale::Logarithmic { plan.x.axis.min } else { f64::NEG_INFINITY };
    for entry in entries {
        for (times, dash, width) in
            [(&entry.busy, Dash::Solid, entry.width), (&entry.idle, Dash::Dashed, entry.width * 0.8)]
        {
            let mut points: Vec<(f64, Option<f64>)> =
                times.curve.iter().map(|(time, share)| ((time / unit.size).max(floor), Some(*share))).collect();
            if let Some(&(first, _)) = points.first() {
                points.insert(0, (first, Some(0.0)));
            }
            if times.ends_below_all() {
                // On to the edge: the others were never seen to end.
                let last = points.last().copied().unwrap_or((plan.x.axis.min, Some(0.0)));
                if points.is_empty() {
                    points.push(last);
                }
                points.push((plan.x.axis.max.max(last.0), last.1));
            }
            let colour = entry.colour;
            page.figure.steps(panel, &Line { name: &entry.name, points, colour, width, dash, height: 4 }, Step::Across);
        }
    }
    let top = frame.top - 4.0;
    let head = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
    let cell = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
    page.figure.text(BESIDE_LEFT, top, unit.name, TextStyle { align: Align::Left, ..head });
    let heads = [["idle", "P50"], ["load", "P50"], ["loads", "begun"], ["not", "complete"]];
    for (edge, [upper, lower]) in COLUMNS.into_iter().zip(heads) {
        page.figure.text(BESIDE_LEFT + edge, top - 8.0, upper, head);
        page.figure.text(BESIDE_LEFT + edge, top + 6.0, lower, head);
    }
    let names: Vec<String> = entries[..rows].iter().map(|entry| entry.name.clone()).collect();
    page.figure.legend(BESIDE_LEFT, top + ROWS, PITCH, 12.0, &names);
    for (row, Entry { idle, busy, .. }) in entries[..rows].iter().enumerate() {
        let y = top + ROWS + 2.0 + PITCH * row as f64;
        let incomplete = idle.incomplete + busy.incomplete;
        let cells = [
            idle.median(unit),
            busy.median(unit),
            format!("{}+{}", idle.loads, busy.loads),
            words::count(incomplete as u64),
        ];
        for (column, (edge, text)) in COLUMNS.into_iter().zip(cells).enumerate() {
            let colour = if column == 3 && incomplete > 0 { page.theme.alarm } else { page.theme.ink };
            page.figure.text(BESIDE_LEFT + edge, y, &text, TextStyle { colour, ..cell });
        }
    }
    if entries.len() > rows {
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        let text = format!("and {} more, not named here", entries.len() - rows);
        page.figure.text(BESIDE_LEFT, top + ROWS + PITCH * (rows as f64 + 0.3), &text, small);
    }
}

//! The panel of distributions of round-trip delay: idle dashed and loaded solid, of each class or of each run.

use rrul_analysis::Analysis;
use rrul_analysis::packets::probe_pool::of_one_kind;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;

use crate::delay_sample::Sample;
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Align, Dash, Frame, Line, Scale, Side, Step, TextStyle, Ticks};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan, SIDE_RIGHT};
use crate::drawing::run_colours::{colour_words, run_colours};
use crate::panels::delay_side::{Reach, beyond, delay_side};
use crate::panels::run_heading::{headed, short_names};
use crate::panels::thinning::{CELLS, thinned};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::theme::Theme;

/// Pixels.
const HEIGHT: f64 = 400.0;
/// Most entries named beside the panel.
const NAMED: usize = 40;
/// Right edges of the columns of figures, from the left of the table.
const COLUMNS: [f64; 4] = [232.0, 282.0, 330.0, SIDE_RIGHT - BESIDE_LEFT];
const NAME_ROOM: f64 = 168.0;
/// From the top of the table to its first row, pixels.
const ROWS: f64 = 25.0;

/// The form in which a distribution is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The part of packets that took at most this long.
    AtMost,
    /// The part that took at least this long, on a logarithmic axis: the tail.
    AtLeast,
}

/// What the color distinguishes: a class, or a run.
struct Entry {
    name: String,
    colour: &'static str,
    width: f64,
    idle: Sample,
    load: Sample,
}

/// The chart of these runs, at least one.
pub(crate) fn draw(runs: &[&Analysis], theme: &Theme, look: Look) -> Drawing {
    let mut page = headed(theme, runs);
    let entries = if let [run] = runs { of_classes(run, theme) } else { of_runs(runs, theme) };
    let samples: Vec<&Sample> = entries.iter().flat_map(|entry| [&entry.idle, &entry.load]).collect();
    if samples.iter().all(|sample| sample.sent() == 0) {
        page.message("Nothing to draw. No delay probes were sent in the idle or the load phase.");
        return page.finish();
    }
    let (x, unit) = delay_side(&samples, if look == Look::AtLeast { Reach::All } else { Reach::Nearly });
    // Of one run each class alone, if several: the pooled probes are some of them.
    let counted = if runs.len() == 1 && entries.len() > 1 { &samples[2..] } else { &samples[..] };
    let most = samples.iter().map(|sample| sample.sent()).max().unwrap_or(1);
    let scale_words = if x.scale == Scale::Logarithmic { ", logarithmic scale" } else { "" };
    let rows = entries.len().min(NAMED);
    let plan = PlanePlan {
        title: "Round-trip delay",
        unit: match look {
            Look::AtMost => "part of all packets that took at most this long".to_owned(),
            Look::AtLeast => "part of all packets that took at least this long; P99 is one in a hundred".to_owned(),
        },
        note: beyond(counted, &x, unit),
        x_words: format!("round-trip delay, {}{scale_words}", unit.name),
        x,
        y: if look == Look::AtMost { shares() } else { tail(most) },
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: ROWS + PITCH * (rows + 2) as f64,
    };
    let (panel, frame) = page.plane(&plan);
    // A bundle of more lines than have colors of their own shows no parts of a pixel.
    let cells = if runs.len() > theme.runs.len() { 1.0 } else { CELLS };
    for entry in &entries {
        for (sample, dash, width) in [(&entry.load, Dash::Solid, 1.0), (&entry.idle, Dash::Dashed, 0.8)] {
            let points = curve(sample, look, &plan, unit, cells);
            let line =
                Line { name: &entry.name, points, colour: entry.colour, width: entry.width * width, dash, height: 4 };
            page.figure.steps(panel, &line, if look == Look::AtMost { Step::Across } else { Step::Upright });
        }
    }
    if runs.len() <= theme.runs.len() {
        // Of one run the pooled probes alone: its classes end where they do, or nearly.
        name_ends(&mut page, frame, &plan.y, if runs.len() == 1 { &entries[..1] } else { &entries }, look);
    }
    table(&mut page, frame.top - 4.0, &entries[..rows], unit, look);
    if entries.len() > rows {
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        let text = format!("and {} more, not named here", entries.len() - rows);
        page.figure.text(BESIDE_LEFT, frame.top + ROWS + PITCH * (rows as f64 + 0.3), &text, small);
    }
    let what = if runs.len() == 1 { "class" } else { "run" };
    page.footnote(&format!(
        "Solid: under load, in the scored window. Dashed: idle. Every packet counts, nothing is binned (RFC 2330 section 11.3). \
         A lost packet is infinitely late: a curve {} by the part that was lost, which is beside its {what}. {}",
        if look == Look::AtMost { "ends below 100 %" } else { "runs on to the right edge above zero" },
        colour_words(runs.len()),
    ));
    page.finish()
}

/// The pooled probes, and of several classes, each.
fn of_classes(run: &Analysis, theme: &Theme) -> Vec<Entry> {
    let chosen = of_one_kind(&run.round_trip_delay.flows);
    let flows = || chosen.iter();
    let mut classes: Vec<ServiceClass> = flows().map(|flow| flow.flow.class).collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.dscp()));
    classes.dedup();
    let of = |phase| Sample::pooled(run, phase);
    let all = Entry {
        name: pooled_name(&[run]).to_owned(),
        colour: theme.ink,
        // Under the classes, and seen beside them where they lie on it.
        width: 4.0,
        idle: of(Phase::Idle),
        load: of(Phase::Load),
    };
    let mut entries = vec![all];
    if classes.len() > 1 {
        entries.extend(classes.into_iter().map(|class| {
            let packets = || flows().filter(move |flow| flow.flow.class == class).flat_map(|flow| &flow.series);
            let of = |phase| Sample::of(run, phase, packets());
            let (idle, load) = (of(Phase::Idle), of(Phase::Load));
            Entry { name: class.to_string(), colour: theme.class(class), width: 1.6, idle, load }
        }));
    }
    entries
}

fn of_runs(runs: &[&Analysis], theme: &Theme) -> Vec<Entry> {
    let names = short_names(runs, theme, NAME_ROOM);
    let width = if runs.len() <= theme.runs.len() { 2.0 } else { 1.3 };
    let of = |((run, name), colour): ((&&Analysis, String), &'static str)| {
        let of = |phase| Sample::pooled(run, phase);
        Entry { name, colour, width, idle: of(Phase::Idle), load: of(Phase::Load) }
    };
    runs.iter().zip(names).zip(run_colours(theme, runs.len())).map(of).collect()
}

fn shares() -> Side {
    let ticks = [0, 25, 50, 75, 95, 100].map(|percent| (f64::from(percent) / 100.0, format!("{percent} %")));
    Side { axis: Axis { min: 0.0, max: 1.0, step: 0.25 }, scale: Scale::Linear, ticks: Ticks::Named(ticks.to_vec()) }
}

/// From all down to one packet of so many, at least to one in a thousand.
fn tail(most: u64) -> Side {
    let least = 10_f64.powf((1.0 / most.max(1) as f64).log10().floor()).min(1e-3);
    let names = [
        (0.5, "P50"),
        (0.1, "P90"),
        (0.05, "P95"),
        (0.01, "P99"),
        (1e-3, "P99.9"),
        (1e-4, "P99.99"),
        (1e-5, "P99.999"),
    ];
    let ticks =
        names.into_iter().filter(|(share, _)| *share >= least * 0.99).map(|(share, name)| (share, name.to_owned()));
    Side {
        axis: Axis { min: least, max: 1.0, step: 1.0 },
        scale: Scale::Logarithmic,
        ticks: Ticks::Named(ticks.collect()),
    }
}

/// The points of a curve, in steps; on to the right edge at the height of what was lost.
fn curve(sample: &Sample, look: Look, plan: &PlanePlan<'_>, unit: Unit, cells: f64) -> Vec<(f64, Option<f64>)> {
    let (x, y) = (&plan.x, &plan.y);
    // A logarithmic axis has no place for what is not positive; it is at the lower end, and is counted.
    let floor = if x.scale == Scale::Logarithmic { x.axis.min } else { f64::NEG_INFINITY };
    let points = if look == Look::AtMost { sample.at_most() } else { sample.at_least() };
    let scaled: Vec<(f64, f64)> =
        points.into_iter().map(|(delay, share)| ((delay / unit.size).max(floor), share)).collect();
    let place = |(delay, share): (f64, f64)| (x.part(delay), y.part(share));
    let mut line = thinned(&scaled, place, plan.width * cells, plan.height * cells);
    if let (Look::AtMost, Some(&(first, _))) = (look, line.first()) {
        line.insert(0, (first, 0.0));
    }
    if sample.lost > 0 {
        let answered = 1.0 - sample.lost_share();
        let (from, share) = match look {
            Look::AtMost => (x.axis.min, answered),
            Look::AtLeast => (x.axis.min, sample.lost_share()),
        };
        if line.is_empty() {
            line.push((from, share));
        }
        line.push((x.axis.max.max(line[line.len() - 1].0), share));
    }
    line.into_iter().map(|(delay, share)| (delay, Some(share))).collect()
}

/// Says at the right edge, as an axis does, where each curve of loads ends whose packets were not all answered.
fn name_ends(page: &mut Page<'_>, frame: Frame, y: &Side, entries: &[Entry], look: Look) {
    let mut ends: Vec<(f64, String, &'static str)> = entries
        .iter()
        .filter(|entry| entry.load.lost > 0)
        .map(|entry| {
            let lost = entry.load.lost_share();
            let share = if look == Look::AtMost { 1.0 - lost } else { lost };
            let words = if look == Look::AtMost { all_but(lost) } else { words::percent(lost) };
            (frame.top + (1.0 - y.part(share)) * frame.height - 6.0, words, entry.colour)
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::NEG_INFINITY;
    for (top, words, colour) in ends {
        let top = top.max(free);
        if top < frame.top + frame.height {
            let style = TextStyle::left(11.5, Weight::SemiBold, colour);
            page.figure.text(frame.left + frame.width + 5.0, top, &words, style);
        }
        free = top + 14.0;
    }
}

/// What remains of all without this part, as per cent: `97.7 %`. It is never rounded to all.
fn all_but(lost: f64) -> String {
    match lost {
        lost if lost < 0.000_05 => "<100 %".to_owned(),
        lost if lost < 0.01 => format!("{:.2} %", 100.0 * (1.0 - lost)),
        _ => format!("{:.1} %", 100.0 * (1.0 - lost)),
    }
}

fn table(page: &mut Page<'_>, top: f64, entries: &[Entry], unit: Unit, look: Look) {
    let heads = match look {
        Look::AtMost => [["idle", "P50"], ["load", "P50"], ["load", "P95"], ["load", "lost"]],
        Look::AtLeast => [["load", "P95"], ["load", "P99"], ["load", "P99.9"], ["load", "lost"]],
    };
    let head = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
    let cell = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
    page.figure.text(BESIDE_LEFT, top, unit.name, TextStyle { align: Align::Left, ..head });
    for (edge, [phase, figure]) in COLUMNS.into_iter().zip(heads) {
        page.figure.text(BESIDE_LEFT + edge, top - 8.0, phase, head);
        page.figure.text(BESIDE_LEFT + edge, top + 6.0, figure, head);
    }
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    page.figure.legend(BESIDE_LEFT, top + ROWS, PITCH, 12.0, &names);
    for (row, entry) in entries.iter().enumerate() {
        let of = |sample: &Sample, per_mille: u16| {
            if sample.sent() == 0 { "–".to_owned() } else { unit.delay(sample.percentile(per_mille)) }
        };
        let figures = match look {
            Look::AtMost => [of(&entry.idle, 500), of(&entry.load, 500), of(&entry.load, 950)],
            Look::AtLeast => [of(&entry.load, 950), of(&entry.load, 990), of(&entry.load, 999)],
        };
        let y = top + ROWS + 2.0 + PITCH * row as f64;
        for (edge, figure) in COLUMNS.into_iter().zip(figures) {
            page.figure.text(BESIDE_LEFT + edge, y, &figure, cell);
        }
        let lost = if entry.load.sent() == 0 { "–".to_owned() } else { words::percent(entry.load.lost_share()) };
        let colour = if entry.load.lost > 0 { page.theme.alarm } else { page.theme.ink };
        page.figure.text(BESIDE_LEFT + COLUMNS[3], y, &lost, TextStyle { colour, ..cell });
    }
}

//! The waterfall of a page: when each object was wanted and what it waited for, idle beside loaded.

use std::collections::{BTreeMap, BTreeSet};

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::{Load, LoadOutcome, object_took};
use rrul_analysis::metrics::web::page_loads::PageLoads;
use rrul_model::observation::WebObject;
use rrul_model::page::Page as Manifest;
use rrul_model::units::Delay;

use crate::chart::{Chart, Draw};
use crate::delay_sample::nanoseconds;
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Scale, Segment, Side, Stroke};
use crate::drawing::page::{Column, Page, Rows};
use crate::panels::page_conditions::{busy_loads, idle_loads, page_name};
use crate::panels::run_heading::headed;
use crate::text::words;
use crate::theme::Theme;

/// Most objects drawn.
const MOST: usize = 160;
/// Height that rows share, pixels, and from row to row at least and at most.
const HEIGHT: f64 = 900.0;
const PITCHES: [f64; 2] = [6.0, 18.0];
/// Rows that are named are at least so far apart, pixels.
const NAME_PITCH: f64 = 13.0;
/// Left edges of the two panels, pixels.
const LEFTS: [f64; 2] = [130.0, 648.0];
/// Width of the plot, pixels.
const WIDTH: f64 = 480.0;
/// The stretches of an object, in the order in which they follow each other.
const STRETCHES: [&str; 6] = ["blocked", "DNS", "connect", "TLS", "send and wait", "receive"];

/// The chart that shows why a page took its time.
pub(crate) const CHART: Chart = Chart {
    name: "page_waterfall",
    about: "waterfall of one page load, idle beside loaded",
    runs: 1..=1,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let run = runs[0];
    let mut page = headed(theme, runs);
    let middles =
        |loads: &PageLoads| [middle(&idle_loads(run, loads)).cloned(), middle(&busy_loads(run, loads)).cloned()];
    let all: Vec<(&PageLoads, [Option<Load>; 2])> =
        run.page_loads.iter().map(|loads| (loads, middles(loads))).collect();
    let both = all.iter().find(|(_, loads)| loads.iter().all(Option::is_some));
    let Some((loads, chosen)) = both.or_else(|| all.iter().find(|(_, loads)| loads.iter().any(Option::is_some))) else {
        page.message("Nothing to draw. No page was loaded in this run, idle or under load.");
        return page.finish();
    };
    page.subtitle(&format!("{}: {}.", page_name(run, loads), sentence(chosen)));
    page.key(&STRETCHES.map(str::to_owned));
    let left_out = waterfalls(&mut page, loads, chosen);
    page.footnote(
        "One load each: the median by page load time of the complete ones (without any, of all); the line marks its completion. Same row, same object. Red point: incomplete object.",
    );
    let mut more = Vec::new();
    if left_out > 0 {
        more.push(format!("{} after these are not drawn.", words::counted(left_out, "object")));
    }
    let refreshes: usize = chosen.iter().flatten().map(|load| load.refreshes.len()).sum();
    if refreshes > 0 {
        more.push(format!("{} made after the page was complete are not drawn.", words::counted(refreshes, "request")));
    }
    if all.len() > 1 {
        let others = all.iter().filter(|(other, _)| !std::ptr::eq(*other, *loads));
        let others: Vec<String> = others.map(|(other, _)| page_name(run, other)).collect();
        more.push(format!("Also in this run: {}.", others.join(", ")));
    }
    page.footnote(&more.join(" "));
    page.finish()
}

/// The load in the middle by time, of the complete ones, if any.
fn middle<'l>(loads: &[&'l Load]) -> Option<&'l Load> {
    let complete: Vec<&Load> = loads.iter().copied().filter(|load| load.outcome == LoadOutcome::Complete).collect();
    let mut of = if complete.is_empty() { loads.to_vec() } else { complete };
    of.sort_by_key(|load| (load.took, load.started, load.number));
    of.get(of.len().saturating_sub(1) / 2).copied()
}

fn outcome(load: &Load) -> String {
    match load.outcome {
        LoadOutcome::Complete => format!("complete after {}", load.took),
        LoadOutcome::Failed => format!("failed after {}", load.took),
        LoadOutcome::Capped => format!("given up after {}", load.took),
        LoadOutcome::CutShort => format!("cut off by the end of its flow after {}", load.took),
        LoadOutcome::Broken => "the browser broke".to_owned(),
    }
}

fn sentence(chosen: &[Option<Load>; 2]) -> String {
    let of = |load: &Option<Load>, word: &str| match load {
        Some(load) => format!("{word} {}", outcome(load)),
        None => format!("{word} never loaded"),
    };
    format!("{}, {}", of(&chosen[0], "idle"), of(&chosen[1], "under load"))
}

/// The stretches of an object as [`STRETCHES`] names them; what did not occur took no time.
fn stretches(object: &WebObject) -> [Delay; 6] {
    let WebObject { blocked, lookup, connect, secure, send, wait, receive, .. } = *object;
    let taken = |delay: Delay| Delay(delay.0.max(0));
    [taken(blocked), taken(lookup), taken(connect), taken(secure), taken(send) + taken(wait), taken(receive)]
}

/// Draws both loads; gives how many objects are left out.
fn waterfalls(page: &mut Page<'_>, loads: &PageLoads, chosen: &[Option<Load>; 2]) -> usize {
    let objects = || chosen.iter().flatten().flat_map(|load| load.objects.iter().map(move |object| (load, object)));
    let numbers: BTreeSet<u16> = objects().map(|(_, object)| object.object).collect();
    let left_out = numbers.len().saturating_sub(MOST);
    let rows_of: BTreeMap<u16, usize> =
        numbers.into_iter().take(MOST).enumerate().map(|(row, number)| (number, row)).collect();
    let since = |load: &Load, object: &WebObject| nanoseconds(object.wanted.since(load.started));
    let ends = objects().map(|(load, object)| since(load, object) + nanoseconds(object_took(object)));
    let top = ends.chain(chosen.iter().flatten().map(|load| nanoseconds(load.took))).fold(0.0, f64::max);
    let unit = if top >= 1e9 { Unit { size: 1e9, name: "s" } } else { Unit::of_delays(top) };
    let axis = Axis::from_zero(top / unit.size, 6);

    let pitch = (HEIGHT / rows_of.len().max(1) as f64).clamp(PITCHES[0], PITCHES[1]);
    let every = (NAME_PITCH / pitch).ceil() as usize;
    let manifest = (!loads.in_browser()).then(|| Manifest::named(&loads.page)).flatten();
    let name = |number: u16| {
        let known = manifest.as_ref().and_then(|manifest| manifest.objects.get(usize::from(number)));
        known
            .map_or_else(|| format!("object {number}"), |object| format!("{number} {}", kind(object.kind.media_type())))
    };
    let names: Vec<String> = rows_of
        .iter()
        .map(|(number, row)| if row.is_multiple_of(every) { name(*number) } else { String::new() })
        .collect();
    let rows = Rows { names: &names, pitch };
    let columns = [0, 1].map(|index| Column {
        title: ["Idle", "Under load"][index].to_owned(),
        unit: chosen[index].as_ref().map_or_else(
            || "never loaded".to_owned(),
            |load| {
                format!("load {} of {}, {}", load.number, load.flow.name, words::counted(load.objects.len(), "object"))
            },
        ),
        note: None,
        x: Side::new(axis, Scale::Linear),
        x_words: format!("{} since the load began", if unit.name == "s" { "seconds" } else { unit.name }),
        left: LEFTS[index],
        width: WIDTH,
    });
    let places = page.rows(&rows, &columns);
    let theme = page.theme;
    let colours = [
        (theme.range, 1.0),
        (theme.background_class, 1.0),
        (theme.signaling, 1.0),
        (theme.expedited, 1.0),
        (theme.best_effort, 0.4),
        (theme.best_effort, 1.0),
    ];
    let bar = (pitch * 0.72).min(11.0);
    for (load, (panel, _)) in chosen.iter().zip(places) {
        let Some(load) = load else { continue };
        let mut bars: [Vec<Segment>; 6] = Default::default();
        let mut broken = Vec::new();
        for object in &load.objects {
            let Some(row) = rows_of.get(&object.object) else { continue };
            let at = rows.at(*row);
            let mut from = since(load, object);
            for (bars, took) in bars.iter_mut().zip(stretches(object)) {
                let to = from + nanoseconds(took);
                if to > from {
                    bars.push([(from / unit.size, at), (to / unit.size, at)]);
                }
                from = to;
            }
            if object.outcome != WebObject::COMPLETE {
                broken.push((from / unit.size, at));
            }
        }
        for ((bars, name), (colour, opacity)) in bars.iter().zip(STRETCHES).zip(colours) {
            page.figure.segments(panel, name, bars, Stroke { colour, width: bar, opacity, height: 3 });
        }
        page.figure.dots(
            panel,
            "not complete",
            &broken,
            Stroke { colour: theme.alarm, width: 5.0, opacity: 1.0, height: 5 },
        );
        let there = nanoseconds(load.took) / unit.size;
        let upright = [[(there, 0.0), (there, names.len() as f64)]];
        page.figure.segments(
            panel,
            "there",
            &upright,
            Stroke { colour: theme.ink, width: 1.2, opacity: 1.0, height: 6 },
        );
    }
    left_out
}

/// The short word for a media type.
fn kind(media_type: &str) -> &str {
    match media_type {
        "text/html; charset=utf-8" => "page",
        "text/css" => "style",
        "text/javascript" => "script",
        "font/woff2" => "font",
        "image/png" => "image",
        _ => "data",
    }
}

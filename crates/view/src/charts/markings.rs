//! The marks matrix: with which marking packets of each class arrive, by direction and family.

use std::collections::BTreeSet;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::marking::code_point::CodePointVerdict;
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, MarkingPhase};
use rrul_analysis::metrics::marking::marking_tally::MarkingSource;
use rrul_model::marking::{Dscp, ServiceClass};

use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::Axis;
use crate::drawing::figure::{Align, Frame, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{MARGIN, Page, SIDE_RIGHT};
use crate::panels::time_chart::{introduce, title};
use crate::text::words;
use crate::theme::Theme;

/// Most runs below each other.
const MOST: usize = 4;
/// Width of the column of classes, pixels.
const CLASSES: f64 = 150.0;
/// Widest column, pixels.
const WIDEST: f64 = 260.0;
/// Height of a row, pixels.
const ROW: f64 = 26.0;
/// Most changed code points that all have a row.
const MOST_ALTERED: usize = 24;
/// Between cells, pixels.
const GAP: f64 = 2.0;

/// What the path makes of each class's marking.
pub(crate) const CHART: Chart = Chart {
    name: "markings",
    about: "service classes that the path preserves, remarks or drops, by direction",
    runs: 1..=MOST,
    draw: Draw::Runs(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let names = words::run_names(runs);
    let mut page = Page::new(theme, title(runs, &names), Axis::between(0.0, 1.0, 1), Vec::new());
    introduce(&mut page, runs, &names);
    if runs.iter().all(|run| run.markings.paths.is_empty()) {
        page.message("Nothing to draw. No packets with a recorded marking on arrival.");
        return page.finish();
    }
    for (run, name) in runs.iter().zip(&names) {
        if runs.len() > 1 {
            page.section(name, Vec::new());
        }
        if run.markings.paths.is_empty() {
            page.remark("No packets with a recorded marking on arrival.");
        } else {
            table(&mut page, run);
        }
    }
    page.footnote(
        "Each cell: the class with which packets of the row's class arrived in the column's direction, idle, and under load if that differs; unknown with fewer than two packets. n: packets that arrived, of those sent if the loss direction is known.",
    );
    page.finish()
}

fn table(page: &mut Page<'_>, run: &Analysis) {
    let paths = &run.markings.paths;
    let rows = rows(run);
    let width = ((SIDE_RIGHT - MARGIN - CLASSES) / paths.len() as f64).min(WIDEST);
    let theme = page.theme;
    let bold = TextStyle::left(13.0, Weight::SemiBold, theme.ink);
    let small = TextStyle::left(11.5, Weight::Regular, theme.muted);
    let top = page.room(50.0) + 14.0;
    page.figure.text(MARGIN, top, "sent as", bold);
    let left = |column: usize| MARGIN + CLASSES + width * column as f64;
    for (column, path) in paths.iter().enumerate() {
        let head = format!("{}, {}", path.direction, words::family_name(path.family));
        page.figure.text(left(column), top, &head, bold);
        let evidence = match path.evidence {
            MarkingSource::Sweep => "marking sweep",
            MarkingSource::Flows => "test flows only",
        };
        page.figure.text(left(column), top + 17.0, evidence, small);
    }
    for dscp in &rows {
        let top = page.room(ROW);
        let class = Dscp::new(*dscp).map_or_else(String::new, |dscp| ServiceClass::from_dscp(dscp).to_string());
        page.figure.text(MARGIN, top + 6.0, &class, bold);
        page.figure.text(
            MARGIN + CLASSES - 14.0,
            top + 7.0,
            &format!("DSCP {dscp}"),
            TextStyle { align: Align::Right, ..small },
        );
        for (column, path) in paths.iter().enumerate() {
            let cell = cell(path, *dscp);
            let frame = Frame { left: left(column), top, width: width - GAP, height: ROW - GAP };
            page.figure.rect(frame, &cell.outcome.tint(theme));
            let style = TextStyle::left(12.0, Weight::Regular, theme.ink);
            page.figure.text(frame.left + 7.0, top + 5.5, &cell.words, style);
            let style = TextStyle { align: Align::Right, ..TextStyle::left(10.5, Weight::Regular, theme.ink) };
            page.figure.text(frame.left + frame.width - 6.0, top + 6.5, &cell.count, style);
        }
    }
    let top = page.room(ROW + 8.0);
    page.figure.text(MARGIN, top + 6.0, "all other code points", small);
    for (column, path) in paths.iter().enumerate() {
        page.figure.text(left(column), top + 6.0, &others(path, &rows), small);
    }
}

/// The code points worth a row: the classes of the test, and whatever is changed anywhere.
fn rows(run: &Analysis) -> BTreeSet<u8> {
    let streams = run.goodput.up.flows.iter().chain(&run.goodput.down.flows).map(|flow| flow.flow.class);
    let probes = run.round_trip_delay.flows.iter().map(|flow| flow.flow.class);
    let marked = run.markings.flows.iter().map(|flow| flow.flow.class);
    let mut rows: BTreeSet<u8> = streams.chain(probes).chain(marked).map(|class| class.dscp().value()).collect();
    let phases = run.markings.paths.iter().flat_map(|path| path.idle.iter().chain(&path.load));
    let altered: BTreeSet<u8> = phases.flat_map(|phase| &phase.altered).map(|point| point.dscp).collect();
    // For a path that changes nearly all, the classes with a name are listed.
    let many = altered.len() > MOST_ALTERED;
    let has_name =
        |dscp: &u8| Dscp::new(*dscp).is_some_and(|dscp| !ServiceClass::from_dscp(dscp).to_string().starts_with("DSCP"));
    rows.extend(altered.into_iter().filter(|dscp| !many || has_name(dscp)));
    rows
}

/// What becomes of a code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    AsSent,
    Changed,
    Dropped,
    Unknown,
}

impl Outcome {
    /// The color behind its words: a little of a hue on the background. The words suffice; the color helps to find them.
    fn tint(self, theme: &Theme) -> String {
        match self {
            Self::AsSent => mixed(theme.background_class, theme.background, 0.28),
            Self::Changed => mixed(theme.signaling, theme.background, 0.42),
            Self::Dropped => mixed(theme.alarm, theme.background, 0.42),
            Self::Unknown => theme.idle_shade.to_owned(),
        }
    }
}

struct Cell {
    outcome: Outcome,
    words: String,
    count: String,
}

fn cell(path: &MarkingPath, dscp: u8) -> Cell {
    let phases = [(path.idle.as_ref(), false), (path.load.as_ref(), true)];
    let mut outcomes: Vec<(Outcome, String)> = Vec::new();
    for (phase, loaded) in phases {
        let Some(phase) = phase else { continue };
        let found = outcome(path, phase, loaded, dscp);
        // What is unknown under load is no news.
        if found.0 == Outcome::Unknown && !outcomes.is_empty() || outcomes.contains(&found) {
            continue;
        }
        if let [(Outcome::Unknown, _)] = outcomes.as_slice() {
            outcomes.clear();
        }
        outcomes.push(found);
    }
    let words = match outcomes.as_slice() {
        [(_, idle), (_, load)] => format!("{idle}; loaded: {load}"),
        [(_, only)] => only.clone(),
        _ => "not sent".to_owned(),
    };
    let worst = outcomes.iter().map(|(outcome, _)| *outcome).max_by_key(|outcome| match outcome {
        Outcome::Unknown => 0,
        Outcome::AsSent => 1,
        Outcome::Changed => 2,
        Outcome::Dropped => 3,
    });
    let (arrived, lost) = packets(path, dscp, None);
    let count = match (arrived, lost) {
        (0, 0) => String::new(),
        (arrived, 0) => format!("n {}", words::count(arrived)),
        (arrived, lost) => format!("n {} of {}", words::count(arrived), words::count(arrived + lost)),
    };
    Cell { outcome: worst.unwrap_or(Outcome::Unknown), words, count }
}

/// Packets of a code point that arrived and that were lost, in one phase or in both.
fn packets(path: &MarkingPath, dscp: u8, loaded: Option<bool>) -> (u64, u64) {
    let cells = || {
        let own = move |cell: &&rrul_analysis::metrics::marking::marking_path::MatrixCell| {
            cell.sent_octet >> 2 == dscp && loaded.is_none_or(|loaded| cell.loaded == loaded)
        };
        path.matrix.iter().filter(own)
    };
    let sum = |arrived: bool| {
        let cells = cells().filter(|cell| cell.received_octet.is_some() == arrived);
        cells.map(|cell| cell.packets).fold(0, u64::saturating_add)
    };
    (sum(true), sum(false))
}

fn outcome(path: &MarkingPath, phase: &MarkingPhase, loaded: bool, dscp: u8) -> (Outcome, String) {
    let class =
        |dscp: u8| Dscp::new(dscp).map_or_else(|| dscp.to_string(), |dscp| ServiceClass::from_dscp(dscp).to_string());
    if let Some(point) = phase.altered.iter().find(|point| point.dscp == dscp) {
        return match (point.verdict, point.arrives_as) {
            (CodePointVerdict::Dropped, _) => (Outcome::Dropped, "dropped".to_owned()),
            (CodePointVerdict::Bleached, _) => (Outcome::Changed, "cleared to 0".to_owned()),
            (CodePointVerdict::Remarked, Some(to)) => (Outcome::Changed, format!("becomes {}", class(to))),
            _ => (Outcome::Changed, "varies".to_owned()),
        };
    }
    match packets(path, dscp, Some(loaded)) {
        (0 | 1, _) => (Outcome::Unknown, "unknown".to_owned()),
        _ => (Outcome::AsSent, "preserved".to_owned()),
    }
}

/// What is to be said of the code points without a row: what becomes of how many.
fn others(path: &MarkingPath, rows: &BTreeSet<u8>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for dscp in (0..64).filter(|dscp| !rows.contains(dscp)) {
        let words = cell(path, dscp).words;
        match counts.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => counts.push((words, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said: Vec<String> = counts.iter().take(2).map(|(words, count)| format!("{count} {words}")).collect();
    let more = if counts.len() > said.len() { ", …" } else { "" };
    said.join(", ") + more
}

/// `part` of the color `over` on the color `under`, both `#rrggbb`.
fn mixed(over: &str, under: &str, part: f64) -> String {
    let channel = |colour: &str, at: usize| {
        f64::from(colour.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0))
    };
    let mix = |at: usize| (part * channel(over, at) + (1.0 - part) * channel(under, at)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(1), mix(3), mix(5))
}

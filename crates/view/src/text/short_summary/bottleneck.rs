//! Where each direction's queue is: one line a direction at most, and only where it was found.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_model::flow::Direction;

use crate::text::path_lines::{is_located, same_place};
use crate::text::short_summary::layout::{COLUMNS, printable, width};
use crate::text::words::family_name;

/// Lines that begin with `Bottleneck`: programs look for that word.
pub(super) fn lines(run: &Analysis) -> Vec<String> {
    Direction::ALL.into_iter().filter_map(|direction| line(run, direction)).collect()
}

fn line(run: &Analysis, direction: Direction) -> Option<String> {
    let ours: Vec<&PathTrace> = run.path_traces.iter().filter(|trace| trace.direction == direction).collect();
    let located = ours.iter().find(|trace| is_located(trace))?;
    let agree = ours.iter().all(|other| same_place(other, located));
    let family = if agree { String::new() } else { format!("over {}: ", family_name(located.family)) };
    let words = printable(&located.bottleneck.words);
    // The full summary has what is left out: why the place is no narrower, then the addresses of hops.
    let place = ASIDES.iter().filter_map(|aside| words.find(aside)).min().and_then(|end| words.get(..end));
    let place = place.unwrap_or(&words);
    let bare = without_brackets(place);
    let lines = [&words, place, &bare, &terse(&bare)].map(|place: &str| format!("Bottleneck: {family}{place}."));
    let fits = lines.iter().position(|line| width(line) <= COLUMNS).unwrap_or(lines.len() - 1);
    lines.into_iter().nth(fits)
}

/// What follows the place itself.
const ASIDES: [&str; 3] = [" (hop", ", directly", ": in the"];

fn terse(place: &str) -> String {
    const FROM: &str = " from the server";
    // Two hops that are both counted from the server need to say so once.
    let once = if place.matches(FROM).count() > 1 { place.replacen(FROM, "", 1) } else { place.to_owned() };
    once.replace("the server's host", "the server").replacen(" queue, ", ", ", 1)
}

/// `text` without what is in brackets, and without the blanks before them.
fn without_brackets(text: &str) -> String {
    let mut parts = text.split(" (");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.split_once(')').map_or("", |(_, rest)| rest))
}

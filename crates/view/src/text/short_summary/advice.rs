//! What to do about it, in one line, from the numbers.

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::scores::bufferbloat::Letter;
use rrul_analysis::validity::{Confidence, Severity, Verdict};
use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::text::path_lines::is_in_host;
use crate::text::short_summary::figures::{Added, DirectionFigures, Figures, Lost};
use crate::text::short_summary::grades::is_loaded;
use crate::text::short_summary::layout::{COLUMNS, printable, width};
use crate::text::short_summary::notes::LOSSY;
use crate::text::words::direction_word;

/// Part of the rate on the link that a shaper is set to at first: guides to SQM begin at 95 %.
const SHAPED: f64 = 0.95;
/// CoDel's default target, and the least it should be: this many times a full frame's time on the link. With less, it drops
/// packets that wait for nothing but the one frame before them.
const CODEL_TARGET: Duration = Duration::from_millis(5);
const CODEL_FRAMES: f64 = 1.5;
/// Bits of a full frame of Ethernet.
const FRAME: f64 = 1514.0 * 8.0;
/// The worst letter that asks for nothing.
const GOOD: Letter = Letter::A;

pub(super) fn line(run: &Analysis, figures: &Figures) -> String {
    if run.validity.verdict == Verdict::Invalid {
        return rerun(run);
    }
    if !is_loaded(run) {
        return "To measure latency under load: rrul run HOST --plan quick".to_owned();
    }
    let bloated: Vec<Direction> =
        Direction::ALL.into_iter().filter(|direction| is_bloated(figures, *direction)).collect();
    match bloated.as_slice() {
        [one] => fix_one(run, figures, *one),
        [_, ..] => fix_both(run, figures),
        [] if !knows_directions(figures) && figures.round_trip.is_some_and(is_long) => {
            "The line is bloated: enable SQM (cake) on the router, for both directions.".to_owned()
        }
        [] => no_bloat(run, figures),
    }
}

/// Whether what a direction adds gets a letter worse than [`GOOD`].
fn is_bloated(figures: &Figures, direction: Direction) -> bool {
    figures.direction(direction).added.is_some_and(is_long)
}

fn is_long(added: Added) -> bool {
    let milliseconds = added.p50.map_or(f64::INFINITY, Delay::milliseconds);
    Letter::from_added_ms(milliseconds).is_some_and(|letter| letter > GOOD)
}

fn knows_directions(figures: &Figures) -> bool {
    figures.up.added.is_some() && figures.down.added.is_some()
}

fn fix_one(run: &Analysis, figures: &Figures, direction: Direction) -> String {
    let word = direction_word(direction);
    if run.path_traces.iter().any(|trace| trace.direction == direction && is_in_host(trace)) {
        let host = if direction == Direction::Up { "this host" } else { "the server" };
        return format!("{word} queues in {host}: set fq_codel or cake on its interface (tc qdisc).");
    }
    let Some(rate) = shaped(run, figures, direction) else {
        return format!("{word} is bloated: enable SQM (cake) on the router for it.");
    };
    let lower = word.to_lowercase();
    format!("{word} is bloated: enable SQM (cake), shape {lower} below {rate}.")
}

fn fix_both(run: &Analysis, figures: &Figures) -> String {
    match (shaped(run, figures, Direction::Down), shaped(run, figures, Direction::Up)) {
        (Some(down), Some(up)) => {
            format!("Both directions are bloated: SQM (cake) below {down} down, {up} up.")
        }
        _ => "Both directions are bloated: enable SQM (cake) on the router.".to_owned(),
    }
}

/// The rate to shape a direction to: from what the link carried, or else what was delivered. Where late acknowledgments kept
/// it from being full, from its surveyed rate.
fn shaped(run: &Analysis, figures: &Figures, direction: Direction) -> Option<BitRate> {
    let below = |rate: BitRate| BitRate((rate.0 as f64 * SHAPED) as u64);
    if run.saturation.direction(direction).is_some_and(|saturation| saturation.ack_starvation.is_some()) {
        return run.measurement_overhead.direction(direction).line_bps.map(|rate| below(BitRate(rate)));
    }
    let DirectionFigures { carried, delivered, .. } = *figures.direction(direction);
    carried.map(below).or(delivered).filter(|rate| rate.0 > 0)
}

fn no_bloat(run: &Analysis, figures: &Figures) -> String {
    if let Some(advice) = lossy_without_bloat(run, figures).or_else(|| lossy_expedited(figures)) {
        return advice;
    }
    match (figures.round_trip, run.validity.confidence) {
        (None, _) => "No latency verdict: use a plan with delay probes in idle and load.".to_owned(),
        (Some(_), Some(Confidence::Low)) => {
            "No bloat found, but the line was not known to be saturated: use a longer load.".to_owned()
        }
        (Some(_), _) => "Nothing to fix: latency stays low under load.".to_owned(),
    }
}

/// What to do about loss where nothing else is wrong.
fn lossy_without_bloat(run: &Analysis, figures: &Figures) -> Option<String> {
    let is_lossy = |lost: Option<Lost>| lost.is_some_and(|lost| lost.least >= LOSSY);
    let lossy = Direction::ALL.into_iter().filter(|direction| is_lossy(figures.direction(*direction).lost));
    let lossy: Vec<Direction> = lossy.collect();
    let words: Vec<String> = lossy.iter().map(|direction| direction_word(*direction).to_lowercase()).collect();
    let words = words.join(" and ");
    let only_loaded =
        |direction: &Direction| figures.direction(*direction).lost_idle.is_some_and(|lost| lost.most < LOSSY);
    let short_target = |direction: &Direction| {
        let rate = run.measurement_overhead.direction(*direction).line_bps.filter(|rate| *rate > 0)?;
        let target = Duration::from_secs_f64(CODEL_FRAMES * FRAME / rate as f64);
        (target > CODEL_TARGET).then_some(target)
    };
    let targets = lossy.iter().filter_map(short_target).max();
    match (lossy.is_empty(), lossy.iter().all(only_loaded), targets) {
        (true, ..) => None,
        (_, true, Some(target)) => {
            let target = format!("{:.0} ms", (target.as_secs_f64() * 1000.0).ceil());
            Some(format!("Loss under load ({words}): if CoDel drops, raise its target to {target}."))
        }
        (_, true, None) => Some(format!("Loss under load ({words}): the queue is too short, or a policer drops.")),
        (_, false, _) => Some(format!("Loss without bloat ({words}): check radio, cable and policing.")),
    }
}

/// What to do about loss that only the marked packets have. Few are sent, so it hardly shows in the loss of all.
fn lossy_expedited(figures: &Figures) -> Option<String> {
    let is_lossy =
        |direction: &Direction| figures.direction(*direction).expedited_lost.is_some_and(|lost| lost.least >= LOSSY);
    let words = Direction::ALL.into_iter().filter(is_lossy).map(|direction| direction_word(direction).to_lowercase());
    let words: Vec<String> = words.collect();
    (!words.is_empty())
        .then(|| format!("Loss of EF packets only ({}): check for a policer of that class.", words.join(" and ")))
}

/// What the heaviest reason says to do.
fn rerun(run: &Analysis) -> String {
    let reason = run.validity.reasons.iter().find(|reason| reason.severity == Severity::Invalid);
    let remedy = reason.map(|reason| printable(reason.detail())).unwrap_or_default();
    let mut characters = remedy.chars();
    let line = match characters.next() {
        // Within a sentence, so the verb that begins it is in lowercase.
        Some(first) => format!("To get a valid run: {}{}", first.to_lowercase(), characters.as_str()),
        None => String::new(),
    };
    if remedy.is_empty() || width(&line) > COLUMNS {
        return "To get a valid run: remove the causes below, then rerun.".to_owned();
    }
    line
}

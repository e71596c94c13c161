//! Stretches of time in which the line was idle and nothing stepped: what the drift of clocks is read from.
//!
//! Never the load: a queue that grows and a clock that drifts look the same until the queue has drained.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};

use super::tracks::Tracks;
use crate::by_direction::ByDirection;
use crate::statistics::median::median;

/// Grid on which smallest delays are compared, nanoseconds.
const BIN: i64 = 100_000_000;

/// As many bins are looked at: an hour.
const MOST_BINS: u128 = 36_000;

/// As many steps are believed of one idle block: a clock that steps more often is none.
const MOST_STEPS: usize = 16;

/// Bins on either side of a step that are compared.
const BESIDE: usize = 5;

/// Smallest step that is looked for within an idle interval, nanoseconds. Anything less bends the line by less than the
/// noise of a busy host.
pub(super) const LEAST_STEP: f64 = 2_000_000.0;

/// Left out at the ends of an idle interval: phases begin and end a little apart on two clocks that are not matched
/// yet.
const MARGIN: Duration = Duration::from_millis(500);

/// Shortest of what is left in which a smallest delay means something.
const SHORTEST: Duration = Duration::from_millis(300);

/// Stretches without load, on the client's clock: the phases before it together, and that after it.
pub(super) fn idle_blocks(phases: &[PhaseWindow]) -> Vec<Window> {
    let mut blocks: Vec<Window> = Vec::new();
    // A test has at most one phase of each kind; a foreign file may say so.
    for entry in phases
        .iter()
        .take(Phase::ALL.len())
        .filter(|entry| !entry.phase.is_loaded() && entry.window.from < entry.window.to)
    {
        match blocks.last_mut() {
            Some(last) if last.to == entry.window.from => last.to = entry.window.to,
            _ => blocks.push(entry.window),
        }
    }
    blocks
}

/// The parts of these idle blocks in which the level of delays did not step. The load began at `loaded`.
pub(super) fn stretches(tracks: &Tracks, blocks: &[Window], loaded: Option<TestTime>) -> Vec<Window> {
    let mut found = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let margin = MARGIN.min(block.length() / 4);
        let mut from = block.from + margin;
        // Behind a load, a floor that falls is a queue that drains, and one that rises is a queue that fills.
        let after_load = index > 0 || loaded.is_some_and(|loaded| loaded <= block.from);
        for (step, around) in steps_within(tracks, *block, !after_load) {
            found.push(Window { from, to: step - around });
            from = step + around;
        }
        found.push(Window { from, to: block.to - margin });
    }
    found.retain(|stretch| stretch.length() >= SHORTEST);
    found
}

/// Steps of the level within a block, in order: when, and how far around it nothing is to be believed. Those of `routes` only
/// where asked for.
fn steps_within(tracks: &Tracks, block: Window, routes: bool) -> Vec<(TestTime, Duration)> {
    let bin = Duration::from_nanos(BIN.cast_unsigned());
    let mut candidates: Vec<(f64, usize, Duration)> = Vec::new();
    for kind in 0..tracks.kinds.len() {
        let ByDirection { up, down } = ByDirection::each(|direction| smallest(tracks, kind, direction, block));
        // Packets that were on their way during a step show it a round trip apart in the two directions.
        let round_trips: Vec<f64> = up.iter().zip(&down).filter_map(|(up, down)| Some((*up)? + (*down)?)).collect();
        // The two directions may fall into neighboring bins besides.
        let gap = 2 + (median(&round_trips) / BIN as f64).clamp(0.0, 20.0) as usize;
        for at in 0..up.len() {
            let [up, down] = [&up, &down].map(|bins| rise(bins, at, gap));
            let (Some(up), Some(down)) = (up, down) else { continue };
            if let Some(strength) = step_of(up, down, routes) {
                candidates.push((strength, at, bin * (gap as u32 + 1)));
            }
        }
    }
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut steps: Vec<(usize, Duration)> = Vec::new();
    for (_, at, around) in candidates {
        if steps.len() < MOST_STEPS && steps.iter().all(|(other, _)| at.abs_diff(*other) > BESIDE) {
            steps.push((at, around));
        }
    }
    steps.sort_by_key(|(at, _)| *at);
    steps.into_iter().map(|(at, around)| (block.from + bin * at as u32 + bin / 2, around)).collect()
}

/// How far the level after lies above that before.
#[derive(Debug, Clone, Copy)]
struct Rise {
    by: f64,
    /// Spread of the bins' smallest delays on either side.
    spread: f64,
}

/// How much a step is one of a clock or a route, and not a queue; `None` when it is none.
///
/// A clock that steps adds to the one direction what it takes from the other. A route that changes shows in one direction
/// alone, and delays are level before and after, as no queue is for long.
fn step_of(up: Rise, down: Rise, routes: bool) -> Option<f64> {
    let clock = (up.by - down.by) / 2.0;
    let path = up.by + down.by;
    if clock.abs() >= LEAST_STEP && path.abs() <= clock.abs() / 4.0 {
        return Some(clock.abs());
    }
    let level = up.spread.max(down.spread) <= path.abs() / 8.0;
    (routes && path.abs() >= LEAST_STEP && level).then_some(path.abs())
}

/// From the bins before `at` to those after, with `gap` bins around it left out.
fn rise(bins: &[Option<f64>], at: usize, gap: usize) -> Option<Rise> {
    let before = bins.get((at + 1).checked_sub(gap + BESIDE)?..(at + 1).checked_sub(gap)?)?;
    let after = bins.get(at + gap..at + gap + BESIDE)?;
    let level = |bins: &[Option<f64>]| {
        // A bin without a packet says nothing; with half of them missing nothing is known.
        let known: Vec<f64> = bins.iter().flatten().copied().collect();
        let least = known.iter().copied().fold(f64::INFINITY, f64::min);
        let most = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (known.len() * 2 > bins.len()).then_some((least, most - least))
    };
    let ((before, spread), (after, other)) = (level(before)?, level(after)?);
    Some(Rise { by: after - before, spread: spread.max(other) })
}

/// The smallest apparent delay of each bin of the block.
fn smallest(tracks: &Tracks, kind: usize, direction: Direction, block: Window) -> Vec<Option<f64>> {
    // A block of a foreign file may be of any length; the idle line of a test is looked at for minutes.
    let count = (block.length().as_nanos() / u128::from(BIN.cast_unsigned())).min(MOST_BINS) as usize;
    let mut bins = vec![None; count];
    let ours = tracks.of_kind(kind, direction).iter();
    for packet in ours.flat_map(|track| &track.packets).filter(|packet| block.contains(TestTime(packet.client))) {
        let index = packet.client.saturating_sub(block.from.0) / BIN;
        if let Some(bin) = usize::try_from(index).ok().and_then(|index| bins.get_mut(index)) {
            *bin = Some(bin.map_or(packet.apparent, |least: f64| least.min(packet.apparent)));
        }
    }
    bins
}

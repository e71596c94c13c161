//! The drift of two clocks where queues still stood when the test ended: an interval in place of an estimate.
//!
//! The idle line before the load gives a slope and its error. No packet is faster than the idle line allows, so each later
//! packet bounds the slope from one side: one on the way up from above, one on the way down from below. A direction whose
//! queue has drained makes that bound tight.

use rrul_model::flow::Direction;
use rrul_model::time::Window;

use super::part::{Drift, Part};
use super::tracks::Tracks;
use crate::statistics::lower_hull::LowerHull;

/// Clocks of working hosts rarely drift apart faster: two quartz oscillators of 50 ppm.
const USUAL_DRIFT: f64 = 1e-4;

/// How many standard deviations of the slopes of interleaved samples are allowed for.
const DEVIATIONS: f64 = 3.0;

/// Packets of an idle line may be faster than those of another idle interval by this much, nanoseconds.
const IDLE_NOISE: f64 = 100_000.0;

/// Halvings of the interval in which a bound is looked for.
const HALVINGS: u32 = 48;

/// Packets that were sent after the idle line, and by how much they may be faster than it, nanoseconds.
pub(super) struct Later {
    pub(super) windows: Vec<Window>,
    pub(super) faster: f64,
}

/// The middle of the slopes that are possible, and half the width of their interval; `None` where none is possible.
///
/// `base` is the idle line before the load, `spread` how far its middle packet lies above its line, `fastest` the largest
/// slope of all.
pub(super) fn drift(
    tracks: &Tracks,
    base: &Part,
    idle: Option<Drift>,
    spread: f64,
    later: &[Later],
    fastest: f64,
) -> Option<Drift> {
    let length = base.span().length().as_nanos() as f64;
    let of_idle = idle.filter(|_| length > 0.0).map(|idle| {
        let error = (DEVIATIONS * idle.error).max((2.0 * spread + IDLE_NOISE) / length);
        (idle.slope - error, idle.slope + error)
    });
    let usual = (-USUAL_DRIFT, USUAL_DRIFT);
    let (mut low, mut high) = match of_idle {
        // A clock that is known to drift faster is not a usual one.
        Some(found) if found.0 > usual.1 || found.1 < usual.0 => found,
        Some(found) => (found.0.max(usual.0), found.1.min(usual.1)),
        None => usual,
    };
    for later in later {
        let tolerance = later.faster + spread;
        for kind in 0..tracks.kinds.len() {
            for direction in Direction::ALL {
                let Some(hull) = LowerHull::from_points(tracks.points(kind, direction, &later.windows)) else {
                    continue;
                };
                let possible = |slope: f64| {
                    let level = *base.levels(kind, slope).get(direction);
                    level.is_none_or(|level| hull.level(slope) >= level - tolerance)
                };
                match direction {
                    Direction::Up => high = high.min(edge(possible, -fastest, fastest)),
                    Direction::Down => low = low.max(edge(possible, fastest, -fastest)),
                }
            }
        }
    }
    (low <= high).then(|| Drift { slope: f64::midpoint(low, high), error: (high - low) / 2.0 })
}

/// The last possible slope on the way from one to another.
fn edge(possible: impl Fn(f64) -> bool, from: f64, to: f64) -> f64 {
    if possible(to) {
        return to;
    }
    let (mut good, mut bad) = (from, to);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(good, bad);
        if possible(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

impl Later {
    /// Packets of an idle phase that has not drained.
    pub(super) fn idle(windows: Vec<Window>) -> Self {
        Self { windows, faster: IDLE_NOISE }
    }
}

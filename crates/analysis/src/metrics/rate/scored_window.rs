//! The part of the load from which figures are taken: the line is full, and its first burst is over.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::metrics::rate::burst::RateHistory;

/// Left out behind ramp and burst.
const GUARD: Duration = Duration::from_secs(2);

/// The stretch of the load from which figures under load are taken.
///
/// The specification discards the first seconds of the load: streams ramp up, and providers let a line run faster than
/// it can sustain. Every figure *under load* is from the scored window. It begins 2 s after the end of the [ramp and
/// the burst](#bursts-and-changes-of-rate) of a direction, and ends with the load. At least the second half of the load
/// is always scored. If the load is too short for that, the line may not have settled, and `cut_short` reports it.
/// Nothing is deleted: charts show the whole load, and `unscored` has the delays of the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(title = "Scored window")]
pub struct ScoredWindow {
    /// The scored window of the load from server to client; rates are taken from it. Null where nothing was to load.
    #[serde(serialize_with = "stretch")]
    #[schemars(with = "Option<Stretch>")]
    pub down: Option<Window>,
    /// The scored window of the load from client to server. Null where nothing was to load.
    #[serde(serialize_with = "stretch")]
    #[schemars(with = "Option<Stretch>")]
    pub up: Option<Window>,
    /// Time in which both directions are scored, or the only loaded one. Round-trip delays and losses are from it. Null
    /// where nothing was to load.
    #[serde(serialize_with = "stretch")]
    #[schemars(with = "Option<Stretch>")]
    pub common: Option<Window>,
    /// Stretches of the load that are left out.
    pub excluded: Vec<Excluded>,
    /// Directions in which more than the first half of the load should have been left out.
    pub cut_short: Vec<Direction>,
}

/// A stretch of the load that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Excluded {
    /// Direction in which the stretch is left out.
    pub direction: Direction,
    /// Why it is left out.
    pub reason: Exclusion,
    /// First instant inside, in test time.
    pub from_ns: TestTime,
    /// First instant after, in test time.
    pub to_ns: TestTime,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exclusion {
    /// The streams had not ramped up yet.
    Ramp,
    /// The line was faster than it could sustain.
    Burst,
    /// The 2 s after either, until queues have settled.
    Guard,
}

impl ScoredWindow {
    /// From what was to be loaded in each direction, and how its rate went.
    pub(crate) fn new<'h>(of: impl Fn(Direction) -> Option<(Window, &'h RateHistory)>) -> Self {
        let mut scored = Self::default();
        for direction in Direction::ALL {
            let window = of(direction).map(|(load, history)| scored.leave_out(direction, load, history));
            match direction {
                Direction::Down => scored.down = window,
                Direction::Up => scored.up = window,
            }
        }
        scored.common = match (scored.down, scored.up) {
            (Some(down), Some(up)) if down.overlaps(&up) => Some(down.intersection(&up)),
            // One after the other.
            (Some(down), Some(up)) => Some(Window { from: down.from.min(up.from), to: down.to.max(up.to) }),
            (one, other) => one.or(other),
        };
        scored
    }

    /// What remains of a direction's load.
    fn leave_out(&mut self, direction: Direction, load: Window, history: &RateHistory) -> Window {
        let middle = load.from + load.length() / 2;
        let ramp = (Exclusion::Ramp, load.from + Duration::from_nanos(history.ramp_ns.unwrap_or(0).cast_unsigned()));
        let burst = history.burst.map(|burst| (Exclusion::Burst, burst.ended_ns));
        let over = burst.map_or(ramp.1, |(_, ended)| ended);
        let mut from = load.from;
        for (reason, to) in [Some(ramp), burst, Some((Exclusion::Guard, over + GUARD))].into_iter().flatten() {
            let end = to.min(middle);
            if to > middle && !self.cut_short.contains(&direction) {
                self.cut_short.push(direction);
            }
            if from < end {
                self.excluded.push(Excluded { direction, reason, from_ns: from, to_ns: end });
                from = end;
            }
        }
        Window { from, to: load.to }
    }

    /// Returns the window of one direction; `None` where the plan loads nothing.
    pub fn direction(&self, direction: Direction) -> Option<Window> {
        direction.select(self.up, self.down)
    }

    /// The phases of a test with the scored window in place of the whole load.
    pub fn phases(&self, phases: &[PhaseWindow]) -> Vec<PhaseWindow> {
        let scored = |entry: &PhaseWindow| match (entry.phase, self.common) {
            (Phase::Load, Some(window)) => PhaseWindow { window, ..*entry },
            _ => *entry,
        };
        phases.iter().map(scored).collect()
    }
}

/// A stretch of test time.
#[derive(Serialize, JsonSchema)]
struct Stretch {
    /// Its beginning.
    from_ns: TestTime,
    /// Its end.
    to_ns: TestTime,
}

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn stretch<S: Serializer>(window: &Option<Window>, serializer: S) -> Result<S::Ok, S::Error> {
    window.map(|window| Stretch { from_ns: window.from, to_ns: window.to }).serialize(serializer)
}

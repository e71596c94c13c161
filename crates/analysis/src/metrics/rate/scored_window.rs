//! The part of the load from which figures are taken: the line is full, and its first burst is over.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use serde::{Serialize, Serializer};

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::rate::burst::RateHistory;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Scored window",
    path: "scored_window",
    about: "The specification has the first seconds of the load discarded, in which streams ramp up and providers let a \
        line run faster than it can go on. Everything reported *under load* is of the scored window: it begins 2 s after \
        the [ramp and the burst](#bursts-and-changes-of-rate) of a direction are over, and ends with the load. At least \
        the second half of the load is always scored: of a load too short for all that, figures are of a line that may \
        not have settled, and `cut_short` says so. Nothing is deleted: charts show it all, and delays of the rest of the \
        load stand under `unscored`.",
    words: &[
        MetricWord {
            name: "{down,up,common}.from_ns, {down,up,common}.to_ns",
            about: "first instant inside and first after, in test time, of each direction and of both together. Delays and \
                losses of round trips are of `common`, rates of their direction. `null` where nothing was to load",
            unit: "ns",
            source: "spec, Test Requirements",
        },
        MetricWord {
            name: "excluded[].direction, excluded[].reason, excluded[].from_ns, excluded[].to_ns",
            about: "what of the load is left out in a direction and why: `ramp`, `burst`, or `guard`, the 2 s behind them",
            unit: "ns",
            source: "",
        },
        MetricWord {
            name: "cut_short[]",
            about: "directions in which more was to be left out than the first half of the load",
            unit: "",
            source: "",
        },
    ],
};

/// Left out behind ramp and burst.
const GUARD: Duration = Duration::from_secs(2);

/// From when to when figures under load are taken.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ScoredWindow {
    /// Of what was loaded from server to client.
    #[serde(serialize_with = "stretch")]
    pub down: Option<Window>,
    /// Of what was loaded from client to server.
    #[serde(serialize_with = "stretch")]
    pub up: Option<Window>,
    /// While both are scored, or the one that was loaded.
    #[serde(serialize_with = "stretch")]
    pub common: Option<Window>,
    /// What of the load is left out.
    pub excluded: Vec<Excluded>,
    /// Directions with less left out than should be.
    pub cut_short: Vec<Direction>,
}

/// A stretch of the load that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// In which direction.
    pub direction: Direction,
    /// Why.
    pub reason: Exclusion,
    /// From when.
    pub from_ns: TestTime,
    /// To when.
    pub to_ns: TestTime,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exclusion {
    /// The streams had not filled the line yet.
    Ramp,
    /// The line ran faster than it could go on.
    Burst,
    /// What follows either, until queues have settled.
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
            let kept = to.min(middle);
            if to > middle && !self.cut_short.contains(&direction) {
                self.cut_short.push(direction);
            }
            if from < kept {
                self.excluded.push(Excluded { direction, reason, from_ns: from, to_ns: kept });
                from = kept;
            }
        }
        Window { from, to: load.to }
    }

    /// Of one direction; `None` where nothing was to load.
    pub fn of(&self, direction: Direction) -> Option<Window> {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
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

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn stretch<S: Serializer>(window: &Option<Window>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Stretch {
        from_ns: TestTime,
        to_ns: TestTime,
    }
    window.map(|window| Stretch { from_ns: window.from, to_ns: window.to }).serialize(serializer)
}

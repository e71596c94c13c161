//! The phases of a test: survey, idle, load, web, after.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::{TestTime, Window};
use crate::unknown_name::UnknownName;

/// What the load is doing during a stretch of the test.
///
/// The spec's run is 5 s idle, 60 s load, 5 s after. The last is never optional for one-way delay: a standing queue and a
/// drifting clock look the same until the queue has drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Phase {
    /// The idle line is surveyed with what would disturb the baseline: marking sweeps, page loads, lookups.
    ///
    /// Recordings and plans before 0.2 call it `before`.
    #[serde(alias = "before")]
    Survey,
    /// Probes only: the baseline.
    Idle,
    /// The load runs, with probes and voice beside it: the classic RRUL, from which rates, delay and loss are scored.
    Load,
    /// The same load goes on; pages, short flows and lookups join it and are scored.
    Web,
    /// The load has ended, queues drain, the line is idle again.
    After,
}

impl Phase {
    /// All phases in the order in which they happen.
    pub const ALL: [Self; 5] = [Self::Survey, Self::Idle, Self::Load, Self::Web, Self::After];

    pub fn is_loaded(self) -> bool {
        matches!(self, Self::Load | Self::Web)
    }

    /// The name used in plans, recordings and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Idle => "idle",
            Self::Load => "load",
            Self::Web => "web",
            Self::After => "after",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Phase {
    type Err = UnknownName;

    /// Also reads `before`, the survey's name in older plans.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.name() == text || text == "before" && *phase == Self::Survey)
            .ok_or_else(|| UnknownName::new("phase", text, Self::ALL.map(Self::name).join(", ")))
    }
}

/// When what a flow has begun is given up and reset: at the end of the phase in which the flow ends. What the survey began
/// must not be in the baseline, nor what ran under load in the time after it.
pub fn reset_at(phases: &[PhaseWindow], flow: Window) -> TestTime {
    let ends_within = |entry: &&PhaseWindow| entry.window.from < flow.to && flow.to <= entry.window.to;
    phases.iter().find(ends_within).map_or(flow.to, |entry| entry.window.to)
}

/// From the beginning to the end of the load, phase `web` included; `None` for a test without load.
pub fn loaded(phases: &[PhaseWindow]) -> Option<Window> {
    let loaded = || phases.iter().filter(|entry| entry.phase.is_loaded()).map(|entry| entry.window);
    let (from, to) = (loaded().map(|window| window.from).min()?, loaded().map(|window| window.to).max()?);
    Some(Window { from, to })
}

/// A load that ended before its planned time: the time in between is cut out of the test.
///
/// A flow of the load ends with it, and all that was planned after the load takes place that much earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadEnd {
    pub at: TestTime,
    pub planned: TestTime,
}

impl LoadEnd {
    /// Whether it is one of a test that lasts until `length`.
    pub fn is_within(self, length: TestTime) -> bool {
        TestTime::ZERO <= self.at && self.at <= self.planned && self.planned <= length
    }

    /// Where a planned time lies in the test that took place.
    pub fn moved(self, planned: TestTime) -> TestTime {
        if planned <= self.at {
            return planned;
        }
        let later = planned.since(self.planned).0.max(0).cast_unsigned();
        self.at + std::time::Duration::from_nanos(later)
    }
}

/// One phase and when it takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWindow {
    pub phase: Phase,
    #[serde(flatten)]
    pub window: Window,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_load_that_ended_early_moves_and_what_came_before_stays() {
        let end = LoadEnd { at: TestTime(20), planned: TestTime(100) };
        for (planned, took_place) in [(-5, -5), (10, 10), (20, 20), (21, 20), (100, 20), (101, 21), (130, 50)] {
            assert_eq!(end.moved(TestTime(planned)), TestTime(took_place), "{planned}");
        }
        assert!(end.is_within(TestTime(100)) && !end.is_within(TestTime(99)));
        assert!(!LoadEnd { at: TestTime(-1), ..end }.is_within(TestTime(100)));
        assert!(!LoadEnd { at: TestTime(101), ..end }.is_within(TestTime(200)));
        let extreme = LoadEnd { at: TestTime(i64::MIN), planned: TestTime(i64::MAX) };
        assert_eq!(extreme.moved(TestTime(i64::MAX)), TestTime(i64::MIN));
    }
}

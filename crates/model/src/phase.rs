//! The phases of a test: before, idle, load, after.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Window;

/// What the load is doing during a stretch of the test.
///
/// The spec's run is 5 s idle, 60 s load, 5 s after. The last is never optional for one-way delay: a queue that
/// stands and a clock that drifts look the same until the queue has drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The line is idle, and surveyed with what would disturb the baseline: marking sweeps, page loads, look-ups.
    Before,
    /// Probes only: the baseline.
    Idle,
    /// The load runs.
    Load,
    /// The load has ended, queues drain, the line is idle again.
    After,
}

impl Phase {
    /// All phases in the order in which they happen.
    pub const ALL: [Self; 4] = [Self::Before, Self::Idle, Self::Load, Self::After];

    /// The name used in plans, recordings and summaries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Idle => "idle",
            Self::Load => "load",
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
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.name() == text)
            .ok_or_else(|| format!("unknown phase \"{text}\"; known: before, idle, load, after"))
    }
}

/// One phase and when it takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseWindow {
    /// Which phase.
    pub phase: Phase,
    /// When.
    #[serde(flatten)]
    pub window: Window,
}

//! A test as data: which flows, of which class, direction and family, in which phase.
//!
//! A plan is a TOML file (docs/plans.md). [`document`] reads it with the place of every value, follows `extends` and
//! applies `--set`; [`read`](TestPlan::read) turns it into a [`TestPlan`] or says file, line and key of what is wrong;
//! [`TestPlan::flows`] unfolds it into flows for the families at hand.

pub mod document;
mod flows;
mod parameter;
mod read;
pub use read::Surroundings;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::flow::{AddressFamily, Component, Direction, Parameters};
use crate::marking::ServiceClass;
use crate::phase::{Phase, PhaseWindow};
use crate::printable::is_unprintable;
use crate::time::{TestTime, Window};
use crate::units::Share;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", one_line(place), one_line(message))]
pub struct PlanError {
    /// File and line, or the `--set` option.
    pub place: String,
    /// Key and complaint, with what would be right.
    pub message: String,
}

/// Returns the text with line breaks and other control characters escaped: what a file says may be quoted in a message of one line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

/// A test as data, checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TestPlan {
    /// Its name, the file's without `.toml`.
    pub name: String,
    /// What question it answers, one line.
    pub title: String,
    /// The version of the spec's workload that it stands for (`RRUL2013`); results of different ones do not compare.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spec: String,
    /// The phases and how long each is, in order. Phase `after` may last until [`after_at_most`](Self::after_at_most).
    pub phases: Vec<PhaseLength>,
    /// How long phase `after` lasts at most: it ends as soon as the round trip is back at what it was on the idle line.
    /// `None`: it takes the length that it has among the phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_at_most: Option<Duration>,
    /// The share of each direction that all traffic but the load may take; `None` sets no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Share>,
    /// How often counters are read while the test runs.
    pub sample_interval: Duration,
    /// The link layer of the line under test, as [`LinkLayer`](crate::link_layer::LinkLayer) reads it; `None` when it
    /// is unknown; bytes are then reported at the IP layer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_layer: Option<String>,
    /// The entries that unfold into flows.
    pub entries: Vec<FlowEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseLength {
    pub phase: Phase,
    pub length: Duration,
}

/// One `[flow.NAME]` of a plan: a flow, or the Cartesian product of its `each` lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowEntry {
    pub label: String,
    pub flow_type: String,
    /// The part of the spec it belongs to.
    pub component: Component,
    /// The phases in which it runs, without a gap.
    pub during: Vec<Phase>,
    /// How long after the beginning of the first of them it starts.
    pub start: Duration,
    /// How long it runs at most; `None` is until its last phase ends.
    #[serde(default)]
    pub duration: Option<Duration>,
    /// Directions; empty for a type without direction.
    pub directions: Vec<Direction>,
    pub classes: Vec<ServiceClass>,
    /// Families; empty for every family at hand.
    pub families: Vec<AddressFamily>,
    pub count: u32,
    /// Copies of each when only one family is at hand; `None` is as many as with two.
    ///
    /// The spec's script runs as many streams over IPv4 alone as over both families, so that results compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_alone: Option<u32>,
    /// Parameters of the flow type, one set for each combination of `each` lists among them.
    pub parameters: Vec<Parameters>,
}

impl TestPlan {
    /// When each phase takes place, the first from T0 on; phases of no length are left out.
    pub fn phase_windows(&self) -> Vec<PhaseWindow> {
        let mut from = TestTime::ZERO;
        let mut windows = Vec::new();
        for PhaseLength { phase, length } in &self.phases {
            let longest = self.after_at_most.filter(|_| *phase == Phase::After);
            let to = from + longest.map_or(*length, |longest| longest.max(*length));
            if from < to {
                windows.push(PhaseWindow { phase: *phase, window: Window { from, to } });
            }
            from = to;
        }
        windows
    }

    /// How long the whole test takes, and at most where phase `after` may be extended.
    pub fn length(&self) -> Duration {
        self.phase_windows().iter().map(|entry| entry.window.length()).sum()
    }

    /// How long the whole test takes when the round trip is back at idle at once.
    pub fn usual_length(&self) -> Duration {
        self.phases.iter().map(|entry| entry.length).sum()
    }
}

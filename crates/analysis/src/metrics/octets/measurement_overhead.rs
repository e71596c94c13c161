//! What the measurement itself took of the line under load, beside what it was allowed.

use rrul_model::flow::Direction;
use rrul_model::measurement_budget::{BudgetChange, MeasurementBudget};
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::octet_account::Account;

/// What the measurement took of each direction.
///
/// Probes, exchanges, voice, new connections, path traces and the server's reports share the link with the load. Before
/// the test the client fits them into a [budget](plans.md#the-measurement-budget), set from the surveyed rate of each
/// direction. `share` is what they took in fact.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Measurement overhead")]
pub struct MeasurementOverhead {
    /// Server to client.
    pub down: DirectionOverhead,
    /// Client to server.
    pub up: DirectionOverhead,
    /// What was changed of the plan for all flows of a type, to keep within the limit.
    pub changes: Vec<BudgetChange>,
}

impl MeasurementOverhead {
    pub fn direction(&self, direction: Direction) -> &DirectionOverhead {
        direction.select(&self.up, &self.down)
    }
}

/// What the measurement took of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct DirectionOverhead {
    /// Bytes other than the load and its acknowledgments, over all bytes that the link carried in phase `load`. Null if
    /// nothing was counted.
    ///
    /// Unit: ratio. Source: spec, Load Generation Component.
    pub share: Option<f64>,
    /// The share allowed: the plan's `overhead` from 5 Mbit/s up, twice that from 1 Mbit/s, three times that below.
    /// Null when the plan sets no limit or no packet train showed the rate of the line.
    ///
    /// Unit: ratio.
    pub ceiling: Option<f64>,
    /// Surveyed rate of the line from which the limit was set. Null as `ceiling`.
    pub line_bps: Option<u64>,
    /// What all traffic but the load would have taken by the plan, IP headers included. Null as `ceiling`.
    pub planned_bps: Option<u64>,
    /// What it was expected to take after the changes. Null as `ceiling`.
    pub expected_bps: Option<u64>,
}

/// The overhead of a test, from the account of its bytes.
pub(crate) fn measurement_overhead(recording: &Recording, octets: &LinkOctets) -> MeasurementOverhead {
    let budget = recording.header.budget.clone().unwrap_or_default();
    let direction = |direction| {
        let granted = budget.direction(direction);
        DirectionOverhead {
            share: octets.load.as_ref().and_then(|load| share(&load.direction(direction).all)),
            ceiling: granted.map(|granted| granted.ceiling.0),
            line_bps: granted.map(|granted| granted.line.0),
            planned_bps: granted.map(|granted| granted.planned.0),
            expected_bps: granted.map(|granted| granted.expected.0),
        }
    };
    let (down, up) = (direction(Direction::Down), direction(Direction::Up));
    let MeasurementBudget { changes, .. } = budget;
    MeasurementOverhead { down, up, changes }
}

fn share(account: &Account) -> Option<f64> {
    (account.carried_octets > 0).then(|| account.parts_octets.measuring() as f64 / account.carried_octets as f64)
}

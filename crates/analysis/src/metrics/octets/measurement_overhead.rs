//! What the measurement itself took of the line under load, beside what it was allowed.

use rrul_model::flow::Direction;
use rrul_model::measurement_budget::{BudgetChange, MeasurementBudget};
use rrul_model::recording::Recording;
use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::octet_account::Account;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Measurement overhead",
    path: "measurement_overhead",
    about: "Probes, exchanges, voice, new connections, path traces and the server's reports share the link with the load. \
        Before the test the client fits them into a [budget](plans.md#the-measurement-budget), set from the surveyed rate of \
        each direction. `share` is what they took in fact.",
    words: &[
        MetricWord {
            name: "{down,up}.share",
            about: "octets that are neither data of the load nor its acknowledgements, over all octets that the link carried in phase `load`; null \
                when nothing was counted",
            unit: "ratio",
            source: "spec, Load Generation Component",
        },
        MetricWord {
            name: "{down,up}.ceiling",
            about: "the share allowed: the plan's `overhead` from 5 Mbit/s up, twice that from 1 Mbit/s, three times that \
                below; null when the plan sets no limit or no train of packets showed the rate of the line",
            unit: "ratio",
            source: "",
        },
        MetricWord {
            name: "{down,up}.line_bps",
            about: "surveyed rate of the line that the budget was set from; null as `ceiling`",
            unit: "bit/s",
            source: "",
        },
        MetricWord {
            name: "{down,up}.planned_bps, {down,up}.expected_bps",
            about: "what all traffic but the load would have taken by the plan, and was expected to take after the changes, \
                IP headers included; null as `ceiling`",
            unit: "bit/s",
            source: "",
        },
        MetricWord {
            name: "changes[].flow_type, changes[].parameter, changes[].planned, changes[].used",
            about: "what was changed of the plan for all flows of a type, to stay within the budget; an empty `used` says that \
                these flows were left out",
            unit: "",
            source: "",
        },
    ],
};

/// What the measurement took of each direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MeasurementOverhead {
    /// Server to client.
    pub down: DirectionOverhead,
    /// Client to server.
    pub up: DirectionOverhead,
    /// What was changed of the plan.
    pub changes: Vec<BudgetChange>,
}

impl MeasurementOverhead {
    /// That of one direction.
    pub fn of(&self, direction: Direction) -> &DirectionOverhead {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

/// What the measurement took of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DirectionOverhead {
    /// Of all octets carried under load.
    pub share: Option<f64>,
    /// What was allowed.
    pub ceiling: Option<f64>,
    /// Surveyed rate of the line.
    pub line_bps: Option<u64>,
    /// By the plan.
    pub planned_bps: Option<u64>,
    /// After the changes.
    pub expected_bps: Option<u64>,
}

/// The overhead of a test, from the account of its octets.
pub(crate) fn measurement_overhead(recording: &Recording, octets: &LinkOctets) -> MeasurementOverhead {
    let budget = recording.header.budget.clone().unwrap_or_default();
    let direction = |direction| {
        let granted = budget.of(direction);
        DirectionOverhead {
            share: octets.load.as_ref().and_then(|load| share(&load.of(direction).all)),
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

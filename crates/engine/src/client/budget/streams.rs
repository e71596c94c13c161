//! How many load streams a slow line bears: four a direction, whether over one family or two.

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec};
use rrul_model::line_rate::LineRate;
use rrul_model::measurement_budget::BudgetChange;
use rrul_model::units::BitRate;

/// Below this rate eight streams leave each of them less than a full segment in 20 ms.
const SLOW: BitRate = BitRate(5_000_000);

/// The streams of a direction that the specification asks for.
const STREAMS: usize = 4;

/// Thins the load of slow directions that both families load: each class is kept in one family, in turns.
pub(super) fn settle(flows: &mut Vec<FlowSpec>, line: &LineRate) -> Vec<BudgetChange> {
    let mut changes = Vec::new();
    for direction in Direction::ALL {
        if line.direction(direction).is_none_or(|rate| rate >= SLOW) {
            continue;
        }
        let loads = |flow: &&FlowSpec| flow.component == Component::Load && flow.direction == Some(direction);
        let count = flows.iter().filter(loads).count();
        let of_family = |family| flows.iter().filter(loads).filter(|flow| flow.family == family).count();
        if count <= STREAMS || AddressFamily::ALL.into_iter().any(|family| of_family(family) == 0) {
            continue;
        }
        // Streams that differ in nothing but their family stand at the same place within it.
        let mut places: BTreeMap<AddressFamily, usize> = BTreeMap::new();
        let mut remaining: Vec<FlowId> = Vec::new();
        for flow in flows.iter().filter(loads) {
            let place = places.entry(flow.family).or_default();
            let first = (*place + usize::from(direction == Direction::Up)).is_multiple_of(2);
            if first == (flow.family == AddressFamily::Ipv4) {
                remaining.push(flow.id);
            }
            *place += 1;
        }
        flows.retain(|flow| !loads(&flow) || remaining.contains(&flow.id));
        changes.push(BudgetChange {
            flow_type: "bulk_tcp".to_owned(),
            parameter: "streams".to_owned(),
            planned: format!("{count} {direction}"),
            used: format!("{} {direction}", remaining.len()),
        });
    }
    changes
}

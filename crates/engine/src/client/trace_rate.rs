//! What path traces may take of the line: all together one per cent of its slower direction.

use rrul_model::flow::{Direction, FlowSpec, Parameter};
use rrul_model::line_rate::LineRate;
use rrul_model::units::BitRate;

use crate::flow_types::path_trace::{NAME, RATE};

/// The part of the slower direction, one in so many.
const PART: u64 = 100;

/// Whether how fast the line is decides over any of these flows.
pub(super) fn depends_on_line(flows: &[FlowSpec]) -> bool {
    flows.iter().any(is_open)
}

/// A trace of which the plan does not say what it may take.
fn is_open(flow: &FlowSpec) -> bool {
    flow.flow_type == NAME && flow.parameters.rate(RATE).is_none()
}

/// Gives every trace its share. Each loads one direction with its packets and the other with the answers to them.
pub(super) fn settle(flows: &mut [FlowSpec], line: Option<&LineRate>) {
    let slower = Direction::ALL.into_iter().filter_map(|direction| line?.of(direction)).min();
    let traces = flows.iter().filter(|flow| flow.flow_type == NAME).count() as u64;
    let Some(BitRate(slower)) = slower else { return };
    let share = (slower / PART / traces.max(1)).max(1);
    for flow in flows.iter_mut().filter(|flow| is_open(flow)) {
        flow.parameters.0.insert(RATE.to_owned(), Parameter::Text(format!("{share}bit/s")));
    }
}

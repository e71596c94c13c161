//! What path traces may take of the line: all together one per cent of its slower direction.

use rrul_model::flow::{Direction, FlowSpec, Parameter};
use rrul_model::flow_kind::FlowKind;
use rrul_model::line_rate::LineRate;
use rrul_model::units::BitRate;

use crate::path_tracing::RATE;

/// The part of the slower direction, one in so many.
const PART: u64 = 100;

/// The assumed rate of a direction whose rate is unknown, bit/s: the measurement must not load a line that slow.
const ASSUMED_RATE: BitRate = BitRate(1_000_000);

/// What a direction is taken for that a train has passed in no time, bit/s.
const BOUNDLESS: BitRate = BitRate(100_000_000_000);

/// Whether how fast the line is decides over any of these flows.
pub(super) fn depends_on_line(flows: &[FlowSpec]) -> bool {
    flows.iter().any(is_open)
}

/// A trace of which the plan does not say what it may take.
fn is_open(flow: &FlowSpec) -> bool {
    flow.kind() == FlowKind::PathTrace && flow.parameters.rate(RATE).is_none()
}

/// Gives every trace its share. Each loads one direction with its packets and the other with the answers to them.
pub(super) fn settle(flows: &mut [FlowSpec], line: Option<&LineRate>) {
    let measured = |direction| match direction {
        Direction::Up => line?.up,
        Direction::Down => line?.down,
    };
    let rate = |direction| measured(direction).map_or(ASSUMED_RATE, |train| train.rate().unwrap_or(BOUNDLESS));
    let BitRate(slower) = Direction::ALL.into_iter().map(rate).min().unwrap_or(ASSUMED_RATE);
    let traces = flows.iter().filter(|flow| flow.kind() == FlowKind::PathTrace).count() as u64;
    let share = (slower / PART / traces.max(1)).max(1);
    for flow in flows.iter_mut().filter(|flow| is_open(flow)) {
        flow.parameters.0.insert(RATE.to_owned(), Parameter::Text(format!("{share}bit/s")));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rrul_model::flow::{AddressFamily, Component, FlowId, Parameters};
    use rrul_model::line_rate::Dispersion;
    use rrul_model::marking::ServiceClass;
    use rrul_model::time::{TestTime, Window};
    use rrul_model::units::ByteCount;

    use super::*;

    fn trace(direction: Direction) -> FlowSpec {
        FlowSpec {
            id: FlowId(0),
            name: String::new(),
            flow_type: FlowKind::PathTrace.name().to_owned(),
            component: Component::Analysis,
            direction: Some(direction),
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(0), to: TestTime(60_000_000_000) },
            parameters: Parameters::default(),
        }
    }

    /// What each of two traces may take of a line of so many kbit/s.
    fn share(up: Option<u64>, down: Option<u64>) -> Option<BitRate> {
        let dispersion = |kilobits: u64| Dispersion {
            packets: 1,
            octets: ByteCount(125),
            took: Duration::from_nanos(1_000_000_000 / kilobits),
        };
        let mut flows = Direction::ALL.map(trace);
        settle(&mut flows, Some(&LineRate { up: up.map(dispersion), down: down.map(dispersion) }));
        assert_eq!(flows[0].parameters.rate(RATE), flows[1].parameters.rate(RATE));
        flows[0].parameters.rate(RATE)
    }

    #[test]
    fn a_direction_of_unknown_rate_is_taken_for_slow() {
        assert_eq!(share(Some(20_000), Some(8_000)), Some(BitRate(40_000)));
        assert_eq!(share(Some(20_000), None), Some(BitRate(5_000)));
        assert_eq!(share(None, Some(500)), Some(BitRate(2_500)));
        assert_eq!(share(None, None), Some(BitRate(5_000)));
        let mut flows = [trace(Direction::Up)];
        settle(&mut flows, None);
        assert_eq!(flows[0].parameters.rate(RATE), Some(BitRate(10_000)));
    }
}

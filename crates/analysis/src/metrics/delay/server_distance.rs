//! How far away the server is: the test is made for near ones (spec, Test Requirements).

use rrul_model::flow::AddressFamily;
use rrul_model::units::Delay;

use crate::metrics::delay::round_trip_delay::DelayFlow;

/// Largest distance to a server that the test is made for, one round trip (spec, Test Requirements).
pub(crate) const FARTHEST_SERVER: Delay = Delay(80_000_000);

/// The smallest idle round-trip delay over this family of any of its probes.
pub(crate) fn nearest(flows: &[DelayFlow], family: AddressFamily) -> Option<Delay> {
    let flows = flows.iter().filter(|entry| entry.flow.family == family);
    flows.filter_map(|entry| entry.delays.idle?.min).min()
}

//! How far apart the load's flows started that were due together (the spec's stream start time slew).

use std::collections::BTreeMap;

use foldhash::{HashSet, HashSetExt};
use rrul_model::observation::{FlowEventKind, ObservationPoint, sender};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

/// Largest spread between the first bytes of flows that one host was to send from the same instant on.
///
/// Flows of different hosts are never compared: their clocks agree only as well as the exchange before the test placed
/// them. `None` when no two such flows sent anything.
pub(crate) fn start_spread(recording: &Recording) -> Option<Delay> {
    let mut seen = HashSet::new();
    let mut groups: BTreeMap<(ObservationPoint, TestTime), Vec<TestTime>> = BTreeMap::new();
    for (point, event) in recording.events().filter(|(_, event)| event.event == FlowEventKind::FirstSent) {
        let Some(flow) = recording.flow(event.flow).filter(|flow| flow.is_load_stream()) else { continue };
        if flow.direction.map(sender) == Some(point) && seen.insert(flow.id) {
            groups.entry((point, flow.window.from)).or_default().push(event.at);
        }
    }
    let spread = |starts: &Vec<TestTime>| Some(starts.iter().max()?.since(*starts.iter().min()?));
    groups.values().filter(|starts| starts.len() > 1).filter_map(spread).max()
}

//! What the kernels put in force for a flow, beside what the plan asked for.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::marking::Marking;
use rrul_model::observation::{FlowEventKind, ObservationPoint, sender};
use rrul_model::recording::Recording;

/// Congestion control of the load where the plan names none.
const CONGESTION_CONTROL: &str = "cubic";

/// Streams of one direction that were sent with another congestion control than the plan asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Replaced {
    /// The direction in which they load.
    pub(crate) direction: Direction,
    /// What was in force at their sender; `None` where its kernel did not say.
    pub(crate) effective: Option<String>,
    pub(crate) asked: String,
}

/// How many streams were sent with another congestion control than asked for, by what replaced what.
///
/// Streams of the load only, and only what their sender says: a receiver's congestion control sends acknowledgments.
/// A stream of which the recording says nothing is passed over.
pub(crate) fn replaced_congestion_control(recording: &Recording) -> BTreeMap<Replaced, u64> {
    let effective = last_details(recording, FlowEventKind::CongestionControl);
    let mut replaced = BTreeMap::new();
    for flow in recording.header.flows.iter().filter(|flow| flow.is_load_stream()) {
        let Some(direction) = flow.direction else { continue };
        let Some(detail) = effective.get(&(sender(direction), flow.id)) else { continue };
        // "NAME", "NAME (ASKED: why not)", or "unknown: why".
        let name = detail.split_whitespace().next().filter(|word| *word != "unknown:");
        let asked = flow.parameters.text("congestion_control").unwrap_or(CONGESTION_CONTROL);
        if name != Some(asked) {
            let kind = Replaced { direction, effective: name.map(str::to_owned), asked: asked.to_owned() };
            *replaced.entry(kind).or_default() += 1;
        }
    }
    replaced
}

/// Flows whose packets leave a host with another code point than their class has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmarked {
    /// The first such flow of the plan.
    pub(crate) flow: String,
    /// The host that it leaves so.
    pub(crate) point: ObservationPoint,
    /// Code point of its class.
    pub(crate) asked: u8,
    pub(crate) octet: u32,
    /// How many flows are concerned.
    pub(crate) flows: usize,
}

/// Flows with another DSCP in force, at either end, than their class has; `None` without one.
///
/// The two ECN bits are left aside: on a TCP socket they are the kernel's, which sets them when ECN is negotiated.
pub(crate) fn unmarked(recording: &Recording) -> Option<Unmarked> {
    let effective = last_details(recording, FlowEventKind::Marked);
    let mut flows = BTreeSet::new();
    let mut first = None;
    for flow in &recording.header.flows {
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let octet = effective.get(&(point, flow.id)).and_then(|detail| detail.trim().parse::<u32>().ok());
            let Some(octet) = octet else { continue };
            let asked = flow.class.dscp();
            if u8::try_from(octet).is_ok_and(|octet| Marking::from_octet(octet).dscp == asked) {
                continue;
            }
            flows.insert(flow.id);
            first.get_or_insert((flow.name.clone(), point, asked.value(), octet));
        }
    }
    let (flow, point, asked, octet) = first?;
    Some(Unmarked { flow, point, asked, octet, flows: flows.len() })
}

/// What each end said last of each flow in events of this kind.
fn last_details(recording: &Recording, kind: FlowEventKind) -> HashMap<(ObservationPoint, FlowId), &str> {
    let events = recording.events().filter(|(_, event)| event.event == kind);
    events.map(|(point, event)| ((point, event.flow), event.detail.as_str())).collect()
}

//! The fate of every test packet in either direction. A packet that arrived at the reflector and whose reply did not come
//! was lost on the way down; one that did not arrive was lost on the way up.
//!
//! The server reports every packet that arrived. Where that was lost with the control connection or the server, the
//! windows of 64 packets in the replies take its place; what neither reports stays open.

mod directions;
mod gathering;

use rrul_model::flow::FlowSpec;
use rrul_model::flow_kind::FlowKind;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::clock_offset::ClockOffset;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::loss::reordering::Displacement;
use crate::packets::join::ProbeFlow;
pub(crate) use gathering::complete_until;

/// What became of a packet in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrived within the waiting time.
    Arrived,
    /// It arrived after the waiting time, and counts as lost (RFC 7680).
    Late,
    Lost,
    /// It or its reply was lost; which of the two is unknown.
    Open,
}

/// By what packets without an answer were attributed to a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LossAttribution {
    /// Nothing: no reply came.
    None,
    /// The windows in replies, because the server's observations are incomplete.
    Window,
    /// The server's observations: every packet that arrived, one by one.
    Exact,
}

/// The fates of one flow's packets in one direction.
///
/// The time of each is that at which its test packet left the client, also of replies: it determines the phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectionFates {
    /// Every packet, in the order of sending.
    pub(crate) packets: Vec<(TestTime, Fate)>,
    /// Copies that arrived beside the first; `None` where they are unknown.
    pub(crate) copies: Option<Vec<TestTime>>,
    /// First copies in the order of arrival; `None` where the order means nothing.
    pub(crate) order: Option<Vec<(TestTime, Option<Displacement>)>>,
}

/// The fates of one flow's packets in both directions.
#[derive(Debug, Clone)]
pub(crate) struct Attributed<'a> {
    pub(crate) flow: &'a FlowSpec,
    pub(crate) evidence: LossAttribution,
    pub(crate) fates: ByDirection<DirectionFates>,
}

/// The flows of UDP probes and of UDP exchanges, in the order of the plan; a flow that sent nothing is left out.
pub(crate) fn attribute<'a>(
    recording: &'a Recording,
    probes: &[ProbeFlow<'a>],
    judgement: &Judgement<'_>,
    clock: Option<&ClockOffset>,
) -> Vec<Attributed<'a>> {
    let gathered = gathering::gather(recording);
    let attributed = recording.header.flows.iter().filter_map(|flow| {
        let rows = gathered.flows.get(&flow.id)?;
        let coverage = gathered.coverage(clock, judgement.waiting_time);
        match flow.kind() {
            FlowKind::UdpProbe => {
                let probes = probes.iter().find(|entry| entry.flow.id == flow.id)?;
                Some(directions::of_probes(flow, rows, probes, judgement, &coverage))
            }
            FlowKind::UdpRr => Some(directions::of_exchanges(flow, rows, &coverage)),
            _ => None,
        }
    });
    attributed.filter(|entry| !entry.fates.up.packets.is_empty()).collect()
}

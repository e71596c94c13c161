//! Flows that could not be set up or ended early.

use crate::flow_label::FlowLabel;
use foldhash::HashSet;
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{FlowEvent, FlowEventKind, ObservationPoint};
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use crate::packets::join::ProbeFlow;

/// A flow that could not be set up or ended early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedFlow {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Why it failed or is absent.
    pub reason: String,
}

/// Flows that failed: first those that the test can do without, then the others, both in the order of the plan.
///
/// The test can do without ICMP echo, which the spec rules out as a method because networks treat it unlike other
/// traffic, and which many systems allow to privileged users only. So an echo flow that never sent is absent; one that
/// broke down on the way has failed. Which resolver the host has, and whether over both families, is its own affair: a
/// flow that could not begin to ask it is absent too; and so is a page that no browser was there to load.
pub(crate) fn failed_flows(recording: &Recording, probes: &[ProbeFlow<'_>]) -> (Vec<FailedFlow>, Vec<FailedFlow>) {
    let never_sent: HashSet<FlowId> =
        probes.iter().filter(|entry| entry.probes.is_empty()).map(|entry| entry.flow.id).collect();
    let failed = recording.header.flows.iter().filter_map(|flow| {
        // Both ends may report the same flow; the first report is nearest to the cause.
        let event = |(_, event): &(_, &FlowEvent)| event.flow == flow.id && event.event == FlowEventKind::Failed;
        let (_, event) = recording.events().find(event)?;
        let reason = if event.detail.is_empty() { "no reason was recorded".to_owned() } else { event.detail.clone() };
        Some(FailedFlow { flow: flow.into(), reason })
    });
    let pages = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.page_load.rows());
    let browsed: HashSet<FlowId> = pages.map(|row| row.flow).collect();
    let of_host = |flow: FlowId| {
        let asks =
            |flow: &FlowSpec| flow.kind() == FlowKind::DnsLookup && flow.parameters.text("resolver") == Some("system");
        recording.flow(flow).is_some_and(asks)
            && !recording
                .tables_of(ObservationPoint::Client)
                .any(|tables| tables.name_lookup.rows().any(|row| row.flow == flow))
    };
    failed.partition(|entry| {
        entry.flow.kind() == FlowKind::IcmpEcho && never_sent.contains(&entry.flow.id)
            || of_host(entry.flow.id)
            || entry.flow.kind() == FlowKind::BrowserPage && !browsed.contains(&entry.flow.id)
    })
}

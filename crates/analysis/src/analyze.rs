//! From a recording to everything that follows from it.

use std::collections::HashSet;

use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{FlowEvent, FlowEventKind};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::analysis::{Analysis, FailedFlow, Skipped};
use crate::join::{self, ICMP_ECHO, ProbeFlow};
use crate::metrics::round_trip_delay::Judgement;
use crate::metrics::{goodput, loss, processor_load, send_lateness, start_spread, transactions};
use crate::recorded_time;
use crate::validity::Validity;
use crate::validity_rules;

/// Computes every number that follows from a recording.
///
/// Never fails: what is missing from the recording is `None`, empty or zero in the analysis, and
/// [`Analysis::validity`] says why. The same recording always gives the same analysis.
pub fn analyze(recording: &Recording) -> Analysis {
    let header = &recording.header;
    let partial = partial(recording);
    let nothing = Window { from: TestTime::ZERO, to: TestTime::ZERO };
    let load = recording.phase(Phase::Load).unwrap_or(nothing);
    let end = recorded_time::end(recording);

    let probes = join::probe_flows(recording);
    let idle = recording.phase(Phase::Idle).unwrap_or(nothing);
    let waiting_time = join::waiting_time(&probes, |at| idle.contains(at));
    let judgement = Judgement { phases: &header.phases, waiting_time, end };
    let delay_flows: Vec<_> = probes.iter().map(|flow| judgement.flow(flow)).collect();
    let pooled: HashSet<FlowId> = join::pooled(&probes).map(|entry| entry.flow.id).collect();
    let pooled = || delay_flows.iter().filter(|entry| pooled.contains(&entry.flow.id));
    let round_trip_delay = judgement.phase_delays(pooled().flat_map(|entry| &entry.series));
    let skipped = pooled().map(|entry| entry.skipped).fold(Skipped::default(), |sum, flow| Skipped {
        packets: sum.packets.saturating_add(flow.packets),
        due: sum.due.saturating_add(flow.due),
    });

    let lateness = send_lateness::send_lateness(&probes);
    let (absent_flows, failed_flows) = failures(recording, &probes);
    let mut analysis = Analysis {
        plan: header.plan.name.clone(),
        title: header.title.clone(),
        created: header.created.clone(),
        server_name: header.server_name.clone(),
        families: header.families.clone(),
        absent_families: header.absent_families.clone(),
        phases: header.phases.clone(),
        validity: Validity::default(),
        up: goodput::goodput(recording, Direction::Up, load, partial.is_some()),
        down: goodput::goodput(recording, Direction::Down, load, partial.is_some()),
        partial,
        loss: loss::of(&round_trip_delay),
        skipped,
        round_trip_delay,
        waiting_time,
        delay_flows,
        transaction_flows: transactions::transactions(recording, end),
        start_spread: start_spread::start_spread(recording),
        send_lateness: lateness.map(|lateness| lateness.statistics),
        failed_flows,
        absent_flows,
        processor: processor_load::processor_load(recording, load),
    };
    analysis.validity = validity_rules::judge(recording, &analysis, lateness.map(|lateness| lateness.p99_9));
    analysis
}

/// Why the recording is not complete; `None` when it is.
fn partial(recording: &Recording) -> Option<String> {
    match &recording.end {
        Some(end) => end.partial.clone(),
        None => Some("the recording breaks off: rrul was stopped by force, or the disk was full".to_owned()),
    }
}

/// Flows that failed: first those that the test can do without, then the others, both in the order of the plan.
///
/// The test can do without ICMP echo, which the spec rules out as a method because networks treat it unlike other
/// traffic, and which many systems allow to privileged users only. So an echo flow that never sent is absent; one that
/// broke down on the way has failed.
fn failures(recording: &Recording, probes: &[ProbeFlow<'_>]) -> (Vec<FailedFlow>, Vec<FailedFlow>) {
    let never_sent: HashSet<FlowId> =
        probes.iter().filter(|entry| entry.probes.is_empty()).map(|entry| entry.flow.id).collect();
    let failed = recording.header.flows.iter().filter_map(|flow| {
        // Both ends may report the same flow; the first report is nearest to the cause.
        let event = |(_, event): &(_, &FlowEvent)| event.flow == flow.id && event.event == FlowEventKind::Failed;
        let (_, event) = recording.events().find(event)?;
        let reason = if event.detail.is_empty() { "no reason was recorded".to_owned() } else { event.detail.clone() };
        Some(FailedFlow { flow: flow.into(), reason })
    });
    failed.partition(|entry| entry.flow.flow_type == ICMP_ECHO && never_sent.contains(&entry.flow.id))
}

//! Transactions per second of closed-loop flows.

use crate::by_direction::ByDirection;
use crate::by_phase::ByPhase;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::exchange_delay::ExchangeDelay;
use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{Component, FlowId};
use rrul_model::observation::{ObservationPoint, Transaction};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::delay::exchange_delay::ExchangeDelays;

/// One closed-loop (request-response) flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Transactions")]
pub struct TransactionFlow {
    /// Name of a closed-loop (request-response) flow.
    ///
    /// Source: spec, Realtime Component.
    pub flow: FlowLabel,
    /// Transactions by the phase in which the request was sent.
    #[serde(flatten)]
    pub phases: ByPhase<Option<TransactionPhase>>,
    /// Delay in each direction; `None` in older recordings, and where the clocks are not known.
    #[serde(flatten)]
    pub delays: ByDirection<Option<ExchangeDelay>>,
}

/// Transactions of one flow in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TransactionPhase {
    /// Requests sent in this phase and answered.
    ///
    /// Unit: count.
    pub answered: u64,
    /// Requests sent in this phase and given up.
    ///
    /// Unit: count.
    pub unanswered: u64,
    /// Answered requests over the flow's time in the phase.
    ///
    /// Unit: 1/s.
    pub per_second: f64,
}

/// The closed-loop flows of the plan: those of the Realtime Component that are not open loop, and any with transactions.
///
/// A transaction belongs to the phase in which its request was sent. Rates are over the time that the flow had in the
/// phase before the recording ended at `end`. Their durations feed no percentile: a closed loop asks rarely while
/// replies are slow, and so samples good moments more often than bad ones.
pub(crate) fn transactions(recording: &Recording, end: TestTime, delays: &ExchangeDelays<'_>) -> Vec<TransactionFlow> {
    let mut rows: HashMap<FlowId, Vec<Transaction>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transaction.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let with_rows: HashSet<FlowId> = rows.keys().copied().collect();
    let closed_loop = recording.header.flows.iter().filter(|flow| {
        with_rows.contains(&flow.id) || (flow.component == Component::Realtime && !flow.kind().is_open_loop())
    });
    closed_loop
        .map(|flow| {
            let rows = rows.remove(&flow.id).unwrap_or_default();
            let phase = |phase| {
                let mut phases = recording.header.phases.iter().filter(|entry| entry.window.overlaps(&flow.window));
                let entry = phases.find(|entry| entry.phase == phase)?;
                let from = entry.window.from.max(flow.window.from);
                let to = entry.window.to.min(flow.window.to).min(end);
                let length = Window { from, to }.length().as_secs_f64();
                let sent = || rows.iter().filter(|row| entry.window.contains(row.started));
                let answered = sent().filter(|row| row.answered != 0).count() as u64;
                let unanswered = sent().count() as u64 - answered;
                let per_second = if length > 0.0 { answered as f64 / length } else { 0.0 };
                Some(TransactionPhase { answered, unanswered, per_second })
            };
            TransactionFlow { flow: flow.into(), phases: ByPhase::each(phase), delays: delays.delays(flow) }
        })
        .collect()
}

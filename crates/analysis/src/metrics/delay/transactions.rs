//! Transactions per second of closed-loop flows.

use crate::by_direction::ByDirection;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::exchange_delay::ExchangeDelay;
use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{Component, FlowId};
use rrul_model::observation::{ObservationPoint, Transaction};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::delay::exchange_delay::ExchangeDelays;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Transactions",
    path: "transactions[]",
    about: "",
    words: &[
        MetricWord {
            name: "flow",
            about: "name of a closed-loop (request-response) flow",
            unit: "",
            source: "spec, Realtime Component",
        },
        MetricWord {
            name: "{idle,load,after}.answered, {idle,load,after}.unanswered",
            about: "transactions by the phase in which the request was sent: answered, and given up",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "{idle,load,after}.per_second",
            about: "answered, over the flow's time in the phase",
            unit: "1/s",
            source: "",
        },
        MetricWord {
            name: "up.queueing_delay, down.queueing_delay",
            about: "how much longer a request (`up`) or a response (`down`) took than the fastest of its flow on the idle \
                line, [by phase](#delay-by-phase) in which the exchange began, answered exchanges only. Stamps of the kernels \
                over UDP; of the programs over TCP, where it includes waits behind lost segments. Offset and drift of the \
                clocks are those of the UDP probes. The phases are `null` where the drift is uncertain, or no exchange \
                crossed the idle line; `up` and `down` are `null` without stamps or UDP probes. A closed loop samples good moments \
                more often than bad ones: these percentiles lie below those of `one_way_delay` and feed no headline",
            unit: "ns",
            source: "spec, Realtime Component",
        },
        MetricWord {
            name: "up.one_way_delay, down.one_way_delay",
            about: "the same from sending to arrival, as if the smallest round trip of the UDP probes were the same both \
                ways: off by up to `one_way_delay.clocks.bound_ns`",
            unit: "ns",
            source: "RFC 7679",
        },
        MetricWord {
            name: "up.delay_variation.{idle,load,after}, down.delay_variation.{idle,load,after}",
            about: "[variation](#delay-variation) of the one-way delay of requests and of responses",
            unit: "",
            source: "RFC 5481",
        },
    ],
};

/// One closed-loop flow.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionFlow {
    /// Who.
    pub flow: FlowLabel,
    /// By phase: transactions answered, not answered in time, and answered per second.
    pub phases: Vec<TransactionPhase>,
    /// Delay in each direction; `None` in older recordings, and where the clocks are not known.
    pub delays: Option<ByDirection<ExchangeDelay>>,
}

/// Transactions of one flow in one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransactionPhase {
    /// Which phase.
    pub phase: Phase,
    /// Answered.
    pub answered: u64,
    /// Given up.
    pub unanswered: u64,
    /// Answered per second.
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
            let phases = recording.header.phases.iter().filter(|entry| entry.window.overlaps(&flow.window));
            let phases = phases.map(|entry| {
                let from = entry.window.from.max(flow.window.from);
                let to = entry.window.to.min(flow.window.to).min(end);
                let length = Window { from, to }.length().as_secs_f64();
                let sent = || rows.iter().filter(|row| entry.window.contains(row.started));
                let answered = sent().filter(|row| row.answered != 0).count() as u64;
                let unanswered = sent().count() as u64 - answered;
                let per_second = if length > 0.0 { answered as f64 / length } else { 0.0 };
                TransactionPhase { phase: entry.phase, answered, unanswered, per_second }
            });
            TransactionFlow { flow: flow.into(), phases: phases.collect(), delays: delays.delays(flow) }
        })
        .collect()
}

//! Delay by direction of exchanges (spec: delay and jitter on both an upstream and a downstream basis).
//!
//! The offset of the clocks comes from the test packets, never from exchanges: a closed loop asks rarely while replies are
//! slow. For the same reason these delays feed no headline.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{ObservationPoint, TransactionStamped};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::by_phase::ByPhase;
use crate::clock_offset::ClockOffset;
use crate::metrics::delay::delay_variation::{DelayVariation, Singleton};
use crate::metrics::delay::one_way_delay::DirectionDelay;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::series::DelayPoint;

/// Delays of the messages of one flow of exchanges in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExchangeDelay {
    /// By phase.
    #[serde(flatten)]
    pub delays: DirectionDelay,
    /// Variation of the one-way delay by phase.
    ///
    /// Source: RFC 5481.
    pub delay_variation: ByPhase<Option<DelayVariation>>,
}

/// The stamped exchanges of every flow.
pub(crate) struct ExchangeDelays<'a> {
    flows: &'a [FlowSpec],
    rows: HashMap<FlowId, Vec<TransactionStamped>>,
    clock: Option<&'a ClockOffset>,
    judgement: &'a Judgement<'a>,
}

impl<'a> ExchangeDelays<'a> {
    /// Gathers the stamps of a recording; those of older ones have none.
    pub(crate) fn gather(
        recording: &'a Recording,
        clock: Option<&'a ClockOffset>,
        judgement: &'a Judgement<'a>,
    ) -> Self {
        let mut rows: HashMap<FlowId, Vec<TransactionStamped>> = HashMap::new();
        for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transaction_stamped.rows()) {
            rows.entry(row.flow).or_default().push(row);
        }
        Self { flows: &recording.header.flows, rows, clock, judgement }
    }

    /// Returns the delays of one flow in each direction; `None` when it has no stamps, or the clocks are not known.
    pub(crate) fn delays(&self, flow: &FlowSpec) -> ByDirection<Option<ExchangeDelay>> {
        ByDirection::each(|direction| {
            let (clock, rows) = (self.clock?, self.rows.get(&flow.id)?);
            let crossings: Vec<Crossing> = rows.iter().filter_map(|row| Crossing::new(row, direction, clock)).collect();
            let singleton = |one: &Crossing| {
                let delay = Some(clock.one_way_delay(direction, one.sent, one.received));
                Singleton { sequence: one.sequence, sent: one.at, delay }
            };
            let singletons: Vec<Singleton> = crossings.iter().map(singleton).collect();
            let variation = ByPhase::each(|phase| {
                let ours = singletons.iter().filter(|one| self.judgement.phase(one.sent) == Some(phase));
                let variation = DelayVariation::from_sample(&ours.copied().collect::<Vec<_>>());
                // Drift adds up over a phase, but not between adjacent packets.
                if clock.is_drift_uncertain() { variation.map(DelayVariation::without_pdv) } else { variation }
            });
            let one_way: Vec<DelayPoint> =
                singletons.iter().map(|one| DelayPoint { at: one.sent, delay: one.delay }).collect();
            let queueing = self.queueing(flow, direction, &crossings, clock);
            let delays = DirectionDelay {
                queueing_delay: self.judgement.phase_delays(queueing.iter()),
                one_way_delay: self.judgement.phase_delays(one_way.iter()),
            };
            Some(ExchangeDelay { delays, delay_variation: variation })
        })
    }

    /// How much longer each message took than the fastest of its flow on the idle line.
    ///
    /// Drift, steps and routes are those of the test packets of the same family: measured against their smallest delay,
    /// messages differ from them by what their length and their stamps cost, which the idle line shows.
    fn queueing(
        &self,
        flow: &FlowSpec,
        direction: Direction,
        crossings: &[Crossing],
        clock: &ClockOffset,
    ) -> Vec<DelayPoint> {
        let alike = |probe: &&FlowSpec| probe.kind() == FlowKind::UdpProbe && probe.family == flow.family;
        let above = |one: &Crossing| {
            let mut probes = self.flows.iter().filter(alike);
            probes.find_map(|probe| clock.queueing_delay(probe, direction, one.sent, one.received))
        };
        let above: Vec<(TestTime, Delay)> = crossings.iter().filter_map(|one| Some((one.at, above(one)?))).collect();
        let idle = |at: TestTime| matches!(self.judgement.phase(at), Some(Phase::Idle | Phase::After));
        let Some(floor) = above.iter().filter(|(at, _)| idle(*at)).map(|(_, delay)| *delay).min() else {
            return Vec::new();
        };
        above.into_iter().map(|(at, delay)| DelayPoint { at, delay: Some(delay - floor) }).collect()
    }
}

/// One message on its way.
struct Crossing {
    /// Number of the exchange within the flow.
    sequence: u32,
    /// When the exchange began, on the client's clock.
    at: TestTime,
    /// When the message left, on its sender's clock.
    sent: TestTime,
    /// When it arrived, on its receiver's clock.
    received: TestTime,
}

impl Crossing {
    /// The message of one direction; `None` when a stamp is from around a step of a clock.
    fn new(row: &TransactionStamped, direction: Direction, clock: &ClockOffset) -> Option<Self> {
        let (sent, received) = match direction {
            Direction::Up => (row.sent, row.server_received),
            Direction::Down => (row.server_sent, row.received),
        };
        let usable = !clock.is_misstamped(direction, sent, Some(received));
        usable.then_some(Self { sequence: row.sequence, at: row.sent, sent, received })
    }
}

//! What became of each probe, while the test runs: for counters that go on over many tests.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::{HashMap, HashSet};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, ProbeFate};
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

use super::waiting::{LONGEST_WAITING_TIME, Waiting, probes};
use crate::packets::recorded_time::last_observation;

/// The server's rows come this much later, at most: it reports on slow tests every 5 s.
const SERVER_LAG: Duration = Duration::from_secs(7);
/// By then the fate of a probe that has reached the server is known at the client.
const SETTLED: Duration = LONGEST_WAITING_TIME.saturating_add(SERVER_LAG.saturating_mul(2));

/// A probe whose fate is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProbe {
    pub class: ServiceClass,
    pub family: AddressFamily,
    pub fate: ProbeFate,
}

/// Follows the probes of a test frame by frame.
#[derive(Debug, Clone)]
pub struct ProbeTally {
    waiting: Waiting,
    flows: BTreeMap<FlowId, (ServiceClass, AddressFamily)>,
    /// Which have reached the server, and when, of the flows of which it records that.
    reached: HashMap<(FlowId, u32), TestTime>,
    recorded: HashSet<FlowId>,
    client: Option<TestTime>,
}

impl ProbeTally {
    /// For the test that begins with this header.
    pub fn new(header: &Header) -> Self {
        Self {
            waiting: Waiting::new(header),
            flows: probes(header).map(|flow| (flow.id, (flow.class, flow.family))).collect(),
            reached: HashMap::default(),
            recorded: HashSet::default(),
            client: None,
        }
    }

    /// Takes in a frame, and returns the probes whose fate is known since.
    pub fn push(&mut self, frame: &Frame) -> Vec<KnownProbe> {
        if frame.point == ObservationPoint::Server {
            for row in frame.tables.packet_received.rows() {
                self.reached.insert((row.flow, row.sequence), row.received);
                self.recorded.insert(row.flow);
            }
            return Vec::new();
        }
        self.client = self.client.max(last_observation(&frame.tables));
        let (_, answers) = self.waiting.take_in(&frame.tables);
        // Counters never fall: what has counted as lost remains so.
        let in_time = answers.iter().filter(|answer| !answer.late);
        let mut known: Vec<(FlowId, ProbeFate)> =
            in_time.map(|answer| (answer.flow, ProbeFate::Answered(answer.delay))).collect();
        if let Some(client) = self.client {
            for (probe, _) in self.waiting.give_up(client - SERVER_LAG) {
                let reached = self.reached.remove(&probe).is_some();
                let direction = if reached { Direction::Down } else { Direction::Up };
                known.push((probe.0, ProbeFate::Lost(self.recorded.contains(&probe.0).then_some(direction))));
            }
            self.reached.retain(|_, received| *received > client - SETTLED);
        }
        let with_flow = |(flow, fate)| {
            let (class, family) = *self.flows.get(&flow)?;
            Some(KnownProbe { class, family, fate })
        };
        known.into_iter().filter_map(with_flow).collect()
    }
}

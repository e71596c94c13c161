//! In-stream delay: the time from writing a record into a TCP stream to reading it at the other end (spec: Stream
//! Delay).

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{receiver, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::round_trip_delay::PhaseDelays;
use crate::metrics::delay::round_trip_delay::phase_delays;
use crate::packets::join::SHORTEST_WAITING_TIME;
use crate::series::DelayPoint;

/// In-stream delay in each direction.
///
/// Delay of records in a TCP stream of low rate (flow type `tcp_records`): from just before a record is written at one
/// end to when it is read in full at the other. Timestamps are the programs' own, because TCP gives no kernel timestamp
/// for a record, so waking the reader is included. Unlike one-way delay, it includes the wait in the sender's socket
/// buffer, and behind a lost segment until that is retransmitted (head-of-line blocking): what an application sees. The
/// clocks are related as for one-way delay, with the same bound; the difference between idle and loaded does not depend
/// on it. Null if the clock drift is uncertain (`one_way_delay.clocks.skew_uncertain`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "In-stream delay")]
pub struct StreamDelay {
    /// All streams from server to client. Null without any.
    ///
    /// Source: spec, Up/Down Stream Delay.
    pub down: Option<PhaseDelays>,
    /// All streams from client to server. Null without any.
    ///
    /// Source: spec, Up/Down Stream Delay.
    pub up: Option<PhaseDelays>,
    /// Each stream.
    pub flows: Vec<StreamDelayFlow>,
}

impl StreamDelay {
    pub fn direction(&self, direction: Direction) -> Option<&PhaseDelays> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// In-stream delay of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamDelayFlow {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// [By phase](#delay-by-phase), of this stream.
    pub delays: PhaseDelays,
    /// Records written whose fate is known.
    ///
    /// Unit: count.
    pub written: u64,
    /// Of those, records never read in full.
    ///
    /// Unit: count.
    pub unread: u64,
    /// Records that were due and not written, as the host stalled.
    ///
    /// Unit: count.
    pub skipped: u64,
    /// Each record.
    #[serde(skip)]
    pub series: Vec<DelayPoint>,
}

/// The in-stream delay of every stream of records; of none where the two clocks cannot be brought together, or drift
/// apart in a way that is not known: what the load adds could not be distinguished from what the drift does.
///
/// Records that were written less than the waiting time before `end` count only when all of their stream were read:
/// what was still under way when listening ended would look lost, and leaving out just those would leave the quick ones.
pub(crate) fn stream_delay(
    recording: &Recording,
    clocks: Option<&ClockOffset>,
    scored: impl Fn(Direction) -> Option<Window>,
    end: TestTime,
) -> StreamDelay {
    let phases = &recording.header.phases;
    let Some(clocks) = clocks.filter(|clocks| clocks.uncertain().is_none()) else { return StreamDelay::default() };
    let mut rows = gather(recording);
    let mut flows = Vec::new();
    for flow in recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::TcpRecords) {
        let Some(direction) = flow.direction.filter(|direction| clocks.unknown(*direction).is_none()) else { continue };
        let rows = rows.remove(&flow.id).unwrap_or_default();
        let skipped = rows.skipped;
        let series = rows.delays(direction, clocks, end);
        let delays = phase_delays(phases, scored(direction), series.iter());
        let unread = series.iter().filter(|point| point.delay.is_none()).count() as u64;
        flows.push(StreamDelayFlow {
            flow: flow.into(),
            delays,
            written: series.len() as u64,
            unread,
            skipped,
            series,
        });
    }
    let of = |direction| {
        let own = flows.iter().filter(|entry| entry.flow.direction == Some(direction));
        let series = own.clone().flat_map(|entry| &entry.series);
        own.clone().next().map(|_| phase_delays(phases, scored(direction), series))
    };
    StreamDelay { down: of(Direction::Down), up: of(Direction::Up), flows }
}

#[derive(Default)]
struct Rows {
    written: BTreeMap<u32, TestTime>,
    read: HashMap<u32, TestTime>,
    skipped: u64,
}

impl Rows {
    /// Each record at the client's time of its writing.
    fn delays(&self, direction: Direction, clocks: &ClockOffset, end: TestTime) -> Vec<DelayPoint> {
        let at_client = |written: TestTime| match direction {
            Direction::Up => written,
            Direction::Down => clocks.client_time(written),
        };
        let point = |(number, written): (&u32, &TestTime)| {
            let read = self.read.get(number);
            let delay = read.map(|read| clocks.one_way_delay(direction, *written, *read));
            DelayPoint { at: at_client(*written), delay }
        };
        let mut series: Vec<DelayPoint> = self.written.iter().map(point).collect();
        let late = |point: &DelayPoint| point.at + SHORTEST_WAITING_TIME > end;
        if series.iter().any(|point| late(point) && point.delay.is_none()) {
            series.retain(|point| !late(point));
        }
        series
    }
}

/// What the sender wrote and what the receiver read.
fn gather(recording: &Recording) -> HashMap<FlowId, Rows> {
    let records = recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::TcpRecords);
    let directions: HashMap<FlowId, Direction> = records.filter_map(|flow| Some((flow.id, flow.direction?))).collect();
    let mut gathered: HashMap<FlowId, Rows> = HashMap::new();
    for direction in Direction::ALL {
        let ours = |flow: FlowId| directions.get(&flow) == Some(&direction);
        for tables in recording.tables_of(sender(direction)) {
            for row in tables.probe_sent.rows().filter(|row| ours(row.flow)) {
                gathered.entry(row.flow).or_default().written.entry(row.sequence).or_insert(row.sent);
            }
            for row in tables.probes_skipped.rows().filter(|row| ours(row.flow)) {
                let skipped = &mut gathered.entry(row.flow).or_default().skipped;
                *skipped = skipped.saturating_add(u64::from(row.count));
            }
        }
        for row in recording.tables_of(receiver(direction)).flat_map(|tables| tables.packet_received.rows()) {
            if ours(row.flow) {
                gathered.entry(row.flow).or_default().read.entry(row.sequence).or_insert(row.received);
            }
        }
    }
    gathered
}

//! Start slew of the load's streams: how long each takes to connect, to get through, to get its part (spec: Stream Start
//! Time Slew).

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{FlowEventKind, ObservationPoint, receiver, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::metrics::rate::goodput::{DirectionGoodput, GoodputFlow};
use crate::series::RatePoint;
use crate::statistics::percentile::percentile;

/// Segments that make a rate.
const SEGMENTS: f64 = 20.0;
/// Bits of a full segment on Ethernet.
const SEGMENT_BITS: f64 = 1500.0 * 8.0;

/// Start slew by direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StartSlew {
    /// Server to client. Null without streams.
    pub down: Option<DirectionSlew>,
    /// Client to server. Null without streams.
    pub up: Option<DirectionSlew>,
}

impl StartSlew {
    pub fn direction(&self, direction: Direction) -> Option<&DirectionSlew> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// How long the streams of one direction took to start.
///
/// Start of each stream of the load (spec, Stream Start Time Slew). Its connection is opened before the test, on the
/// idle line. For opening connections under load, see [new connections](#new-connections). Null without streams in that
/// direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Start slew")]
pub struct DirectionSlew {
    /// All of them.
    #[serde(flatten)]
    pub pooled: Slew,
    /// The streams of each class.
    pub classes: Vec<ClassSlew>,
    /// Each stream.
    pub streams: Vec<StreamSlew>,
}

/// Start slew of one class.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassSlew {
    /// Service class.
    pub class: ServiceClass,
    /// Of its streams.
    #[serde(flatten)]
    pub slew: Slew,
}

/// How long some streams took to start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Slew {
    /// From `connect` to the end of the handshake, at the client, before the test.
    pub connect: Steps,
    /// From the planned start to the first byte handed to the sender's kernel, on the sender's clock.
    pub first_sent: Steps,
    /// From the planned start to the first byte read by the receiver: `first_sent` plus the one-way delay of that byte,
    /// with the error bound of one-way delay.
    ///
    /// Source: spec, Variables Under Test.
    pub first_received: Steps,
    /// From the planned start to half of the final rate, which is the median over the last half of the stream's time.
    /// Measured to the middle of the first interval with that rate: 100 ms, or the time of 20 segments at that rate.
    pub half_rate: Steps,
}

/// How long several streams took for one step of starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Start steps")]
pub struct Steps {
    /// Streams, missing ones included.
    ///
    /// Unit: count.
    pub n: u64,
    /// Streams that never took the step, or for which it is unknown.
    ///
    /// Unit: count.
    pub missing: u64,
    /// Median, missing ones counted as infinitely late; null when it is one of them.
    pub p50_ns: Option<i64>,
    /// Longest of those that took it.
    pub max_ns: Option<i64>,
}

/// How long one stream took to start.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamSlew {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// When the plan wanted it to start.
    #[serde(skip)]
    pub planned: TestTime,
    /// From `connect` to the end of the handshake.
    pub connect_ns: Option<i64>,
    /// From the planned start to the sender's first byte, both on the sender's clock.
    pub first_sent_ns: Option<i64>,
    /// From the planned start to the receiver's first byte.
    ///
    /// Source: spec, Variables Under Test.
    pub first_received_ns: Option<i64>,
    /// From the planned start to half of the final rate.
    pub half_rate_ns: Option<i64>,
}

/// How the streams of each direction started.
pub(crate) fn start_slew<'a>(
    recording: &Recording,
    goodput: impl Fn(Direction) -> &'a DirectionGoodput,
    clocks: Option<&ClockOffset>,
    load: Window,
) -> StartSlew {
    let events = first_events(recording);
    let of = |direction: Direction| {
        let goodput = goodput(direction);
        let flows = recording.header.flows.iter();
        let flows = flows.filter(|flow| flow.is_load_stream() && flow.direction == Some(direction));
        let streams: Vec<StreamSlew> = flows
            .map(|flow| {
                let measured = goodput.flows.iter().find(|entry| entry.flow.id == flow.id);
                Start { flow, direction, events: &events, clocks }.slew(measured, load)
            })
            .collect();
        (!streams.is_empty()).then(|| DirectionSlew {
            pooled: slew_of(&streams, |_| true),
            classes: classes(&streams),
            streams,
        })
    };
    StartSlew { down: of(Direction::Down), up: of(Direction::Up) }
}

type Events = HashMap<(ObservationPoint, FlowId, FlowEventKind), TestTime>;

/// The first event of each kind that each host reports of each flow.
fn first_events(recording: &Recording) -> Events {
    let mut first = HashMap::new();
    for (point, event) in recording.events() {
        first.entry((point, event.flow, event.event)).or_insert(event.at);
    }
    first
}

struct Start<'a> {
    flow: &'a FlowSpec,
    direction: Direction,
    events: &'a Events,
    clocks: Option<&'a ClockOffset>,
}

impl Start<'_> {
    fn slew(&self, measured: Option<&GoodputFlow>, load: Window) -> StreamSlew {
        let planned = self.flow.window.from;
        let connected = self.event(ObservationPoint::Client, FlowEventKind::Connected);
        let asked = self.event(ObservationPoint::Client, FlowEventKind::ConnectStarted);
        let sent = self.event(sender(self.direction), FlowEventKind::FirstSent);
        let own = Window { from: planned.max(load.from), to: self.flow.window.to.min(load.to) };
        StreamSlew {
            flow: self.flow.into(),
            planned,
            connect_ns: connected.zip(asked).map(|(to, from)| to.since(from).0),
            first_sent_ns: sent.map(|at| at.since(planned).0),
            first_received_ns: self.first_received(sent).map(|delay| delay.0),
            half_rate_ns: measured.and_then(|flow| half_rate(flow, own)).map(|at| at.since(planned).0),
        }
    }

    fn event(&self, point: ObservationPoint, kind: FlowEventKind) -> Option<TestTime> {
        self.events.get(&(point, self.flow.id, kind)).copied()
    }

    /// Sender's part on the sender's clock, the rest as a one-way delay: the two hosts' T0 may lie apart.
    fn first_received(&self, sent: Option<TestTime>) -> Option<Delay> {
        let received = self.event(receiver(self.direction), FlowEventKind::FirstReceived)?;
        let sent = sent?;
        Some(sent.since(self.flow.window.from) + self.clocks?.one_way_delay(self.direction, sent, received))
    }
}

/// When a stream first had half of its final rate: the middle of the first stretch that did.
///
/// The final rate is the median over the last half of the stream's time. A stretch is as many intervals as hold
/// [`SEGMENTS`] segments at that rate: a slow stream has a segment now and then, and one is no rate. `None` where it ends
/// with nothing.
fn half_rate(flow: &GoodputFlow, own: Window) -> Option<TestTime> {
    let inside: Vec<&RatePoint> = flow.series.iter().filter(|point| own.contains(point.at)).collect();
    let middle = TestTime(i64::midpoint(own.from.0, own.to.0));
    let mut last: Vec<u64> = inside.iter().filter(|point| point.at >= middle).map(|point| point.rate.0).collect();
    last.sort_unstable();
    let last = percentile(&last, 0, 500).filter(|rate| *rate > 0)? as f64;
    let interval = inside.first()?.over.as_secs_f64();
    let stretch = (SEGMENTS * SEGMENT_BITS / (last * interval)).ceil().max(1.0) as usize;
    let reached = inside.windows(stretch).find(|points| {
        let sum: f64 = points.iter().map(|point| point.rate.0 as f64).sum();
        sum >= last / 2.0 * stretch as f64
    })?;
    Some(TestTime(i64::midpoint(reached.first()?.at.0, reached.last()?.at.0)))
}

fn classes(streams: &[StreamSlew]) -> Vec<ClassSlew> {
    let mut classes: Vec<ServiceClass> = Vec::new();
    for stream in streams {
        if !classes.contains(&stream.flow.class) {
            classes.push(stream.flow.class);
        }
    }
    let slew = |class| ClassSlew { class, slew: slew_of(streams, |stream| stream.flow.class == class) };
    classes.into_iter().map(slew).collect()
}

fn slew_of(streams: &[StreamSlew], wanted: impl Fn(&StreamSlew) -> bool) -> Slew {
    let steps = |step: fn(&StreamSlew) -> Option<i64>| {
        let own = streams.iter().filter(|stream| wanted(stream));
        let mut known: Vec<i64> = own.clone().filter_map(step).collect();
        known.sort_unstable();
        let missing = (own.count() - known.len()) as u64;
        let p50_ns = percentile(&known, missing, 500);
        Steps { n: known.len() as u64, missing, p50_ns, max_ns: known.last().copied() }
    };
    Slew {
        connect: steps(|stream| stream.connect_ns),
        first_sent: steps(|stream| stream.first_sent_ns),
        first_received: steps(|stream| stream.first_received_ns),
        half_rate: steps(|stream| stream.half_rate_ns),
    }
}

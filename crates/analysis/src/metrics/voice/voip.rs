//! Voice streams: loss, lateness, delay and what a listener would say, by class and direction (spec: VoIP Component).

use std::collections::BTreeSet;
use std::time::Duration;

use rrul_model::flow::{Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::metrics::voice::voip_playout::{LATENESS_LIMIT, Listening, Packet, REFERENCE_WINDOW};
use crate::metrics::voice::voip_quality::VoipQuality;
use crate::metrics::voice::voip_schedule;
use crate::metrics::voice::voip_schedule::VoipSchedule;
use crate::packets::one_way_flow::OneWayFlow;
use crate::packets::recorded_time;

/// The voice streams of a test.
///
/// Streams of the VoIP Component: 10 ms of G.711 in a packet, one way, every 10 ms. `load` is of the [scored
/// window](#scored-window). `null` when the plan has none. Each is shown by phase as [voice streams in one
/// phase](#voice-streams-in-one-phase), and what the load adds as [voice: what the load
/// adds](#voice-what-the-load-adds).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Voice")]
pub struct Voip {
    /// Largest delay above the reference at which a packet is not late: 30 ms.
    ///
    /// Source: spec, VoIP Component.
    pub lateness_limit_ns: i64,
    /// Time over which the adaptive reference is the smallest delay: 5 s.
    pub reference_window_ns: i64,
    /// How the streams of each direction shared the line.
    pub schedules: Vec<VoipSchedule>,
    /// Streams by class and direction, all address families together.
    pub classes: Vec<VoipClass>,
    /// Each stream.
    pub flows: Vec<VoipFlow>,
}

/// The streams of one class in one direction, of every family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VoipClass {
    /// Service class.
    pub class: ServiceClass,
    /// Direction of the streams.
    pub direction: Direction,
    /// Streams on the idle line: packets are counted together, runs of losses stream by stream.
    pub idle: Option<VoipQuality>,
    /// Streams under load.
    pub load: Option<VoipQuality>,
    /// Streams after the load.
    pub after: Option<VoipQuality>,
    /// What the load adds to them.
    pub added: Option<VoipAdded>,
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VoipFlow {
    /// Name of a stream.
    pub flow: FlowLabel,
    /// The stream on the idle line.
    pub idle: Option<VoipQuality>,
    /// The stream under load.
    pub load: Option<VoipQuality>,
    /// The stream after the load.
    pub after: Option<VoipQuality>,
    /// What the load adds to it.
    pub added: Option<VoipAdded>,
    /// Each packet, for charts.
    #[serde(skip)]
    pub series: Vec<VoipPoint>,
}

/// What the load adds to a stream: loaded less idle. Null where either is null.
///
/// Loaded less idle; `null` where either is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Voice: what the load adds")]
pub struct VoipAdded {
    /// Difference of `effective_loss`.
    ///
    /// Unit: -1 to 1.
    pub effective_loss: Option<f64>,
    /// Difference of the median one-way delay; the clocks' offset cancels.
    pub one_way_delay_p50_ns: Option<i64>,
    /// Difference of `mos_plc`; negative is worse.
    pub mos_plc: Option<f64>,
}

impl VoipAdded {
    fn between(idle: Option<&VoipQuality>, load: Option<&VoipQuality>) -> Option<Self> {
        let (idle, load) = (idle?, load?);
        let difference = |of: fn(&VoipQuality) -> Option<f64>| Some(of(load)? - of(idle)?);
        Some(Self {
            effective_loss: difference(|quality| quality.effective_loss),
            one_way_delay_p50_ns: load
                .one_way_delay
                .zip(idle.one_way_delay)
                .and_then(|(load, idle)| Some((load.p50? - idle.p50?).0)),
            mos_plc: difference(|quality| quality.mos_plc),
        })
    }
}

/// One packet of a voice stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoipPoint {
    /// When it was sent, on the client's clock.
    pub at: TestTime,
    /// Its one-way delay; `None` when it was lost.
    pub delay: Option<Delay>,
    /// Whether it arrived too late to be played by a buffer that adapts.
    pub late: bool,
}

/// Computes everything about the voice streams in these phases; `None` when the plan has none.
///
/// Of what travels up it is known until the server's last observation, of what travels down until the client's.
pub(crate) fn voip(
    recording: &Recording,
    one_way_flows: &[OneWayFlow<'_>],
    offset: Option<&ClockOffset>,
    phases: &[PhaseWindow],
    waiting_time: Duration,
) -> Option<Voip> {
    let is_voice = |component| component == Component::Voip;
    if !recording.header.flows.iter().any(|flow| is_voice(flow.component)) {
        return None;
    }
    let until = |direction| recorded_time::heard_until(recording, direction);
    let stream = |one_way: &OneWayFlow<'_>| {
        let listening = Listening { waiting_time, until: until(one_way.direction), offset };
        Stream { flow: one_way.flow.into(), direction: one_way.direction, packets: listening.packets(one_way) }
    };
    let streams: Vec<Stream> =
        one_way_flows.iter().filter(|one_way| is_voice(one_way.flow.component)).map(stream).collect();
    let phases = Phases { windows: phases, offset };
    let of_plan = recording.header.flows.iter().filter(|flow| is_voice(flow.component));
    let kinds: BTreeSet<(Direction, ServiceClass)> =
        of_plan.filter_map(|flow| Some((flow.direction?, flow.class))).collect();
    Some(Voip {
        lateness_limit_ns: LATENESS_LIMIT.0,
        reference_window_ns: Delay::from(REFERENCE_WINDOW).0,
        schedules: voip_schedule::schedules(recording),
        classes: kinds.into_iter().map(|(direction, class)| phases.class(&streams, direction, class)).collect(),
        flows: streams.iter().map(|stream| phases.flow(stream)).collect(),
    })
}

/// One stream with its packets.
struct Stream {
    flow: FlowLabel,
    direction: Direction,
    packets: Vec<Packet>,
}

impl Stream {
    /// The packets that were sent in this window.
    fn within(&self, window: Window) -> &[Packet] {
        // Departures rise with the numbers, but for stamps that cannot be.
        let from = self.packets.partition_point(|packet| packet.sent < window.from);
        let to = self.packets.partition_point(|packet| packet.sent < window.to);
        self.packets.get(from..to).unwrap_or_default()
    }
}

/// What distinguishes the phases of packets.
#[derive(Clone, Copy)]
struct Phases<'a> {
    windows: &'a [PhaseWindow],
    offset: Option<&'a ClockOffset>,
}

impl Phases<'_> {
    /// The quality of these streams together in one phase.
    fn quality<'s>(&self, streams: impl Iterator<Item = &'s Stream>, phase: Phase) -> Option<VoipQuality> {
        let window = self.windows.iter().find(|entry| entry.phase == phase)?.window;
        let packets: Vec<&[Packet]> = streams.map(|stream| stream.within(window)).collect();
        VoipQuality::measure(&packets, self.offset)
    }

    fn class(&self, streams: &[Stream], direction: Direction, class: ServiceClass) -> VoipClass {
        let ours = || streams.iter().filter(|stream| stream.direction == direction && stream.flow.class == class);
        let [idle, load, after] = PHASES.map(|phase| self.quality(ours(), phase));
        let added = VoipAdded::between(idle.as_ref(), load.as_ref());
        VoipClass { class, direction, idle, load, after, added }
    }

    fn flow(&self, stream: &Stream) -> VoipFlow {
        let [idle, load, after] = PHASES.map(|phase| self.quality(std::iter::once(stream), phase));
        let added = VoipAdded::between(idle.as_ref(), load.as_ref());
        let point = |packet: &Packet| VoipPoint { at: packet.sent, delay: packet.delay, late: packet.late };
        let series = stream.packets.iter().map(point).collect();
        VoipFlow { flow: stream.flow.clone(), idle, load, after, added, series }
    }
}

/// What is sent before the baseline is a survey, and disturbs itself.
const PHASES: [Phase; 3] = [Phase::Idle, Phase::Load, Phase::After];

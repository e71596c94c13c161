//! Round-trip delay of test packets by phase (RFC 2681), losses counted as infinitely late.

use crate::flow_label::FlowLabel;
use rrul_model::flow_kind::FlowKind;
use rrul_model::units::Delay;
use std::time::Duration;

use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::loss::packet_count::{Loss, Skipped};
use crate::packets::join::{Probe, ProbeFlow};
use crate::packets::probe_pool::ProbeSample;
use crate::series::DelayPoint;
use crate::statistics::percentile::DelayStatistics;

/// Delays by phase, and what the load adds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Delay by phase")]
pub struct PhaseDelays {
    /// Sent in the idle phase, whenever it arrived. The survey is excluded.
    ///
    /// Source: spec, Test Flow.
    pub idle: Option<DelayStatistics>,
    /// Sent under load, in the [scored window](#scored-window).
    ///
    /// Source: spec, Test Flow.
    pub load: Option<DelayStatistics>,
    /// Sent under load, outside the scored window: while streams ramped up, in a burst, and in the seconds after it.
    /// Null without any.
    pub unscored: Option<DelayStatistics>,
    /// Sent in phase web, in which pages, short flows and lookups join the load. Not scored.
    ///
    /// Source: spec, Test Flow.
    pub web: Option<DelayStatistics>,
    /// Sent after the load.
    ///
    /// Source: spec, Test Flow.
    pub after: Option<DelayStatistics>,
    /// Added latency: loaded median less idle median. Null when either is unknown or falls on a loss.
    ///
    /// Source: chart explanation.
    #[serde(rename = "induced_p50_ns")]
    pub induced_p50: Option<Delay>,
    /// Loaded 95th percentile less idle median.
    #[serde(rename = "induced_p95_ns")]
    pub induced_p95: Option<Delay>,
}

impl PhaseDelays {
    /// Packets and losses over all phases.
    pub(crate) fn loss(&self) -> Loss {
        let Self { idle, load, unscored, web, after, .. } = self;
        [idle, load, unscored, web, after].into_iter().flatten().fold(Loss::default(), |loss, phase| Loss {
            sent: loss.sent.saturating_add(phase.n),
            lost: loss.lost.saturating_add(phase.lost),
        })
    }

    /// The statistics of one phase; none of the survey before the baseline.
    pub fn phase(&self, phase: Phase) -> Option<&DelayStatistics> {
        match phase {
            Phase::Survey => None,
            Phase::Idle => self.idle.as_ref(),
            Phase::Load => self.load.as_ref(),
            Phase::Web => self.web.as_ref(),
            Phase::After => self.after.as_ref(),
        }
    }

    /// Returns the same delays with what the load adds to the idle ones.
    #[must_use]
    pub fn with_induced(self) -> Self {
        let idle = self.idle.as_ref().and_then(|idle| idle.p50);
        let added = |loaded: Option<Delay>| Some(loaded? - idle?);
        let (induced_p50, induced_p95) =
            self.load.as_ref().map_or((None, None), |load| (added(load.p50), added(load.p95)));
        Self { induced_p50, induced_p95, ..self }
    }
}

/// Round-trip delay of all pooled probes together, of each address family, and of each probe flow.
///
/// The delay of a UDP test packet is (received - sent) - (reflector sent - reflector received). The time in the
/// reflector is excluded, and the clocks of the two hosts need not agree (RFC 8762, T4 - T1 - (T3 - T2)). All four are
/// kernel timestamps if available, otherwise timestamps of the program next to the call. The kernel takes a transmit
/// timestamp when the packet goes to the device, so waiting in the sending host's own queue is not included. The delay
/// of ICMP echo is received - sent.
///
/// The numbers outside `flows` *pool* the packets of the UDP probe flows of best effort and expedited forwarding: one
/// sample of packets, not a mean of percentiles. Background (CS1, LE) is meant to yield and is under `flows` only;
/// where neither best effort nor expedited forwarding was probed, every class is pooled. When no UDP probe was sent at
/// all, ICMP echo is pooled, and in imported files without either the means of exchanges; kinds are never mixed.
///
/// Request-response flows are never included: they send rarely while replies are slow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Round-trip delay")]
pub struct RoundTripDelay {
    /// The pooled probes: UDP of best effort and expedited forwarding (see [`crate::packets::probe_pool`]), or all ICMP echo
    /// flows where no UDP probe was sent at all.
    #[serde(flatten)]
    pub pooled: PhaseDelays,
    /// The pooled probes of each address family that was tested.
    ///
    /// Source: spec, Test Requirements.
    pub families: Vec<FamilyDelays>,
    /// Each probe flow, ICMP echo included.
    pub flows: Vec<DelayFlow>,
}

/// Round-trip delay over one address family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Round-trip delay of an address family")]
pub struct FamilyDelays {
    /// Address family.
    pub family: AddressFamily,
    /// By phase.
    #[serde(flatten)]
    pub delays: PhaseDelays,
}

/// Round-trip delay of one probe flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Round-trip delay of a flow")]
pub struct DelayFlow {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// By phase.
    #[serde(flatten)]
    pub delays: PhaseDelays,
    /// Test packets and losses over all phases.
    #[serde(flatten)]
    pub loss: Loss,
    /// Packets of the flow that were due and were not sent, as under `loss`.
    ///
    /// Source: RFC 3432.
    pub skipped: Skipped,
    /// Each packet.
    #[serde(skip)]
    pub series: Vec<DelayPoint>,
}

impl ProbeSample for DelayFlow {
    fn kind(&self) -> FlowKind {
        self.flow.kind()
    }

    fn class(&self) -> ServiceClass {
        self.flow.class
    }

    fn was_sent(&self) -> bool {
        !self.series.is_empty()
    }
}

/// What determines the fate of a packet and the phase in which it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judgement<'a> {
    /// The phases of the test.
    pub(crate) phases: &'a [PhaseWindow],
    /// The part of the load that is scored; `None` when nothing was loaded, and all of the phase counts.
    pub(crate) scored: Option<Window>,
    /// How long a packet is waited for.
    pub(crate) waiting_time: Duration,
    /// Until when the client listened to replies.
    pub(crate) end: TestTime,
}

impl Judgement<'_> {
    /// The packets of a flow with their fate, those without one left out.
    ///
    /// Of what was sent less than the waiting time before the end, the fate is known only when all of it was answered.
    /// Else all of it is left out, the answered packets too: to keep those and to drop the others would hide losses.
    pub(crate) fn known<'p>(&self, flow: &'p ProbeFlow<'_>) -> impl Iterator<Item = &'p Probe> + use<'p> {
        let decided = self.end - self.waiting_time;
        let mut last = flow.probes.iter().filter(|probe| probe.sent > decided);
        let all_answered = last.all(|probe| probe.answered_within(self.waiting_time).is_some());
        flow.probes.iter().filter(move |probe| all_answered || probe.sent <= decided)
    }

    /// The packets of a flow whose fate is known, by the time at which they left.
    pub(crate) fn points(&self, flow: &ProbeFlow<'_>) -> Vec<DelayPoint> {
        let point = |probe: &Probe| DelayPoint { at: probe.sent, delay: probe.answered_within(self.waiting_time) };
        let mut points: Vec<DelayPoint> = self.known(flow).map(point).collect();
        points.sort_by_key(|point| point.at);
        points
    }

    /// The phase in which something of this time counts; none for what of the load is not scored.
    pub(crate) fn phase(&self, at: TestTime) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| self.window(*phase).is_some_and(|window| window.contains(at)))
    }

    /// When a phase took place; of the load, the part that is scored. `None` when the plan does not have it.
    pub(crate) fn window(&self, phase: Phase) -> Option<Window> {
        let window = self.phases.iter().find(|entry| entry.phase == phase)?.window;
        Some(match self.scored {
            Some(scored) if phase == Phase::Load => window.intersection(&scored),
            _ => window,
        })
    }

    /// Statistics of these packets for each phase.
    pub(crate) fn phase_delays<'p>(&self, points: impl Iterator<Item = &'p DelayPoint>) -> PhaseDelays {
        phase_delays(self.phases, self.scored, points)
    }

    /// Everything about one probe flow.
    pub(crate) fn flow(&self, flow: &ProbeFlow<'_>) -> DelayFlow {
        let series = self.points(flow);
        let delays = self.phase_delays(series.iter());
        let skipped = Skipped { packets: flow.skipped, due: flow.skipped.saturating_add(flow.probes.len() as u64) };
        DelayFlow { flow: flow.flow.into(), loss: delays.loss(), skipped, delays, series }
    }
}

/// Statistics of packets for the phase in which each was sent, wherever it arrived; of the load phase, those that were sent
/// within `scored` apart from the others.
pub(crate) fn phase_delays<'p>(
    phases: &[PhaseWindow],
    scored: Option<Window>,
    points: impl Iterator<Item = &'p DelayPoint>,
) -> PhaseDelays {
    let [mut idle, mut load, mut unscored, mut web, mut after] = [(); 5].map(|()| (Vec::new(), 0));
    for point in points {
        let phase = phases.iter().find(|entry| entry.window.contains(point.at)).map(|entry| entry.phase);
        let (answered, lost) = match phase {
            Some(Phase::Idle) => &mut idle,
            Some(Phase::Load) if scored.is_none_or(|scored| scored.contains(point.at)) => &mut load,
            Some(Phase::Load) => &mut unscored,
            Some(Phase::Web) => &mut web,
            Some(Phase::After) => &mut after,
            // What is sent before the baseline is a survey, and disturbs itself.
            Some(Phase::Survey) | None => continue,
        };
        match point.delay {
            Some(delay) => answered.push(delay),
            None => *lost += 1,
        }
    }
    let of = |(answered, lost)| DelayStatistics::from_delays(answered, lost);
    let phases = PhaseDelays {
        idle: of(idle),
        load: of(load),
        unscored: of(unscored),
        web: of(web),
        after: of(after),
        ..PhaseDelays::default()
    };
    phases.with_induced()
}

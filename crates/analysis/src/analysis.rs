//! What an analysis of one recording says: every derived number, named and with its unit.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::AbsentFamily;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::by_direction::ByDirection;
use crate::competition::ClientClock;
pub use crate::flow_label::FlowLabel;
use crate::metrics::browser_load::BrowserLoad;
use crate::metrics::burst::Bursts;
use crate::metrics::class_treatment::ClassTreatment;
use crate::metrics::connections::Connections;
use crate::metrics::delay_variation::RoundTripVariation;
use crate::metrics::ecn::EcnReport;
use crate::metrics::exchange_delay::ExchangeDelay;
use crate::metrics::global_synchronization::GlobalSynchronization;
use crate::metrics::host_health::HostHealth;
use crate::metrics::host_series::HostSeries;
use crate::metrics::icmp_messages::IcmpMessages;
use crate::metrics::link_octets::LinkOctets;
use crate::metrics::marking_path::Markings;
use crate::metrics::measurement_overhead::MeasurementOverhead;
use crate::metrics::name_lookups::NameLookups;
use crate::metrics::one_way_delay::OneWayDelay;
use crate::metrics::packet_fate::PacketFates;
use crate::metrics::packet_fate_series::PacketFateSeries;
use crate::metrics::page_loads::PageLoads;
use crate::metrics::path_trace::PathTrace;
use crate::metrics::recovery::Recovery;
use crate::metrics::saturation::Saturations;
use crate::metrics::scored_window::ScoredWindow;
use crate::metrics::sharing::Sharing;
use crate::metrics::short_flows::ShortFlows;
use crate::metrics::start_slew::StartSlew;
use crate::metrics::steadiness::Stationarity;
use crate::metrics::stream_delay::StreamDelay;
use crate::metrics::stream_limits::StreamLimits;
use crate::metrics::tcp_loss::TcpLoss;
use crate::metrics::tcp_round_trip::TcpRoundTrip;
use crate::metrics::tcp_series::TcpSeries;
use crate::metrics::voip::Voip;
use crate::score::Scores;
use crate::statistics::percentile::DelayStatistics;
use crate::validity::Validity;

/// Everything that follows from one recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// The plan's name.
    pub plan: String,
    /// The user's title; may be empty.
    pub title: String,
    /// When the run began, RFC 3339, UTC.
    pub created: String,
    /// The clock by which it can be laid upon others; `None` when rrul did not measure it.
    pub client_clock: Option<ClientClock>,
    /// The server as the user named it.
    pub server_name: String,
    /// What the plan says of its flows, by `ENTRY.PARAMETER` (`bulk.congestion_control`); several values of one are
    /// joined by `, `.
    pub settings: BTreeMap<String, String>,
    /// Families under test.
    pub families: Vec<AddressFamily>,
    /// Families that were expected and are absent, with the reason.
    pub absent_families: Vec<AbsentFamily>,
    /// When each phase took place.
    pub phases: Vec<PhaseWindow>,
    /// Why the recording is not complete; `None` when it is.
    pub partial: Option<String>,
    /// Whether the numbers deserve trust, with reasons.
    pub validity: Validity,
    /// From when to when figures under load are taken.
    pub scored: ScoredWindow,
    /// What the rate of the load did in each direction; `None` where nothing was to load.
    pub bursts: Bursts,
    /// Whether each direction was full.
    pub saturation: Saturations,
    /// Whether rate and delay stayed what they were in the scored window.
    pub stationarity: Stationarity,
    /// How the line came back after the load.
    pub recovery: Recovery,
    /// What the figures amount to.
    pub scores: Scores,
    /// Goodput of the load, client to server.
    pub up: DirectionGoodput,
    /// Goodput of the load, server to client.
    pub down: DirectionGoodput,
    /// Round-trip delay of the pooled probes: UDP of best effort and expedited forwarding (see [`crate::probe_pool`]).
    /// Of all ICMP echo flows where no UDP probe was sent at all.
    pub round_trip_delay: PhaseDelays,
    /// The same of the packets of each family that was tested.
    pub family_delays: Vec<FamilyDelays>,
    /// Round-trip delay of each probe flow, ICMP echo included.
    pub delay_flows: Vec<DelayFlow>,
    /// Delay by direction.
    pub one_way_delay: OneWayDelay,
    /// Variation of the round-trip delay of each probe flow.
    pub round_trip_variation: Vec<RoundTripVariation>,
    /// The kernel's round-trip time of each stream of the load.
    pub tcp_round_trip: Vec<TcpRoundTrip>,
    /// What both ends' kernels told of each stream of the load over time.
    pub tcp_series: Vec<TcpSeries>,
    /// Closed-loop flows.
    pub transaction_flows: Vec<TransactionFlow>,
    /// Test packets of the flows pooled in `round_trip_delay`, over all phases.
    pub loss: Loss,
    /// What became of test packets on either way.
    pub packet_fates: PacketFates,
    /// When that was.
    pub packet_fate_series: PacketFateSeries,
    /// Loss of the streams of the load, as their senders know it.
    pub tcp_loss: Vec<TcpLoss>,
    /// What ICMP said of test packets.
    pub icmp_messages: Vec<IcmpMessages>,
    /// Packets of the same flows that were due and not sent.
    pub skipped: Skipped,
    /// How long a test packet is waited for before it counts as lost (RFC 7680 section 2, loss threshold).
    pub waiting_time: Duration,
    /// Largest spread, within one sender, between the first octets of flows that were due at the same instant.
    ///
    /// `None` when no two such flows sent anything.
    pub start_spread: Option<Delay>,
    /// How each stream of the load started.
    pub start_slew: StartSlew,
    /// New connections all through the test.
    pub connections: Connections,
    /// Look-ups of names, idle and loaded.
    pub name_lookups: NameLookups,
    /// Short flows, idle and loaded.
    pub short_flows: ShortFlows,
    /// Delay within TCP streams, from write to read.
    pub stream_delay: StreamDelay,
    /// How the streams of the load share each direction.
    pub sharing: Sharing,
    /// Whether the streams of the load lose and back off together.
    pub global_synchronization: GlobalSynchronization,
    /// What held the load's senders back beside the network.
    pub stream_limits: StreamLimits,
    /// How late test packets were sent against their schedule; `None` without any.
    pub send_lateness: Option<DelayStatistics>,
    /// Flows that could not be set up or ended early.
    pub failed_flows: Vec<FailedFlow>,
    /// Flows that the test can do without and that never sent anything (ICMP echo without permission, the resolver of a host that has none, pages in a browser that is not there).
    pub absent_flows: Vec<FailedFlow>,
    /// Processor load of each host during the load phase.
    pub processor: Vec<ProcessorLoad>,
    /// What a browser took of the client's processors under the load; `None` where it loaded no page then.
    pub browser: Option<BrowserLoad>,
    /// Voice streams; `None` when the plan has none.
    pub voip: Option<Voip>,
    /// Pages, idle and under load.
    pub page_loads: Vec<PageLoads>,
    /// Which service classes survive the path.
    pub markings: Markings,
    /// Whether ECN survives the path, and how often congestion is marked.
    pub ecn: EcnReport,
    /// Whether the path acts on service classes.
    pub class_treatment: ClassTreatment,
    /// Every octet on the link.
    pub link_octets: LinkOctets,
    /// What the measurement took of the line, and what it was allowed.
    pub measurement_overhead: MeasurementOverhead,
    /// How both hosts fared: what they dropped themselves, what lay in their own queues.
    pub hosts: Vec<HostHealth>,
    /// The way of each direction and family, hop by hop, and where its queue is.
    pub path_traces: Vec<PathTrace>,
    /// How they fared over time.
    pub host_series: Vec<HostSeries>,
}

impl Analysis {
    /// The goodput of one direction.
    pub fn goodput(&self, direction: Direction) -> &DirectionGoodput {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Whether something loads either direction.
    pub(crate) fn loads_both_directions(&self) -> bool {
        Direction::ALL.into_iter().all(|direction| !self.goodput(direction).flows.is_empty())
    }
}

/// The load in one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionGoodput {
    /// Sum over the flows of their mean goodput in the scored window.
    pub sum: BitRate,
    /// Mean over the flows (sum divided by their number); zero without flows.
    pub mean: BitRate,
    /// Octets that the receivers were handed in the whole load phase.
    pub octets: ByteCount,
    /// Each flow.
    pub flows: Vec<GoodputFlow>,
    /// Sum of the flows over time, on the same grid.
    pub sum_series: Vec<RatePoint>,
}

/// One bulk flow at its receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct GoodputFlow {
    /// Who.
    pub flow: FlowLabel,
    /// Mean over the flow's own time in the scored window, delivered in order, without duplicates and headers.
    pub mean: BitRate,
    /// Octets in the whole load phase.
    pub octets: ByteCount,
    /// Goodput over time, by the time at which the octets arrived, on a grid of one sample interval.
    pub series: Vec<RatePoint>,
    /// Octets retransmitted as a share of octets sent in the scored window, from the sender's kernel; `None` when that is unknown.
    pub retransmitted: Option<f64>,
}

/// A rate over one short interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePoint {
    /// Middle of the interval.
    pub at: TestTime,
    /// How long it is.
    pub over: Duration,
    /// The rate.
    pub rate: BitRate,
}

/// Delay told apart by phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PhaseDelays {
    /// Idle baseline.
    pub idle: Option<DelayStatistics>,
    /// Under load, in the scored window.
    pub load: Option<DelayStatistics>,
    /// Under load, in what is left out of that: ramp, burst, guard.
    pub unscored: Option<DelayStatistics>,
    /// Under load, while pages, short flows and look-ups join it.
    pub web: Option<DelayStatistics>,
    /// After the load.
    pub after: Option<DelayStatistics>,
}

impl PhaseDelays {
    /// The statistics of one phase; none of the survey before the baseline.
    pub fn of(&self, phase: Phase) -> Option<&DelayStatistics> {
        match phase {
            Phase::Survey => None,
            Phase::Idle => self.idle.as_ref(),
            Phase::Load => self.load.as_ref(),
            Phase::Web => self.web.as_ref(),
            Phase::After => self.after.as_ref(),
        }
    }

    /// Induced delay at the median: loaded P50 less idle P50. `None` when either is unknown or is a loss.
    pub fn induced_p50(&self) -> Option<Delay> {
        Some(self.load.as_ref()?.p50? - self.idle.as_ref()?.p50?)
    }

    /// Induced delay at P95: loaded P95 less idle P50, that is how far above the idle line one packet in twenty is.
    pub fn induced_p95(&self) -> Option<Delay> {
        Some(self.load.as_ref()?.p95? - self.idle.as_ref()?.p50?)
    }
}

/// Round-trip delay over one address family.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyDelays {
    /// Which.
    pub family: AddressFamily,
    /// By phase.
    pub delays: PhaseDelays,
}

/// Round-trip delay of one probe flow.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayFlow {
    /// Who.
    pub flow: FlowLabel,
    /// By phase.
    pub delays: PhaseDelays,
    /// Test packets and losses over all phases.
    pub loss: Loss,
    /// Packets that were due and not sent.
    pub skipped: Skipped,
    /// Each packet.
    pub series: Vec<DelayPoint>,
}

/// One test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayPoint {
    /// When it was sent.
    pub at: TestTime,
    /// Its round-trip delay without the time the reflector held it; `None` when it was lost.
    pub delay: Option<Delay>,
}

/// Counts of packets. Lost ones are counted, never left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Sent, less those of an unknown fate: docs/metrics.md says which.
    pub sent: u64,
    /// Of those, not answered within the waiting time.
    pub lost: u64,
}

/// Packets that were due and not sent, because the host stalled and they would have been a burst. They are not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Not sent.
    pub packets: u64,
    /// What the schedule wanted sent in that time: these and all that were sent, whatever became of them.
    pub due: u64,
}

impl Skipped {
    /// The part of what was due that was not sent, 0 to 1; 0 when nothing was due.
    pub fn share(self) -> f64 {
        if self.due == 0 { 0.0 } else { self.packets as f64 / self.due as f64 }
    }
}

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

/// A flow that could not be set up or ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedFlow {
    /// Who.
    pub flow: FlowLabel,
    /// Why, in words.
    pub reason: String,
}

/// Processor load of one host during the load phase.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorLoad {
    /// Which host.
    pub point: ObservationPoint,
    /// Mean share of time that the cores were busy, 0 to 1.
    pub mean: f64,
    /// Highest share of one second that one core was busy, 0 to 1.
    pub busiest_core: f64,
    /// Share of the load phase's seconds in which a core that the test needed was over 95 % busy, 0 to 1.
    pub saturated: f64,
    /// Highest share of one second that the hypervisor took from one core, 0 to 1.
    pub steal: f64,
    /// Share of the load phase's seconds in which the hypervisor took over 5 % of some core, 0 to 1.
    pub stolen: f64,
    /// Processor time of rrul itself in the load phase; `None` when unknown.
    pub process: Option<Duration>,
}

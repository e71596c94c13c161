//! Everything that is measured of one recording, before it is judged and scored.

use crate::metrics::delay::round_trip_delay::RoundTripDelay;
use crate::metrics::delay::transactions::TransactionFlow;
use crate::metrics::host::failed_flows::FailedFlow;
use crate::metrics::host::processor_load::ProcessorLoad;
use crate::metrics::rate::goodput::{DirectionGoodput, Goodput};

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::AbsentFamily;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::competition::ClientClock;
use crate::metrics::delay::delay_variation::RoundTripVariation;
use crate::metrics::delay::one_way_delay::OneWayDelay;
use crate::metrics::delay::recovery::Recovery;
use crate::metrics::delay::stream_delay::StreamDelay;
use crate::metrics::host::host_health::HostHealth;
use crate::metrics::host::host_series::HostSeries;
use crate::metrics::loss::icmp_messages::IcmpMessages;
use crate::metrics::loss::packet_fate_series::PacketFateSeries;
use crate::metrics::loss::round_trip_loss::LossReport;
use crate::metrics::marking::ecn::EcnReport;
use crate::metrics::marking::marking_path::Markings;
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::measurement_overhead::MeasurementOverhead;
use crate::metrics::path::path_trace::PathTrace;
use crate::metrics::rate::burst::Bursts;
use crate::metrics::rate::flood_delivery::FloodDelivery;
use crate::metrics::rate::saturation::Saturations;
use crate::metrics::rate::scored_window::ScoredWindow;
use crate::metrics::rate::start_slew::StartSlew;
use crate::metrics::rate::steadiness::Stationarity;
use crate::metrics::sharing::class_treatment::ClassTreatment;
use crate::metrics::sharing::global_synchronization::GlobalSynchronization;
use crate::metrics::sharing::stream_sharing::Sharing;
use crate::metrics::tcp::stream_limits::StreamLimits;
use crate::metrics::tcp::tcp_round_trip::TcpRoundTrip;
use crate::metrics::tcp::tcp_series::TcpSeries;
use crate::metrics::voice::voip::Voip;
use crate::metrics::web::browser_load::BrowserLoad;
use crate::metrics::web::connections::Connections;
use crate::metrics::web::name_lookups::NameLookups;
use crate::metrics::web::page_loads::PageLoads;
use crate::metrics::web::short_flows::ShortFlows;
use crate::metrics::web::video_playback::VideoPlayback;
use crate::statistics::percentile::DelayStatistics;

/// What a recording says of the test: which one, when, and between which hosts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct TestDescription {
    /// Name of the plan.
    pub plan: String,
    /// The user's title; may be empty.
    pub title: String,
    /// When the run began (RFC 3339, UTC).
    pub created: String,
    /// The server as the user named it.
    pub server: String,
    /// Whether the control connection was encrypted (TLS 1.3); `None` when rrul did not measure it.
    #[serde(skip)]
    pub encrypted: Option<bool>,
    /// Address families under test.
    ///
    /// Source: spec, Test Requirements.
    pub families: Vec<AddressFamily>,
    /// Why the recording is not complete; `null` when it is.
    pub partial: Option<String>,
    /// The clock by which it can be laid upon others; `None` when rrul did not measure it.
    #[serde(skip)]
    pub client_clock: Option<ClientClock>,
    /// Families that were expected and are absent, with the reason.
    #[serde(skip)]
    pub absent_families: Vec<AbsentFamily>,
    /// When each phase took place.
    #[serde(skip)]
    pub phases: Vec<PhaseWindow>,
}

/// Every metric of one recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Measured {
    /// What the recording says of the test.
    #[serde(skip)]
    pub test: TestDescription,
    /// The stretch of the load from which figures under load are taken.
    #[serde(rename = "scored_window")]
    pub scored: ScoredWindow,
    /// What the rate of the load did in each direction.
    pub bursts: Bursts,
    /// Whether the load saturated each direction.
    pub saturation: Saturations,
    /// Whether rate and delay were stationary in the scored window.
    pub stationarity: Stationarity,
    /// How long delay and queues took to return to the idle state after the load.
    pub recovery: Recovery,
    /// Goodput of the load in each direction.
    pub goodput: Goodput,
    /// Round-trip delay of test packets by phase.
    pub round_trip_delay: RoundTripDelay,
    /// Delay in each direction by phase.
    pub one_way_delay: OneWayDelay,
    /// Variation of the round-trip delay of each probe flow.
    pub round_trip_variation: Vec<RoundTripVariation>,
    /// The kernel's round-trip time of each stream of the load.
    pub tcp_round_trip: Vec<TcpRoundTrip>,
    /// Lost test packets, and losses of the streams of the load.
    pub loss: LossReport,
    /// ICMP errors that test packets caused.
    pub icmp_messages: Vec<IcmpMessages>,
    /// Largest spread between the first bytes that one host sent on load flows due at the same instant; hosts are not
    /// compared with each other. `null` with fewer than two such flows.
    ///
    /// Source: spec, stream start time slew.
    #[serde(rename = "start_spread_ns")]
    pub start_spread: Option<Delay>,
    /// How long the streams of the load took to start.
    pub start_slew: StartSlew,
    /// New TCP connections opened throughout the test.
    pub connections: Connections,
    /// DNS lookups, unloaded and under load.
    pub name_lookups: NameLookups,
    /// Transfers of a given size over new connections, unloaded and under load.
    pub short_flows: ShortFlows,
    /// Playback of videos.
    pub video_playback: Vec<VideoPlayback>,
    /// What arrived of UDP floods.
    pub flood_delivery: Vec<FloodDelivery>,
    /// In-stream delay: the time from writing a record to reading it.
    pub stream_delay: StreamDelay,
    /// How the streams of the load share each direction.
    pub sharing: Sharing,
    /// Whether the streams of the load lose packets and back off together.
    pub global_synchronization: GlobalSynchronization,
    /// What limited the load's senders beside the network.
    pub stream_limits: StreamLimits,
    /// Closed-loop (request-response) flows.
    #[serde(rename = "transactions")]
    pub transaction_flows: Vec<TransactionFlow>,
    /// Time from the scheduled time of a test packet until it is passed to the kernel.
    /// [Statistics](#statistics-of-delays) over all phases and probe flows; none counts as lost.
    ///
    /// Source: RFC 3432.
    pub send_lateness: Option<DelayStatistics>,
    /// CPU load of each host during the load phase.
    pub processor: Vec<ProcessorLoad>,
    /// CPU time that a browser took on the client while it loaded pages under load. Null if it loaded no page then.
    pub browser: Option<BrowserLoad>,
    /// Every byte that the link carried.
    pub link_octets: LinkOctets,
    /// What the measurement took of the line, and the limit that the plan sets.
    pub measurement_overhead: MeasurementOverhead,
    /// Flows that could not be set up or ended early.
    pub failed_flows: Vec<FailedFlow>,
    /// Optional flows that never sent: ICMP echo without permission, lookups by the resolver of
    /// a host that has none, pages in a browser that is not installed.
    pub absent_flows: Vec<FailedFlow>,
    /// Voice streams. Null when the plan has none.
    pub voip: Option<Voip>,
    /// Page loads, unloaded and under load.
    pub page_loads: Vec<PageLoads>,
    /// Which service classes survive the path.
    pub markings: Markings,
    /// Whether ECN survives the path, and how often congestion is marked.
    pub ecn: EcnReport,
    /// Whether the path treats service classes differently.
    pub class_treatment: ClassTreatment,
    /// The state of both hosts: what they dropped themselves, and what waited in their own queues.
    pub hosts: Vec<HostHealth>,
    /// The path of each direction and family, hop by hop, and the location of its queue.
    pub path_traces: Vec<PathTrace>,
    /// What both hosts' kernels reported of each stream of the load over time.
    #[serde(skip)]
    pub tcp_series: Vec<TcpSeries>,
    /// When packets were lost.
    #[serde(skip)]
    pub packet_fate_series: PacketFateSeries,
    /// How the hosts fared over time.
    #[serde(skip)]
    pub host_series: Vec<HostSeries>,
}

impl Measured {
    pub fn goodput(&self, direction: Direction) -> &DirectionGoodput {
        self.goodput.direction(direction)
    }

    /// Whether something loads either direction.
    pub(crate) fn loads_both_directions(&self) -> bool {
        Direction::ALL.into_iter().all(|direction| !self.goodput(direction).flows.is_empty())
    }
}

//! Everything that is measured of one recording, before it is judged and scored.

use crate::metrics::delay::round_trip_delay::DelayFlow;
use crate::metrics::delay::round_trip_delay::FamilyDelays;
use crate::metrics::delay::round_trip_delay::PhaseDelays;
use crate::metrics::delay::transactions::TransactionFlow;
use crate::metrics::host::failed_flows::FailedFlow;
use crate::metrics::host::processor_load::ProcessorLoad;
use crate::metrics::loss::packet_count::Loss;
use crate::metrics::loss::packet_count::Skipped;
use crate::metrics::rate::goodput::DirectionGoodput;
use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::AbsentFamily;
use rrul_model::units::Delay;

use crate::comparison::competition::ClientClock;
use crate::metrics::delay::delay_variation::RoundTripVariation;
use crate::metrics::delay::one_way_delay::OneWayDelay;
use crate::metrics::delay::recovery::Recovery;
use crate::metrics::delay::stream_delay::StreamDelay;
use crate::metrics::host::host_health::HostHealth;
use crate::metrics::host::host_series::HostSeries;
use crate::metrics::loss::icmp_messages::IcmpMessages;
use crate::metrics::loss::packet_fate::PacketFates;
use crate::metrics::loss::packet_fate_series::PacketFateSeries;
use crate::metrics::marking::ecn::EcnReport;
use crate::metrics::marking::marking_path::Markings;
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::measurement_overhead::MeasurementOverhead;
use crate::metrics::path::path_trace::PathTrace;
use crate::metrics::rate::burst::Bursts;
use crate::metrics::rate::saturation::Saturations;
use crate::metrics::rate::scored_window::ScoredWindow;
use crate::metrics::rate::start_slew::StartSlew;
use crate::metrics::rate::steadiness::Stationarity;
use crate::metrics::sharing::class_treatment::ClassTreatment;
use crate::metrics::sharing::global_synchronization::GlobalSynchronization;
use crate::metrics::sharing::stream_sharing::Sharing;
use crate::metrics::tcp::stream_limits::StreamLimits;
use crate::metrics::tcp::tcp_loss::TcpLoss;
use crate::metrics::tcp::tcp_round_trip::TcpRoundTrip;
use crate::metrics::tcp::tcp_series::TcpSeries;
use crate::metrics::voice::voip::Voip;
use crate::metrics::web::browser_load::BrowserLoad;
use crate::metrics::web::connections::Connections;
use crate::metrics::web::name_lookups::NameLookups;
use crate::metrics::web::page_loads::PageLoads;
use crate::metrics::web::short_flows::ShortFlows;
use crate::statistics::percentile::DelayStatistics;

/// Every metric of one recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
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
    /// Goodput of the load, client to server.
    pub up: DirectionGoodput,
    /// Goodput of the load, server to client.
    pub down: DirectionGoodput,
    /// Round-trip delay of the pooled probes: UDP of best effort and expedited forwarding (see [`crate::packets::probe_pool`]).
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

impl Measured {
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

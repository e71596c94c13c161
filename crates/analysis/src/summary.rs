//! The analysis as stable JSON: what `rrul show --json` prints. docs/summary.schema.json is its schema.
//!
//! Base units only, as integers: bits per second (`_bps`), nanoseconds (`_ns`), octets, counts. Shares are 0 to 1.
//! What is not known is null, never 0. Series are left to the recording.
//!
//! A metric whose type in [`metrics`](crate::metrics) is serializable stands here as it is; those of `analysis.rs` are
//! carried over into forms of this module.

mod delay;

use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;
use serde::Serialize;

pub use self::delay::{DelayFlowSummary, DelaySummary, FamilyDelaySummary, PhasesSummary, RoundTripDelaySummary};
use self::delay::{delay, delay_families, delay_flows, nanoseconds, phases};
use crate::analysis::Analysis;
use crate::by_direction::ByDirection;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::delay_variation::RoundTripVariation;
use crate::metrics::delay::exchange_delay::ExchangeDelay;
use crate::metrics::delay::one_way_delay::OneWayDelay;
use crate::metrics::delay::recovery::Recovery;
use crate::metrics::delay::stream_delay::StreamDelay;
use crate::metrics::delay::transactions::TransactionFlow;
use crate::metrics::host::failed_flows::FailedFlow;
use crate::metrics::host::host_health::HostHealth;
use crate::metrics::host::processor_load::ProcessorLoad;
use crate::metrics::loss::icmp_messages::IcmpMessages;
use crate::metrics::loss::packet_count::Loss;
use crate::metrics::loss::packet_fate::PacketFates;
use crate::metrics::marking::ecn::EcnReport;
use crate::metrics::marking::marking_path::Markings;
use crate::metrics::octets::link_octets::LinkOctets;
use crate::metrics::octets::measurement_overhead::MeasurementOverhead;
use crate::metrics::path::path_trace::PathTrace;
use crate::metrics::rate::burst::Bursts;
use crate::metrics::rate::goodput::{DirectionGoodput, GoodputFlow};
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
use crate::metrics::voice::voip::Voip;
use crate::metrics::web::browser_load::BrowserLoad;
use crate::metrics::web::connections::Connections;
use crate::metrics::web::name_lookups::NameLookups;
use crate::metrics::web::page_loads::PageLoads;
use crate::metrics::web::short_flows::ShortFlows;
use crate::scored::Scores;
use crate::validity::Validity;

/// The name and version of the form. Members may be added within a version; none changes its meaning or goes.
pub const FORMAT: &str = "rrul-summary/1";

/// The numbers of one recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: &'static str,
    /// The plan's name.
    pub plan: String,
    /// The user's title.
    pub title: String,
    /// When the run began, RFC 3339, UTC.
    pub created: String,
    /// The server as the user named it.
    pub server: String,
    /// Families under test.
    pub families: Vec<&'static str>,
    /// Why the recording is not complete.
    pub partial: Option<String>,
    /// Whether the numbers deserve trust.
    pub validity: Validity,
    /// What the figures amount to.
    pub scores: Scores,
    /// From when to when figures under load are taken.
    pub scored_window: ScoredWindow,
    /// What the rate of each direction did under load.
    pub bursts: Bursts,
    /// Whether each direction was full.
    pub saturation: Saturations,
    /// Whether rate and delay stayed what they were.
    pub stationarity: Stationarity,
    /// How the line came back after the load.
    pub recovery: Recovery,
    /// Goodput of the load by direction.
    pub goodput: GoodputSummary,
    /// Round-trip delay by phase.
    pub round_trip_delay: RoundTripDelaySummary,
    /// Delay by direction.
    pub one_way_delay: OneWayDelay,
    /// Variation of the round-trip delay.
    pub round_trip_variation: Vec<RoundTripVariation>,
    /// The kernel's round-trip time of streams.
    pub tcp_round_trip: Vec<TcpRoundTrip>,
    /// Test packets and losses.
    pub loss: LossSummary,
    /// What ICMP said of test packets.
    pub icmp_messages: Vec<IcmpMessages>,
    /// Largest start spread.
    pub start_spread_ns: Option<i64>,
    /// How each stream of the load started.
    pub start_slew: StartSlew,
    /// New connections all through the test.
    pub connections: Connections,
    /// Look-ups of names, idle and loaded.
    pub name_lookups: NameLookups,
    /// Short flows, idle and loaded.
    pub short_flows: ShortFlows,
    /// Delay within TCP streams.
    pub stream_delay: StreamDelay,
    /// How the streams of the load share each direction.
    pub sharing: Sharing,
    /// Whether the streams of the load lose and back off together.
    pub global_synchronization: GlobalSynchronization,
    /// What held the load's senders back beside the network.
    pub stream_limits: StreamLimits,
    /// Closed-loop flows.
    pub transactions: Vec<TransactionsSummary>,
    /// Lateness of test packets against their schedule.
    pub send_lateness: Option<DelaySummary>,
    /// Processor load of each host.
    pub processor: Vec<ProcessorSummary>,
    /// What a browser took of the client's processors.
    pub browser: Option<BrowserLoad>,
    /// Every octet on the link.
    pub link_octets: LinkOctets,
    /// What the measurement took of the line, and what it was allowed.
    pub measurement_overhead: MeasurementOverhead,
    /// Flows that failed.
    pub failed_flows: Vec<FailedFlowSummary>,
    /// Flows that the test can do without and that are absent.
    pub absent_flows: Vec<FailedFlowSummary>,
    /// Voice streams.
    pub voip: Option<Voip>,
    /// Pages, idle and under load.
    pub page_loads: Vec<PageLoads>,
    /// Which service classes survive the path.
    pub markings: Markings,
    /// What becomes of ECN.
    pub ecn: EcnReport,
    /// What the path makes of service classes.
    pub class_treatment: ClassTreatment,
    /// How both hosts fared.
    pub hosts: Vec<HostHealth>,
    /// The way of each direction and family, hop by hop.
    pub path_traces: Vec<PathTrace>,
}

/// Goodput by direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoodputSummary {
    /// Server to client.
    pub down: DirectionSummary,
    /// Client to server.
    pub up: DirectionSummary,
}

/// Goodput of one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectionSummary {
    /// Sum over the flows.
    pub sum_bps: u64,
    /// Mean over the flows.
    pub mean_bps: u64,
    /// Octets in the load phase.
    pub octets: u64,
    /// Each flow.
    pub flows: Vec<GoodputFlowSummary>,
}

/// Goodput of one flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoodputFlowSummary {
    /// Its name.
    pub flow: String,
    /// Mean over its time in the load phase.
    pub mean_bps: u64,
    /// Octets in the load phase.
    pub octets: u64,
    /// Octets retransmitted in a million octets sent.
    pub retransmitted_ppm: Option<u64>,
}

/// Test packets and losses over all phases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossSummary {
    /// Packets sent whose fate is known.
    pub sent: u64,
    /// Of those, lost.
    pub lost: u64,
    /// Packets that were due and not sent.
    pub skipped: u64,
    /// How long a packet was waited for.
    pub waiting_time_ns: i64,
    /// What became of packets on either way.
    #[serde(flatten)]
    pub packets: PacketFates,
    /// Loss of the streams of the load.
    pub tcp: Vec<TcpLoss>,
}

/// Transactions of one closed-loop flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransactionsSummary {
    /// Its name.
    pub flow: String,
    /// Idle baseline.
    pub idle: Option<TransactionPhaseSummary>,
    /// Under load.
    pub load: Option<TransactionPhaseSummary>,
    /// After the load.
    pub after: Option<TransactionPhaseSummary>,
    /// Delays of requests; `None` without stamps.
    pub up: Option<ExchangeDelay>,
    /// Delays of responses.
    pub down: Option<ExchangeDelay>,
}

/// Transactions of one flow in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransactionPhaseSummary {
    /// Answered.
    pub answered: u64,
    /// Given up.
    pub unanswered: u64,
    /// Answered per second.
    pub per_second: f64,
}

/// Processor load of one host during the load phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProcessorSummary {
    /// Which host.
    pub host: ObservationPoint,
    /// Mean share of time that the cores were busy.
    pub mean: f64,
    /// Highest share of one second that one core was busy.
    pub busiest_core: f64,
    /// Share of seconds in which a core that the test needed was over 95 % busy.
    pub saturated: f64,
    /// Highest share of one second that the hypervisor took from one core.
    pub steal: f64,
    /// Share of seconds in which the hypervisor took over 5 % of some core.
    pub stolen: f64,
    /// Processor time of rrul itself.
    pub process_ns: Option<i64>,
}

/// A flow that failed or is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedFlowSummary {
    /// Its name.
    pub flow: String,
    /// Why.
    pub reason: String,
}

impl From<&Analysis> for Summary {
    fn from(analysis: &Analysis) -> Self {
        let Loss { sent, lost } = analysis.loss;
        Self {
            format: FORMAT,
            plan: analysis.plan.clone(),
            title: analysis.title.clone(),
            created: analysis.created.clone(),
            server: analysis.server_name.clone(),
            families: analysis.families.iter().map(|family| family.name()).collect(),
            partial: analysis.partial.clone(),
            validity: analysis.validity.clone(),
            scores: analysis.scores.clone(),
            scored_window: analysis.scored.clone(),
            bursts: analysis.bursts.clone(),
            saturation: analysis.saturation.clone(),
            stationarity: analysis.stationarity.clone(),
            recovery: analysis.recovery,
            goodput: GoodputSummary {
                down: direction(analysis.goodput(Direction::Down)),
                up: direction(analysis.goodput(Direction::Up)),
            },
            round_trip_delay: RoundTripDelaySummary {
                pooled: phases(&analysis.round_trip_delay),
                families: delay_families(analysis),
                flows: delay_flows(analysis),
            },
            one_way_delay: analysis.one_way_delay.clone(),
            round_trip_variation: analysis.round_trip_variation.clone(),
            tcp_round_trip: analysis.tcp_round_trip.clone(),
            loss: LossSummary {
                sent,
                lost,
                skipped: analysis.skipped.packets,
                waiting_time_ns: Delay::from(analysis.waiting_time).0,
                packets: analysis.packet_fates.clone(),
                tcp: analysis.tcp_loss.clone(),
            },
            icmp_messages: analysis.icmp_messages.clone(),
            start_spread_ns: nanoseconds(analysis.start_spread),
            start_slew: analysis.start_slew.clone(),
            connections: analysis.connections.clone(),
            name_lookups: analysis.name_lookups.clone(),
            short_flows: analysis.short_flows.clone(),
            stream_delay: analysis.stream_delay.clone(),
            sharing: analysis.sharing.clone(),
            global_synchronization: analysis.global_synchronization.clone(),
            stream_limits: analysis.stream_limits.clone(),
            transactions: transactions(analysis),
            send_lateness: analysis.send_lateness.as_ref().map(delay),
            processor: processor(analysis),
            browser: analysis.browser,
            link_octets: analysis.link_octets.clone(),
            measurement_overhead: analysis.measurement_overhead.clone(),
            failed_flows: failed(&analysis.failed_flows),
            absent_flows: failed(&analysis.absent_flows),
            voip: analysis.voip.clone(),
            page_loads: analysis.page_loads.clone(),
            markings: analysis.markings.clone(),
            ecn: analysis.ecn.clone(),
            class_treatment: analysis.class_treatment.clone(),
            hosts: analysis.hosts.clone(),
            path_traces: analysis.path_traces.clone(),
        }
    }
}

fn direction(goodput: &DirectionGoodput) -> DirectionSummary {
    let flow = |entry: &GoodputFlow| GoodputFlowSummary {
        flow: entry.flow.name.clone(),
        mean_bps: entry.mean.0,
        octets: entry.octets.0,
        retransmitted_ppm: entry.retransmitted.map(|share| (share * 1e6).round() as u64),
    };
    DirectionSummary {
        sum_bps: goodput.sum.0,
        mean_bps: goodput.mean.0,
        octets: goodput.octets.0,
        flows: goodput.flows.iter().map(flow).collect(),
    }
}

impl Serialize for FlowLabel {
    /// As its name: it says everything that the other fields do.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

fn transactions(analysis: &Analysis) -> Vec<TransactionsSummary> {
    let flow = |entry: &TransactionFlow| {
        let of = |phase: Phase| {
            let found = entry.phases.iter().find(|candidate| candidate.phase == phase)?;
            let (answered, unanswered, per_second) = (found.answered, found.unanswered, found.per_second);
            Some(TransactionPhaseSummary { answered, unanswered, per_second })
        };
        let name = entry.flow.name.clone();
        let ByDirection { up, down } = ByDirection::each(|way| Some(entry.delays.as_ref()?.of(way).clone()));
        TransactionsSummary {
            flow: name,
            idle: of(Phase::Idle),
            load: of(Phase::Load),
            after: of(Phase::After),
            up,
            down,
        }
    };
    analysis.transaction_flows.iter().map(flow).collect()
}

fn processor(analysis: &Analysis) -> Vec<ProcessorSummary> {
    let host = |load: &ProcessorLoad| ProcessorSummary {
        host: load.point,
        mean: load.mean,
        busiest_core: load.busiest_core,
        saturated: load.saturated,
        steal: load.steal,
        stolen: load.stolen,
        process_ns: load.process.map(|time| Delay::from(time).0),
    };
    analysis.processor.iter().map(host).collect()
}

fn failed(flows: &[FailedFlow]) -> Vec<FailedFlowSummary> {
    flows
        .iter()
        .map(|entry| FailedFlowSummary { flow: entry.flow.name.clone(), reason: entry.reason.clone() })
        .collect()
}

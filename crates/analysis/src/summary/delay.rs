//! Delays in the summary: percentiles by phase, with the unit in the names.

use rrul_model::flow::AddressFamily;
use rrul_model::units::Delay;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::metrics::delay::round_trip_delay::{DelayFlow, FamilyDelays, PhaseDelays};
use crate::statistics::percentile::DelayStatistics;

/// Statistics of delays, losses counted as infinitely late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DelaySummary {
    /// Packets, lost ones included.
    pub n: u64,
    /// Of those, lost.
    pub lost: u64,
    /// Smallest.
    pub min_ns: Option<i64>,
    /// Median; null when it falls on a loss, as for the other percentiles.
    pub p50_ns: Option<i64>,
    /// 90th percentile.
    pub p90_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Largest of those that were answered.
    pub max_ns: Option<i64>,
}

/// Round-trip delay of all probe flows together and of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundTripDelaySummary {
    /// All together, by phase.
    #[serde(flatten)]
    pub pooled: PhasesSummary,
    /// Those of each family together.
    pub families: Vec<FamilyDelaySummary>,
    /// Each flow, ICMP echo included.
    pub flows: Vec<DelayFlowSummary>,
}

/// Round-trip delay over one address family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FamilyDelaySummary {
    /// Which.
    pub family: AddressFamily,
    /// By phase.
    #[serde(flatten)]
    pub phases: PhasesSummary,
}

/// Delay by phase, and what the load adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PhasesSummary {
    /// Idle baseline.
    pub idle: Option<DelaySummary>,
    /// Under load, in the scored window.
    pub load: Option<DelaySummary>,
    /// Under load, outside of it.
    pub unscored: Option<DelaySummary>,
    /// While pages, short flows and look-ups join the load.
    pub web: Option<DelaySummary>,
    /// After the load.
    pub after: Option<DelaySummary>,
    /// Loaded median less idle median.
    pub induced_p50_ns: Option<i64>,
    /// Loaded 95th percentile less idle median.
    pub induced_p95_ns: Option<i64>,
}

/// Round-trip delay of one flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DelayFlowSummary {
    /// Its name.
    pub flow: String,
    /// By phase.
    #[serde(flatten)]
    pub phases: PhasesSummary,
    /// Packets sent whose fate is known.
    pub sent: u64,
    /// Of those, lost.
    pub lost: u64,
    /// Packets that were due and not sent.
    pub skipped: u64,
}

pub(super) fn nanoseconds(delay: Option<Delay>) -> Option<i64> {
    delay.map(|delay| delay.0)
}

impl Serialize for DelayStatistics {
    /// With the unit in the names.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        delay(self).serialize(serializer)
    }
}

impl Serialize for PhaseDelays {
    /// With the unit in the names, and what the load adds.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        phases(self).serialize(serializer)
    }
}

pub(super) fn delay(statistics: &DelayStatistics) -> DelaySummary {
    DelaySummary {
        n: statistics.n,
        lost: statistics.lost,
        min_ns: nanoseconds(statistics.min),
        p50_ns: nanoseconds(statistics.p50),
        p90_ns: nanoseconds(statistics.p90),
        p95_ns: nanoseconds(statistics.p95),
        p99_ns: nanoseconds(statistics.p99),
        max_ns: nanoseconds(statistics.max),
    }
}

pub(super) fn phases(delays: &PhaseDelays) -> PhasesSummary {
    PhasesSummary {
        idle: delays.idle.as_ref().map(delay),
        load: delays.load.as_ref().map(delay),
        unscored: delays.unscored.as_ref().map(delay),
        web: delays.web.as_ref().map(delay),
        after: delays.after.as_ref().map(delay),
        induced_p50_ns: nanoseconds(delays.induced_p50()),
        induced_p95_ns: nanoseconds(delays.induced_p95()),
    }
}

pub(super) fn delay_families(analysis: &Analysis) -> Vec<FamilyDelaySummary> {
    let family = |entry: &FamilyDelays| FamilyDelaySummary { family: entry.family, phases: phases(&entry.delays) };
    analysis.family_delays.iter().map(family).collect()
}

pub(super) fn delay_flows(analysis: &Analysis) -> Vec<DelayFlowSummary> {
    let flow = |entry: &DelayFlow| DelayFlowSummary {
        flow: entry.flow.name.clone(),
        phases: phases(&entry.delays),
        sent: entry.loss.sent,
        lost: entry.loss.lost,
        skipped: entry.skipped.packets,
    };
    analysis.delay_flows.iter().map(flow).collect()
}

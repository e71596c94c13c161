//! The kernel's own round-trip time of bulk streams.
//!
//! A stream's segments wait in the queue that the stream itself has filled, so this is the delay that it inflicts upon
//! itself, smoothed by the kernel (RFC 6298: an eighth of each new sample), and includes acknowledgments that a
//! receiver delays. It is no delay of the path: the probes measure that.

use rrul_model::flow::FlowSpec;
use rrul_model::observation::{ObservationPoint, TcpInfo, sender};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_phase::ByPhase;
use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::packets::tcp_readings::TcpReadings;
use crate::series::DelayPoint;
use crate::statistics::percentile::DelayStatistics;

/// The kernel's round-trip time of one stream.
///
/// From `TCP_INFO` of each stream's sender, read every sample interval. The segments of a stream wait in the queue that
/// the stream itself has filled, so this is self-inflicted delay. The kernel smooths it (RFC 6298: an eighth of each
/// sample), and cannot exclude the time for which a receiver delays an acknowledgment. It is not the delay of the path:
/// the probes measure that.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "TCP round-trip time")]
pub struct TcpRoundTrip {
    /// Name of a stream of the load.
    pub flow: FlowLabel,
    /// Its smoothed round-trip time, by phase.
    #[serde(flatten)]
    pub smoothed: ByPhase<Option<DelayStatistics>>,
    /// Smallest sample that the kernel had seen at the last reading, not older than five minutes. `null` without any.
    ///
    /// Source: tcp(7), `tcpi_min_rtt`.
    pub min_rtt_ns: Option<i64>,
    /// Each reading of the smoothed round-trip time, on the client's clock.
    #[serde(skip)]
    pub series: Vec<DelayPoint>,
}

/// Returns the round trip of every stream of the load, as its sender's kernel sees it, except of streams never read.
pub(crate) fn tcp_round_trip(
    recording: &Recording,
    tcp: &TcpReadings,
    clock: Option<&ClockOffset>,
) -> Vec<TcpRoundTrip> {
    let streams = recording.header.flows.iter().filter(|flow| flow.is_load_stream());
    let stream = |flow: &FlowSpec| {
        let direction = flow.direction?;
        let clock = clock.filter(|_| sender(direction) == ObservationPoint::Server);
        // Zero is what a kernel says that has no sample yet.
        let readings = || tcp.at(sender(direction), flow.id).iter().filter(|row| row.rtt > 0);
        readings().next()?;
        let on_client = |at: TestTime| clock.map_or(at, |clock| clock.client_time(at));
        let microseconds = |value: u32| Delay(i64::from(value) * 1_000);
        let point = |row: &TcpInfo| DelayPoint { at: on_client(row.at), delay: Some(microseconds(row.rtt)) };
        let series: Vec<DelayPoint> = readings().map(point).collect();
        let within = |phase: Phase| {
            let window = recording.phase(phase)?;
            let delays = series.iter().filter(|point| window.contains(point.at)).filter_map(|point| point.delay);
            DelayStatistics::from_delays(delays.collect(), 0)
        };
        // A kernel that has no minimum says the largest number.
        let least = readings().rev().map(|row| row.min_rtt).find(|least| (1..u32::MAX).contains(least));
        Some(TcpRoundTrip {
            flow: flow.into(),
            smoothed: ByPhase::each(within),
            min_rtt_ns: least.map(|least| microseconds(least).0),
            series,
        })
    };
    streams.filter_map(stream).collect()
}

//! TCP of each stream of the load over time, as the kernels of both ends report it, for charts.

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::{ObservationPoint, TcpInfo, receiver, sender};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::clock_offset::ClockOffset;
use crate::flow_label::FlowLabel;
use crate::packets::tcp_readings::TcpReadings;

/// One stream of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpSeries {
    pub flow: FlowLabel,
    /// What its sender's kernel reported, in the order of time; empty when it was never read.
    pub sender: Vec<TcpReading>,
    /// What its receiver's kernel reported; empty when it was never read.
    pub receiver: Vec<TcpReading>,
}

/// One reading of `TCP_INFO` (tcp(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpReading {
    /// When, on the client's clock.
    pub at: TestTime,
    /// Congestion window: segments times the sender's segment size.
    pub congestion_window: ByteCount,
    /// What this end offers to take: its receive window.
    pub receive_window: ByteCount,
    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub round_trip: Option<Delay>,
    /// Rate at which bytes were lately acknowledged; `None` before the first sample.
    pub delivery_rate: Option<BitRate>,
    /// Rate at which the kernel lets segments go; `None` when it does not pace.
    pub pacing_rate: Option<BitRate>,
    /// Segments retransmitted since the stream opened.
    pub retransmitted: u32,
    /// Segments that arrived out of order since then; `None` where the kernel does not report it.
    pub out_of_order: Option<u32>,
}

/// Where the field ends in the kernel's structure, bytes: shorter ones do not have it.
const OUT_OF_ORDER_END: u32 = 228;

/// Returns the series of every stream of the load that either end read, in the order of the plan.
pub(crate) fn tcp_series(recording: &Recording, tcp: &TcpReadings, clock: Option<&ClockOffset>) -> Vec<TcpSeries> {
    let readings = |point: ObservationPoint, flow: FlowId| -> Vec<TcpReading> {
        let clock = clock.filter(|_| point == ObservationPoint::Server);
        let length = recording.host(point).tcp_info_length;
        let on_client = |at| clock.map_or(at, |clock| clock.client_time(at));
        let mut readings: Vec<TcpReading> =
            tcp.at(point, flow).iter().map(|row| reading(row, on_client(row.at), length)).collect();
        // A clock that was set back in between reports them in another order.
        readings.sort_by_key(|reading| reading.at);
        readings
    };
    let series = |flow: &FlowSpec| {
        let direction = flow.direction?;
        let (sender, receiver) = (readings(sender(direction), flow.id), readings(receiver(direction), flow.id));
        let read = !(sender.is_empty() && receiver.is_empty());
        read.then(|| TcpSeries { flow: flow.into(), sender, receiver })
    };
    recording.header.flows.iter().filter(|flow| flow.is_load_stream()).filter_map(series).collect()
}

fn reading(row: &TcpInfo, at: TestTime, length: u32) -> TcpReading {
    // The kernel's word for "no limit" is the largest number.
    let rate = |octets: u64| octets.checked_mul(8).filter(|bits| *bits > 0).map(BitRate);
    TcpReading {
        at,
        congestion_window: ByteCount(u64::from(row.snd_cwnd).saturating_mul(u64::from(row.snd_mss))),
        receive_window: ByteCount(u64::from(row.rcv_wnd)),
        round_trip: (row.rtt > 0).then(|| Delay(i64::from(row.rtt) * 1_000)),
        delivery_rate: rate(row.delivery_rate),
        pacing_rate: rate(row.pacing_rate),
        retransmitted: row.total_retrans,
        out_of_order: (length >= OUT_OF_ORDER_END).then_some(row.rcv_ooopack),
    }
}

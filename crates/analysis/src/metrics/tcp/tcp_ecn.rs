//! ECN on the load's own streams, from the counters of the receiving kernel.

use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{ObservationPoint, TcpInfo, receiver, sender};
use rrul_model::recording::Recording;
use rrul_model::time::Window;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::packets::tcp_readings::TcpReadings;

/// `TCPI_OPT_ECN` and `TCPI_OPT_ECN_SEEN` of linux/tcp.h.
const NEGOTIATED: u8 = 8;
const SEEN: u8 = 16;
/// A `TCP_INFO` of this length contains the counters of marked bytes.
const LENGTH_WITH_COUNTERS: u32 = 276;
/// Below this many bytes, it is inconclusive that none was marked: the first segments may have been retransmissions.
const TELLING_OCTETS: u64 = 100_000;

/// One stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TcpEcn {
    /// Name of the stream.
    pub flow: FlowLabel,
    /// Whether its ends agreed on ECN. Null without a reading of either end.
    ///
    /// Source: RFC 3168 section 6.1.
    pub negotiated: Option<bool>,
    /// Whether the receiver's kernel ever received an ECN-capable packet of it. Null when unknown.
    ///
    /// Source: RFC 3168 section 6.1.
    pub seen: Option<bool>,
    /// Bytes that the receiver's kernel received as ECT(0) in the load phase. Null where its `TCP_INFO` is too short
    /// to contain them (before Linux 6.18).
    pub ect0_octets: Option<u64>,
    /// Bytes received as ECT(1).
    pub ect1_octets: Option<u64>,
    /// Bytes received as CE.
    pub ce_octets: Option<u64>,
    /// Of those bytes, marked CE; null without any. Retransmissions are sent without ECN and are not among them. The
    /// sender's own count (`delivered_ce`) is not used: with classic ECN it counts every packet acknowledged during a
    /// round trip in which one was marked.
    ///
    /// Unit: share. Source: RFC 3168.
    pub ce_share: Option<f64>,
    /// ECN was negotiated, data arrived, and none of it bore ECT or CE: the path clears the field.
    ///
    /// Source: RFC 3168.
    pub bleached: Option<bool>,
}

/// Readings of one end of a stream.
#[derive(Default)]
struct Readings {
    options: u8,
    last: Option<TcpInfo>,
    data: u64,
    ect0: u64,
    ect1: u64,
    ce: u64,
}

impl Readings {
    fn take(&mut self, row: TcpInfo) {
        self.options |= row.options;
        if let Some(last) = self.last.filter(|last| last.at <= row.at) {
            // 32 bits of bytes wrap around in a minute at 600 Mbit/s; from one reading to the next they do not.
            let since = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
            self.ect0 += since(row.received_e0_bytes, last.received_e0_bytes);
            self.ect1 += since(row.received_e1_bytes, last.received_e1_bytes);
            self.ce += since(row.received_ce_bytes, last.received_ce_bytes);
            self.data = self.data.saturating_add(row.bytes_received.saturating_sub(last.bytes_received));
        }
        self.last = Some(row);
    }
}

/// ECN of every stream of the load, during `load`.
pub(crate) fn tcp_ecn(recording: &Recording, tcp: &TcpReadings, load: Window) -> Vec<TcpEcn> {
    let readings = |point, flow: FlowId| {
        let rows = tcp.at(point, flow).iter().filter(|row| load.from <= row.at && row.at <= load.to);
        let mut readings: Option<Readings> = None;
        rows.for_each(|row| readings.get_or_insert_default().take(*row));
        readings
    };
    let streams = recording.header.flows.iter().filter(|flow| flow.is_load_stream());
    streams
        .filter_map(|flow| {
            let direction = flow.direction?;
            let sent = readings(sender(direction), flow.id);
            let received = readings(receiver(direction), flow.id);
            let options = sent.iter().chain(&received).map(|end| end.options).reduce(|a, b| a | b);
            let negotiated = options.map(|options| options & NEGOTIATED != 0);
            let received = received.as_ref();
            let counted = received.filter(|_| counts_marked_octets(recording, direction));
            let marked = counted.map(|counts| counts.ect0 + counts.ect1 + counts.ce);
            Some(TcpEcn {
                flow: flow.into(),
                negotiated,
                seen: received.map(|received| received.options & SEEN != 0),
                ect0_octets: counted.map(|counts| counts.ect0),
                ect1_octets: counted.map(|counts| counts.ect1),
                ce_octets: counted.map(|counts| counts.ce),
                ce_share: counted
                    .zip(marked.filter(|marked| *marked > 0))
                    .map(|(counts, all)| counts.ce as f64 / all as f64),
                bleached: bleached(negotiated, counted.filter(|counts| counts.data >= TELLING_OCTETS), marked),
            })
        })
        .collect()
}

fn bleached(negotiated: Option<bool>, telling: Option<&Readings>, marked: Option<u64>) -> Option<bool> {
    if negotiated? { telling.and(marked).map(|marked| marked == 0) } else { None }
}

fn counts_marked_octets(recording: &Recording, direction: Direction) -> bool {
    let environment = match receiver(direction) {
        ObservationPoint::Client => &recording.header.client,
        ObservationPoint::Server => &recording.header.server,
    };
    environment.tcp_info_length >= LENGTH_WITH_COUNTERS
}

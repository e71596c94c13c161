//! What the senders' kernels know of lost segments: an upper bound, because not every retransmitted segment was lost.

use rrul_model::flow::FlowSpec;
use rrul_model::observation::{TcpInfo, sender};
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::packets::tcp_readings::{TcpReadings, within};

/// Where the fields end in the kernel's structure, bytes: shorter ones do not have them.
const DSACK_END: u32 = 220;
const REORDERING_END: u32 = 224;
const TIMEOUTS_END: u32 = 242;

/// Losses of one stream of the load, as its sender's kernel counts them.
///
/// From the `TCP_INFO` of each stream's *sender* at the last reading within its window, counted since the stream
/// opened. A sender retransmits what it considers lost. The segment may have been only late, or its acknowledgment
/// lost; the receiver then reports a duplicate, which is subtracted. The rest is an upper bound of lost segments,
/// complete except for the last flight.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Loss of TCP streams")]
pub struct TcpLoss {
    /// Name of the stream.
    pub flow: FlowLabel,
    /// Segments with data that were sent, those retransmitted included; of wire size.
    ///
    /// Unit: count. Source: RFC 4898 (tcpEStatsPerfDataSegsOut).
    pub segments: u32,
    /// Segments retransmitted.
    ///
    /// Unit: count. Source: RFC 4898 (tcpEStatsPerfSegsRetrans).
    pub retransmitted: u32,
    /// Duplicates that the receiver reported: segments retransmitted that had arrived, and copies that the network
    /// made. `null` where the kernel does not report it.
    ///
    /// Unit: count. Source: RFC 2883, RFC 3708.
    pub spurious: Option<u32>,
    /// `retransmitted` less `spurious`, as a share of `segments`: an upper bound of loss. `null` without segments.
    ///
    /// Unit: share.
    pub share_most: Option<f64>,
    /// Retransmission timeouts: the stream stood still until the timer ran out. `null` where the kernel does not report
    /// it.
    ///
    /// Unit: count. Source: RFC 6298.
    pub timeouts: Option<u32>,
    /// Times that the sender found segments reordered. `null` where the kernel does not report it.
    ///
    /// Unit: count.
    pub reordering_seen: Option<u32>,
}

/// Each stream of the load whose sender was read, in the order of the plan.
pub(crate) fn tcp_loss(recording: &Recording, tcp: &TcpReadings) -> Vec<TcpLoss> {
    let streams = recording.header.flows.iter().filter(|flow| flow.is_load_stream());
    let of_stream = |flow: &FlowSpec| {
        let sender = sender(flow.direction?);
        let last = within(tcp.at(sender, flow.id), flow.window).last()?;
        Some(loss(flow, last, recording.host(sender).tcp_info_length))
    };
    streams.filter_map(of_stream).collect()
}

/// What its sender knew in the end; its kernel's structure has so many bytes.
fn loss(flow: &FlowSpec, last: &TcpInfo, length: u32) -> TcpLoss {
    let known = |end: u32, value: u32| (length >= end).then_some(value);
    let spurious = known(DSACK_END, last.dsack_dups);
    let lost = last.total_retrans.saturating_sub(spurious.unwrap_or(0));
    TcpLoss {
        flow: flow.into(),
        segments: last.data_segs_out,
        retransmitted: last.total_retrans,
        spurious,
        share_most: (last.data_segs_out > 0).then(|| (f64::from(lost) / f64::from(last.data_segs_out)).min(1.0)),
        timeouts: known(TIMEOUTS_END, last.total_rto),
        reordering_seen: known(REORDERING_END, last.reord_seen),
    }
}

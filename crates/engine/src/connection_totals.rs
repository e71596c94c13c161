//! What one connection of a page, or of another flow that opens many, has sent and received in all.

use std::os::fd::AsFd;

use rrul_model::flow::FlowId;
use rrul_model::observation::ConnectionTotals;
use rrul_model::time::TestTime;

use crate::tcp_info;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Which connection, and since when.
#[derive(Debug, Clone, Copy)]
pub struct Opened {
    pub flow: FlowId,
    pub connection: u32,
    pub started: TestTime,
}

impl Opened {
    /// The totals of a TCP connection, by what the kernel has counted until `ended`; `None` when it does not say.
    pub fn tcp(self, socket: &impl AsFd, ended: TestTime) -> Option<ConnectionTotals> {
        let info = tcp_info::read(socket, self.flow, ended)?;
        Some(ConnectionTotals {
            flow: self.flow,
            connection: self.connection,
            started: self.started,
            ended,
            transport: TCP,
            options: info.options,
            sent_octets: info.bytes_sent,
            retransmitted_octets: info.bytes_retrans,
            received_octets: info.bytes_received,
            sent_segments: info.segs_out,
            received_segments: info.segs_in,
            sent_data_segments: info.data_segs_out,
            received_data_segments: info.data_segs_in,
            out_of_order: info.rcv_ooopack,
        })
    }

    pub fn quic(self, connection: &quinn::Connection, ended: TestTime) -> ConnectionTotals {
        let stats = connection.stats();
        let count = |datagrams: u64| u32::try_from(datagrams).unwrap_or(u32::MAX);
        ConnectionTotals {
            flow: self.flow,
            connection: self.connection,
            started: self.started,
            ended,
            transport: UDP,
            options: 0,
            sent_octets: stats.udp_tx.bytes,
            retransmitted_octets: 0,
            received_octets: stats.udp_rx.bytes,
            sent_segments: count(stats.udp_tx.datagrams),
            received_segments: count(stats.udp_rx.datagrams),
            sent_data_segments: count(stats.frame_tx.stream),
            received_data_segments: count(stats.frame_rx.stream),
            out_of_order: 0,
        }
    }
}

//! What is observed of transfers that end: short flows, and the totals of connections that come and go.

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::{ByteCount, Delay};

table! {
    /// One transfer of a given size over a new TCP connection (spec: Short Flow Transfer Rate), seen by the client.
    ///
    /// It is complete when the receiver has every byte and the client knows: at the last byte of a download, at the
    /// server's confirmation of an upload.
    Transfer in TransferTable {
        flow: FlowId,
        /// Its number within the flow, from 0.
        sequence: u32,
        /// When the schedule wanted it begun.
        scheduled: TestTime,
        /// Just before `connect` was called.
        started: TestTime,
        /// How far it came: [`UNANSWERED`](Self::UNANSWERED) and the other constants.
        reached: u8,
        /// Bytes to be transferred.
        octets: ByteCount,
        /// Bytes of them that the client knows to have arrived.
        arrived: ByteCount,
        /// From `started` to the end of the handshake, or until it was refused or given up.
        connect: Delay,
        /// From `started` to the first byte from the server; 0 where none came.
        answer: Delay,
        /// From `started` to completion, or until it broke or was given up.
        took: Delay,
        /// Retransmitted SYN segments.
        syn_retransmits: u8,
    }
}

impl Transfer {
    /// No handshake until it was given up, after `connect`.
    pub const UNANSWERED: u8 = 0;
    /// The handshake was complete, the transfer was not when it broke or was given up.
    pub const CONNECTED: u8 = 1;
    pub const COMPLETE: u8 = 2;
    /// Refused: the SYN was answered with a reset, or the server said that it takes no more.
    pub const REFUSED: u8 = 3;
    /// Not possible: the network called the server unreachable, or this host had no socket for it.
    pub const IMPOSSIBLE: u8 = 4;
}

table! {
    /// Everything that one connection of a flow that opens many (short flows, pages) had sent and received by a moment, read
    /// as it ended, and of a page also now and then before: from the kernel's `TCP_INFO`, or from the counters of the QUIC
    /// connection. Pages are numbered by each end for itself, in the order in which their connections are opened there.
    ConnectionTotals in ConnectionTotalsTable {
        flow: FlowId,
        /// Which of the flow's connections, from 0.
        connection: u32,
        /// When it was opened.
        started: TestTime,
        /// When this was read; the last of a connection, when nothing more was to be sent or received.
        ended: TestTime,
        /// IP protocol number: 6 TCP, 17 UDP.
        transport: u8,
        /// TCP option bits as in `TCP_INFO`; 0 over UDP.
        options: u8,
        /// TCP: bytes sent, retransmissions included. UDP: bytes of datagrams sent, above UDP.
        sent_octets: u64,
        retransmitted_octets: u64,
        /// TCP: bytes received in order. UDP: bytes of datagrams received, above UDP.
        received_octets: u64,
        /// Segments, or datagrams, sent.
        sent_segments: u32,
        /// Segments, or datagrams, received.
        received_segments: u32,
        sent_data_segments: u32,
        received_data_segments: u32,
        /// Segments received out of order.
        out_of_order: u32,
    }
}

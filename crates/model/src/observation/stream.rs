//! What is observed of streams and exchanges: bytes, the kernel's TCP state, transactions.

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::{ByteCount, Delay};

table! {
    /// Bytes that a stream's receiver has been handed by its TCP so far, in order and without duplicates.
    ///
    /// Goodput is the slope of this. Counted at the receiver only: a sender's count includes what sits in its buffers.
    OctetsReceived in OctetsReceivedTable {
        /// The stream.
        flow: FlowId,
        /// When the count was read.
        at: TestTime,
        /// All bytes since the stream opened.
        octets: ByteCount,
    }
}

table! {
    /// One reading of the kernel's `TCP_INFO`, cumulative counters as the kernel keeps them (RFC 4898).
    ///
    /// Fields that the running kernel does not have are 0, and the environment says how long its structure is.
    TcpInfo in TcpInfoTable {
        /// The stream.
        flow: FlowId,
        /// When it was read.
        at: TestTime,
        /// TCP state (1 established).
        state: u8,
        /// Congestion-avoidance state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
        ca_state: u8,
        /// Option bits: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN negotiated, 16 ECN seen.
        options: u8,
        /// Smoothed round-trip time, microseconds.
        rtt: u32,
        /// Its mean deviation, microseconds.
        rttvar: u32,
        /// Minimum round-trip time, microseconds.
        min_rtt: u32,
        /// Retransmission timeout, microseconds.
        rto: u32,
        /// Sender's maximum segment size, bytes.
        snd_mss: u32,
        /// Receiver's estimate of the peer's segment size, bytes.
        rcv_mss: u32,
        /// Path MTU, bytes.
        pmtu: u32,
        /// Congestion window, segments.
        snd_cwnd: u32,
        /// Slow-start threshold, segments.
        snd_ssthresh: u32,
        /// Segments in flight.
        unacked: u32,
        /// Segments marked lost.
        lost: u32,
        /// Segments retransmitted in all.
        total_retrans: u32,
        /// Bytes not yet sent once.
        notsent_bytes: u32,
        /// Peer's receive window, bytes.
        snd_wnd: u32,
        /// Own receive window, bytes.
        rcv_wnd: u32,
        /// Bytes acknowledged by the peer.
        bytes_acked: u64,
        /// Bytes received in order.
        bytes_received: u64,
        /// Bytes sent, retransmissions included.
        bytes_sent: u64,
        bytes_retrans: u64,
        /// Segments sent, of wire size.
        segs_out: u32,
        /// Segments received, of wire size.
        segs_in: u32,
        /// Segments received that carried data.
        data_segs_in: u32,
        /// Segments sent that carried data.
        data_segs_out: u32,
        /// Data segments delivered to the peer.
        delivered: u32,
        /// Of those, acknowledged with a congestion mark.
        delivered_ce: u32,
        /// Duplicate SACKs received.
        dsack_dups: u32,
        /// Reordering events seen by the sender.
        reord_seen: u32,
        /// Segments received out of order.
        rcv_ooopack: u32,
        /// Delivery rate, bytes per second.
        delivery_rate: u64,
        /// Pacing rate, bytes per second.
        pacing_rate: u64,
        /// Time with data in flight or waiting, microseconds.
        busy_time: u64,
        /// Of it, limited by the peer's window, microseconds.
        rwnd_limited: u64,
        /// Of it, limited by the send buffer, microseconds.
        sndbuf_limited: u64,
        /// Retransmission timeouts.
        total_rto: u32,
        /// Bytes received marked CE.
        received_ce_bytes: u32,
        /// Bytes received marked ECT(0).
        received_e0_bytes: u32,
        /// Bytes received marked ECT(1).
        received_e1_bytes: u32,
        /// 1 when the latest measurement of `delivery_rate` was limited by the program and not by the network.
        app_limited: u8,
    }
}

table! {
    /// One request-response transaction of a closed-loop flow.
    ///
    /// Closed loop: the next request waits for this response, so these rows count transactions and must never feed
    /// percentiles of delay (they sample good moments far more often than bad ones).
    Transaction in TransactionTable {
        flow: FlowId,
        /// Its number within the flow, from 0; of an exchange over UDP the number in its packets.
        sequence: u32,
        /// When the request was sent.
        started: TestTime,
        /// How long until the response was there, or until waiting was given up.
        took: Delay,
        /// 1 when the response came, 0 when it did not in time.
        answered: u8,
    }
}

table! {
    /// The four stamps of an exchange that was answered: when its request and its response left and arrived.
    ///
    /// Over UDP stamps of the kernels, or of the programs where a kernel gave none; over TCP the programs' own. Closed
    /// loop, as [`Transaction`] is: percentiles of these are not those of the path.
    TransactionStamped in TransactionStampedTable {
        flow: FlowId,
        /// Number of its [`Transaction`] within the flow.
        sequence: u32,
        /// When the request left the client.
        sent: TestTime,
        /// When the request reached the server, on the server's clock.
        server_received: TestTime,
        /// When the response left the server, on the server's clock.
        server_sent: TestTime,
        /// When the response reached the client.
        received: TestTime,
    }
}

table! {
    /// One attempt at a new TCP connection, of a flow that opens one after another.
    Connection in ConnectionTable {
        flow: FlowId,
        /// Its number within the flow, from 0.
        sequence: u32,
        /// When the schedule wanted it opened.
        scheduled: TestTime,
        /// Just before `connect` was called.
        started: TestTime,
        /// How far it came: [`UNANSWERED`](Self::UNANSWERED) and the other constants.
        reached: u8,
        /// From `started` to the end of the handshake, or until it was refused or given up.
        connect: Delay,
        /// From `started` to the first byte from the server; 0 unless `reached` is 2.
        answer: Delay,
        /// Retransmitted SYN segments.
        syn_retransmits: u8,
    }
}

impl Connection {
    /// No handshake until it was given up, after `connect`.
    pub const UNANSWERED: u8 = 0;
    /// The handshake was complete, and the server's first bytes did not come.
    pub const CONNECTED: u8 = 1;
    /// The server's first bytes came.
    pub const ANSWERED: u8 = 2;
    /// Refused: the SYN was answered with a reset, or the server said that it takes no more.
    pub const REFUSED: u8 = 3;
    /// Not possible: the network called the server unreachable, or this host had no socket for it.
    pub const IMPOSSIBLE: u8 = 4;
}

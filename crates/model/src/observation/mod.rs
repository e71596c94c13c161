//! Observations: the raw facts that each end of a flow writes down while packets fly.
//!
//! Facts only. No delay, no loss, no rate is recorded: stamps, counters and events are, and every number is computed
//! from them later. Times are [`TestTime`] of the host that observed ([`ObservationPoint`]), except where a field says
//! that it carries the other host's stamp.

mod columns;

use serde::{Deserialize, Serialize};

use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::{ByteCount, Delay};
use columns::table;
pub use columns::{Cell, Column};

/// Who saw it (RFC 7011: observation point).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObservationPoint {
    /// The host that runs `rrul run`.
    Client,
    /// The host that runs `rrul server`.
    Server,
}

table! {
    /// Octets that a stream's receiver has been handed by its TCP so far, in order and without duplicates.
    ///
    /// Goodput is the slope of this. Counted at the receiver only: a sender's count includes what sits in its buffers.
    OctetsReceived in OctetsReceivedTable {
        /// The stream.
        flow: FlowId,
        /// When the count was read.
        at: TestTime,
        /// All octets since the stream opened.
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
        /// Sender's maximum segment size, octets.
        snd_mss: u32,
        /// Receiver's estimate of the peer's segment size, octets.
        rcv_mss: u32,
        /// Path MTU, octets.
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
        /// Octets not yet sent once.
        notsent_bytes: u32,
        /// Peer's receive window, octets.
        snd_wnd: u32,
        /// Own receive window, octets.
        rcv_wnd: u32,
        /// Octets acknowledged by the peer.
        bytes_acked: u64,
        /// Octets received in order.
        bytes_received: u64,
        /// Octets sent, retransmissions included.
        bytes_sent: u64,
        /// Octets retransmitted.
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
        /// Delivery rate, octets per second.
        delivery_rate: u64,
        /// Pacing rate, octets per second.
        pacing_rate: u64,
        /// Time with data in flight or waiting, microseconds.
        busy_time: u64,
        /// Of it, limited by the peer's window, microseconds.
        rwnd_limited: u64,
        /// Of it, limited by the send buffer, microseconds.
        sndbuf_limited: u64,
        /// Octets received marked CE.
        received_ce_bytes: u32,
        /// Octets received marked ECT(0).
        received_e0_bytes: u32,
        /// Octets received marked ECT(1).
        received_e1_bytes: u32,
    }
}

table! {
    /// A test packet handed to the kernel.
    ProbeSent in ProbeSentTable {
        /// The flow.
        flow: FlowId,
        /// Its number within the flow, from 0.
        sequence: u32,
        /// When the schedule wanted it sent.
        scheduled: TestTime,
        /// Stamp taken just before the send call.
        sent: TestTime,
    }
}

table! {
    /// Test packets that were due and not sent, as the host stalled: they would have been a burst.
    ///
    /// They have no number, so they do not look lost; the sample has a gap there.
    ProbesSkipped in ProbesSkippedTable {
        /// The flow.
        flow: FlowId,
        /// When it was noticed.
        at: TestTime,
        /// How many.
        count: u32,
    }
}

table! {
    /// The kernel's stamp of a test packet leaving for the device.
    ProbeStamped in ProbeStampedTable {
        /// The flow.
        flow: FlowId,
        /// Which packet.
        sequence: u32,
        /// The kernel's transmit stamp.
        sent: TestTime,
    }
}

table! {
    /// The reply to a test packet has arrived.
    ///
    /// A packet without such a row was lost, its reply was, or it came after the recording ended.
    ProbeReceived in ProbeReceivedTable {
        /// The flow.
        flow: FlowId,
        /// Which packet it answers.
        sequence: u32,
        /// The kernel's receive stamp of the reply (RFC 8762: T4).
        received: TestTime,
        /// When the program read it.
        read: TestTime,
        /// The reflector's receive stamp, on the server's clock (T2).
        reflector_received: TestTime,
        /// The reflector's stamp just before it sent, on the server's clock (T3).
        reflector_sent: TestTime,
        /// Traffic-class octet of the test packet as it reached the reflector.
        reflector_octet: u8,
        /// Traffic-class octet of the reply as it reached the client.
        octet: u8,
        /// How many test packets of this flow had reached the reflector.
        reflector_count: u32,
    }
}

table! {
    /// The reflector's kernel stamp of an earlier reply leaving, told in a later one (RFC 8972: follow-up telemetry).
    ReplyStamped in ReplyStampedTable {
        /// The flow.
        flow: FlowId,
        /// Which packet the stamped reply answered.
        sequence: u32,
        /// The kernel's transmit stamp, on the server's clock.
        reflector_sent: TestTime,
    }
}

table! {
    /// An ICMP echo reply has arrived (RFC 792, RFC 4443). The request stands in [`ProbeSent`].
    EchoReceived in EchoReceivedTable {
        /// The flow.
        flow: FlowId,
        /// Which request it answers.
        sequence: u32,
        /// The kernel's receive stamp.
        received: TestTime,
        /// When the program read it.
        read: TestTime,
    }
}

table! {
    /// One request-response transaction of a closed-loop flow.
    ///
    /// Closed loop: the next request waits for this response, so these rows count transactions and must never feed
    /// percentiles of delay (they sample good moments far more often than bad ones).
    Transaction in TransactionTable {
        /// The flow.
        flow: FlowId,
        /// When the request was sent.
        started: TestTime,
        /// How long until the response was there, or until waiting was given up.
        took: Delay,
        /// 1 when the response came, 0 when it did not in time.
        answered: u8,
    }
}

table! {
    /// Time that one processor core has spent, in `USER_HZ` ticks since boot (proc(5), /proc/stat).
    CpuTime in CpuTimeTable {
        /// When it was read.
        at: TestTime,
        /// Core number.
        core: u16,
        /// User code.
        user: u64,
        /// User code at low priority.
        nice: u64,
        /// Kernel.
        system: u64,
        /// Idle.
        idle: u64,
        /// Idle while waiting for a disk.
        iowait: u64,
        /// Hard interrupts.
        irq: u64,
        /// Soft interrupts, where the network stack works.
        softirq: u64,
        /// Taken by the hypervisor.
        steal: u64,
    }
}

table! {
    /// Processor time of this program, all threads, cumulative.
    ProcessTime in ProcessTimeTable {
        /// When it was read.
        at: TestTime,
        /// In user code.
        user: Delay,
        /// In the kernel.
        system: Delay,
    }
}

table! {
    /// The wall clock against the test's clock, so that steps of the wall clock can be seen.
    ClockSample in ClockSampleTable {
        /// The test's clock.
        at: TestTime,
        /// `CLOCK_REALTIME` less its value at T0, nanoseconds.
        realtime: i64,
    }
}

/// Which flow a row is about.
trait About {
    fn about(&self) -> Option<FlowId> {
        None
    }
}

macro_rules! about_flows {
    ($($row:ident),*) => {$(
        impl About for $row {
            fn about(&self) -> Option<FlowId> {
                Some(self.flow)
            }
        }
    )*};
}
about_flows!(
    OctetsReceived,
    TcpInfo,
    ProbeSent,
    ProbesSkipped,
    ProbeStamped,
    ProbeReceived,
    ReplyStamped,
    EchoReceived,
    Transaction
);
impl About for CpuTime {}
impl About for ProcessTime {}
impl About for ClockSample {}

/// What happened to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowEventKind {
    /// `connect` was called.
    ConnectStarted,
    /// The handshake is complete.
    Connected,
    /// Congestion control in force, as read back; the detail is its name.
    CongestionControl,
    /// Traffic-class octet in force, as read back; the detail is its value.
    Marked,
    /// The first octet, or packet, was handed to the kernel.
    FirstSent,
    /// The first octet of load reached the receiver.
    FirstReceived,
    /// The sender stopped as planned.
    Stopped,
    /// The flow could not be set up or ended early; the detail says why. The rest of the test goes on.
    Failed,
}

/// One event in the life of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEvent {
    /// The flow.
    pub flow: FlowId,
    /// When.
    pub at: TestTime,
    /// What.
    pub event: FlowEventKind,
    /// More, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

macro_rules! observations {
    ($($(#[$about:meta])* $name:ident: $row:ident in $table:ident,)*) => {
        /// One observation, small and `Copy`, as a measuring thread hands it on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Observation {
            $($(#[$about])* $row($row),)*
        }

        impl Observation {
            /// The flow that it is about; `None` for what concerns the whole host.
            pub fn flow(&self) -> Option<FlowId> {
                match self {
                    $(Self::$row(row) => row.about(),)*
                }
            }
        }

        $(impl From<$row> for Observation {
            fn from(row: $row) -> Self {
                Self::$row(row)
            }
        })*

        /// All tables of one stretch of time at one observation point. Empty tables are not written.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Tables {
            $($(#[$about])* #[serde(skip_serializing_if = "is_empty")] pub $name: $table,)*
        }

        impl Tables {
            /// Appends one observation to its table.
            pub fn push(&mut self, observation: Observation) {
                match observation {
                    $(Observation::$row(row) => self.$name.push(row),)*
                }
            }

            /// How many observations there are.
            pub fn len(&self) -> usize {
                0 $(+ self.$name.len())*
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        trait Emptiness {
            fn none(&self) -> bool;
        }
        $(impl Emptiness for $table {
            fn none(&self) -> bool {
                self.is_empty()
            }
        })*
    };
}

fn is_empty<T: Emptiness>(table: &T) -> bool {
    table.none()
}

observations! {
    /// Octets at the receiver.
    octets_received: OctetsReceived in OctetsReceivedTable,
    /// Kernel TCP state.
    tcp_info: TcpInfo in TcpInfoTable,
    /// Test packets sent.
    probe_sent: ProbeSent in ProbeSentTable,
    /// Test packets left out.
    probes_skipped: ProbesSkipped in ProbesSkippedTable,
    /// Their kernel transmit stamps.
    probe_stamped: ProbeStamped in ProbeStampedTable,
    /// Replies.
    probe_received: ProbeReceived in ProbeReceivedTable,
    /// The reflector's kernel transmit stamps.
    reply_stamped: ReplyStamped in ReplyStampedTable,
    /// ICMP echo replies.
    echo_received: EchoReceived in EchoReceivedTable,
    /// Request-response transactions.
    transaction: Transaction in TransactionTable,
    /// Processor time per core.
    cpu_time: CpuTime in CpuTimeTable,
    /// Processor time of this program.
    process_time: ProcessTime in ProcessTimeTable,
    /// Wall clock samples.
    clock_sample: ClockSample in ClockSampleTable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_go_into_their_table_and_come_back() {
        let mut tables = Tables::default();
        let row = OctetsReceived { flow: FlowId(3), at: TestTime(-5), octets: ByteCount(1500) };
        tables.push(row.into());
        let text = serde_json::to_string(&tables).unwrap();
        assert_eq!(text, r#"{"octets_received":{"flow":[3],"at":[-5],"octets":[1500]}}"#);
        let back: Tables = serde_json::from_str(&text).unwrap();
        assert_eq!(back.octets_received.rows().collect::<Vec<_>>(), [row]);
        assert_eq!(back.len(), 1);
    }

    #[test]
    fn a_short_column_ends_the_rows_there() {
        let text = r#"{"octets_received":{"flow":[3,0],"at":[1,1],"octets":[7]}}"#;
        let tables: Tables = serde_json::from_str(text).unwrap();
        assert_eq!(tables.octets_received.rows().count(), 1);
    }
}

//! What is observed of test packets: sent, left out, marked, stamped, arrived, answered.

use super::columns::table;
use crate::flow::{Direction, FlowId};
use crate::time::TestTime;
use crate::units::Delay;

table! {
    /// A test packet handed to the kernel.
    ProbeSent in ProbeSentTable {
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
        flow: FlowId,
        at: TestTime,
        count: u32,
    }
}

table! {
    /// The kernel's stamp of a test packet leaving for the device.
    ProbeStamped in ProbeStampedTable {
        flow: FlowId,
        sequence: u32,
        sent: TestTime,
    }
}

table! {
    /// The reply to a test packet has arrived.
    ///
    /// A packet without such a row was lost, its reply was, or it came after the recording ended.
    ProbeReceived in ProbeReceivedTable {
        flow: FlowId,
        sequence: u32,
        /// The kernel's receive stamp of the reply (RFC 8762: T4).
        received: TestTime,
        /// When the program read it.
        read: TestTime,
        /// The reflector's receive stamp, on the server's clock (T2).
        reflector_received: TestTime,
        /// The reflector's stamp just before it sent, on the server's clock (T3).
        reflector_sent: TestTime,
        /// Traffic-class byte of the test packet as it reached the reflector.
        reflector_octet: u8,
        /// Traffic-class byte of the reply as it reached the client.
        octet: u8,
        /// How many test packets of this flow had reached the reflector.
        reflector_count: u32,
    }
}

table! {
    /// The reflector's kernel stamp of an earlier reply leaving, reported in a later one (RFC 8972: follow-up
    /// telemetry).
    ReplyStamped in ReplyStampedTable {
        flow: FlowId,
        /// Which packet the stamped reply answered.
        sequence: u32,
        /// The kernel's transmit stamp, on the server's clock.
        reflector_sent: TestTime,
    }
}

table! {
    /// An ICMP echo reply has arrived (RFC 792, RFC 4443). The request is in [`ProbeSent`].
    EchoReceived in EchoReceivedTable {
        flow: FlowId,
        sequence: u32,
        received: TestTime,
        /// When the program read it.
        read: TestTime,
    }
}

table! {
    /// A packet has arrived at its destination, duplicates included, in the order of arrival.
    ///
    /// At the receiver of a one-way flow, and at the reflector for test packets: what arrived there and was answered in
    /// vain was lost on the way back, what did not arrive was lost on the way there.
    PacketReceived in PacketReceivedTable {
        flow: FlowId,
        /// Its number within the flow.
        sequence: u32,
        /// The kernel's receive stamp, or the program's where the kernel gave none.
        received: TestTime,
        /// Traffic-class byte that it bore.
        octet: u8,
    }
}

table! {
    /// A greeting handed to the kernel. With greetings a client goes on asking for a flow that the server sends. After the last
    /// packet of a flow to the server it asks with them how many have arrived.
    ///
    /// The server answers each with a packet of the same length.
    GreetingSent in GreetingSentTable {
        flow: FlowId,
        /// Stamp taken just before the send call.
        sent: TestTime,
        /// Bytes of its UDP payload.
        length: u16,
    }
}

table! {
    /// What a reply said of the test packets that the reflector had seen: one bit for each of the latest 64.
    ///
    /// For when the reflector's own rows do not come through, as the server or the control connection was lost. A row
    /// exists only where the window says what neither a reply nor an earlier window has said.
    ReflectorWindow in ReflectorWindowTable {
        flow: FlowId,
        /// The packet that the reply answers.
        sequence: u32,
        /// Highest number that the reflector had seen; bit 0 of the window stands for it.
        highest: u32,
        /// Bit n is set when the packet numbered `highest` less n had arrived.
        window: u64,
    }
}

table! {
    /// ICMP messages about a flow's packets, as the kernel hands them to the flow's socket (RFC 792, RFC 4443).
    ///
    /// The first of a kind is noted at once, those that follow it within a second together.
    IcmpMessage in IcmpMessageTable {
        flow: FlowId,
        /// When the latest of them was read.
        at: TestTime,
        /// ICMP type, of the flow's family.
        kind: u8,
        code: u8,
        /// 1 when the server sent it, 0 when another host on the way did.
        from_server: u8,
        /// The MTU that it names, bytes; 0 when it names none.
        mtu: u32,
        count: u32,
    }
}

table! {
    /// The traffic-class byte that a packet was sent with, where it is not that of the flow's class.
    PacketMarked in PacketMarkedTable {
        flow: FlowId,
        sequence: u32,
        octet: u8,
    }
}

/// Whether and when a probe came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeFate {
    /// Round-trip delay without the time in the server.
    Answered(Delay),
    /// No reply came in time. The direction is known by the server's records of what reached it.
    Lost(Option<Direction>),
}

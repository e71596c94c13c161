//! What is observed of path traces: packets that expire on the way, and the hosts that report it (spec: the equivalent of mtr).

use super::columns::table;
use crate::flow::FlowId;
use crate::time::TestTime;
use crate::units::Delay;

/// The TTL or hop limit of a packet of a path trace that is to reach the destination.
pub const FULL_HOP_LIMIT: u8 = 64;

table! {
    /// A packet of a path trace handed to the kernel. Its kernel stamp is in [`ProbeStamped`](super::ProbeStamped).
    PathProbe in PathProbeTable {
        flow: FlowId,
        /// Its number within the flow, from 0.
        sequence: u32,
        /// Stamp taken just before the send call.
        sent: TestTime,
        /// The TTL or hop limit that it was sent with: how many hops it may pass.
        hop_limit: u8,
        /// Traffic-class byte that it was sent with.
        octet: u8,
        /// Bytes of the IP packet, which may not be fragmented.
        length: u16,
    }
}

/// [`PathAnswer::kind`] of a packet that has not left, as it is longer than the sending host's own link carries.
pub const OWN_LINK: u8 = 255;

table! {
    /// A packet of a path trace was answered: by a host on the way with ICMP, or by the destination; or it has not left
    /// at all.
    PathAnswer in PathAnswerTable {
        flow: FlowId,
        sequence: u32,
        /// The kernel's receive stamp, or the program's where the kernel gave none.
        received: TestTime,
        /// Number of the address that it came from; the flow's events tell the addresses. 0 where it is not known.
        source: u16,
        /// ICMP type; 0, which ICMP reports of no UDP packet, for the destination's own answer, and [`OWN_LINK`] where
        /// the packet has not left.
        kind: u8,
        code: u8,
        /// The MTU that the message names, or that of this host's own link, bytes; 0 when none is named.
        mtu: u32,
        /// How long the destination held the packet; 0 of others.
        held: Delay,
        /// The TTL or hop limit with which the packet reached the destination; 0 where it is not known.
        left: u8,
    }
}

table! {
    /// The header of a packet as an ICMP message quotes it: how it looked when it reached the host that answered.
    ///
    /// Only hosts that may open raw sockets (CAP_NET_RAW) see it.
    PathQuote in PathQuoteTable {
        flow: FlowId,
        sequence: u32,
        octet: u8,
        /// TTL or hop limit; more than 1 where a hop before did not count.
        hop_limit: u8,
    }
}

//! One account of bytes: what arrived in one direction within one phase, and what it was for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::octets::traffic::Part;

/// Bytes in one direction within one phase.
///
/// Bytes in one direction within one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Byte account")]
pub struct Account {
    /// Delivered bytes of the load: in order and once, within the phase.
    ///
    /// Source: RFC 2647 section 3.17.
    pub goodput_octets: u64,
    /// Their rate over the phase.
    pub goodput_bps: u64,
    /// Bytes of all IP packets that arrived, headers included.
    ///
    /// Source: spec, Test Requirements.
    pub carried_octets: u64,
    /// Their rate over the phase.
    pub carried_bps: u64,
    /// Number of these packets.
    ///
    /// Unit: count.
    pub carried_packets: u64,
    /// Of `carried_octets`, those that were derived from other counts instead of counted.
    pub estimated_octets: u64,
    /// Bytes of all IP packets that the senders sent, retransmissions included. Packets that a queue of the sending
    /// host dropped are included.
    pub offered_octets: u64,
    /// Carried bytes with link-layer overhead: headers, cells, codes, minimum lengths. Null unless the link layer is
    /// known. Packets of one kind count with their mean length.
    ///
    /// Source: tc-cake(8).
    pub link_layer_octets: Option<u64>,
    /// Their rate over the phase.
    pub link_layer_bps: Option<u64>,
    /// What `carried_octets` consist of.
    pub parts_octets: OctetParts,
    /// `parts_octets.load_acknowledgements` over `carried_octets`; null when nothing was carried.
    ///
    /// Unit: share. Source: chart explanation.
    pub acknowledgement_share: Option<f64>,
    /// Payload of this direction's load that its senders retransmitted; null unless their kernels report it.
    ///
    /// Source: RFC 4898.
    pub retransmitted_octets: Option<u64>,
    /// That over all payload they sent.
    ///
    /// Unit: share. Source: RFC 4898.
    pub retransmitted_share: Option<f64>,
    /// Payload that arrived more than once: arrived bytes less `goodput_octets`. Null unless both kernels report it. At
    /// an edge of the phase, bytes that wait behind a missing segment count as duplicates, up to a window for each
    /// stream.
    pub duplicate_octets: Option<u64>,
    /// ACKs of this direction's load.
    pub acknowledgements: Option<Acknowledgements>,
    /// Estimate of `parts_octets` without kernel counters, from the delivered bytes: full segments of a 1500-byte MTU
    /// with timestamps, an ACK for every second one, no loss. It replaces `parts_octets` if a host has no `TCP_INFO`,
    /// and is then in `estimated_octets`.
    pub estimate_octets: Estimate,
}

/// A value for each traffic type; by default the bytes of IP packets that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct OctetParts<T = u64> {
    /// Of `carried_octets`: segments of this direction's load.
    ///
    /// Unit: bytes.
    pub load_data: T,
    /// Of `carried_octets`: acknowledgments of the opposite direction's load.
    ///
    /// Unit: bytes.
    pub load_acknowledgements: T,
    /// Open-loop probes and ICMP echo.
    ///
    /// Unit: bytes.
    pub probes: T,
    /// Request-response exchanges over UDP and TCP.
    ///
    /// Unit: bytes.
    pub exchanges: T,
    /// New connections.
    ///
    /// Unit: bytes.
    pub connections: T,
    /// Records in a low-rate stream.
    ///
    /// Unit: bytes.
    pub stream_records: T,
    /// DNS lookups.
    ///
    /// Unit: bytes.
    pub name_lookups: T,
    /// Short flows.
    ///
    /// Unit: bytes.
    pub short_flows: T,
    /// VoIP-like streams, their greetings included.
    ///
    /// Unit: bytes.
    pub voip: T,
    /// Web pages.
    ///
    /// Unit: bytes.
    pub web: T,
    /// Surveys of markings and paths, the greetings of path traces included.
    ///
    /// Unit: bytes.
    pub survey: T,
    /// The control connection, which also carries the server's observations.
    ///
    /// Unit: bytes.
    pub control: T,
}

impl<T> OctetParts<T> {
    /// Returns the value of one traffic type.
    pub(crate) fn part_mut(&mut self, part: Part) -> &mut T {
        match part {
            Part::LoadData => &mut self.load_data,
            Part::LoadAcknowledgements => &mut self.load_acknowledgements,
            Part::Probes => &mut self.probes,
            Part::Exchanges => &mut self.exchanges,
            Part::Connections => &mut self.connections,
            Part::StreamRecords => &mut self.stream_records,
            Part::NameLookups => &mut self.name_lookups,
            Part::ShortFlows => &mut self.short_flows,
            Part::Voip => &mut self.voip,
            Part::Web => &mut self.web,
            Part::Survey => &mut self.survey,
            Part::Control => &mut self.control,
        }
    }
}

impl OctetParts {
    /// All but the load and its acknowledgments: what measuring took.
    pub fn measuring(&self) -> u64 {
        let Self { load_data: _, load_acknowledgements: _, probes, exchanges, connections, .. } = self;
        let Self { stream_records, name_lookups, short_flows, voip, web, survey, control, .. } = self;
        let parts =
            [probes, exchanges, connections, stream_records, name_lookups, short_flows, voip, web, survey, control];
        parts.into_iter().fold(0, |sum: u64, part| sum.saturating_add(*part))
    }
}

/// Acknowledgments of one direction's load; they travel the other way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Acknowledgements {
    /// Acknowledgments that the receivers of this direction's load sent, in the opposite direction. Counted at the same
    /// byte of each stream as `received`, not at the same time, so that those in flight do not look lost.
    /// `acknowledgements` is null without load, or unless both kernels report it.
    ///
    /// Unit: count. Source: RFC 9293 section 3.8.6.3.
    pub sent: u64,
    /// Of those, received by the senders of the load.
    ///
    /// Unit: count.
    pub received: u64,
    /// Share that did not arrive: lost, or dropped on the path by ACK filters or ACK suppression. The two cannot be
    /// distinguished.
    ///
    /// Unit: share. Source: tc-cake(8), ack-filter.
    pub thinning: Option<f64>,
    /// `sent` over the data segments that arrived: 0.5 is every second one, offloading makes it less, loss more.
    ///
    /// Unit: ratio. Source: RFC 5681 section 4.2.
    pub per_data_segment: Option<f64>,
}

/// Bytes of IP packets by a rule of thumb, from the delivered bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Estimate {
    /// This direction's load.
    ///
    /// Unit: bytes. Source: spec, Test Requirements ("using estimates").
    pub load_data: u64,
    /// ACKs of the opposite direction's load.
    ///
    /// Unit: bytes. Source: spec, Test Requirements ("using estimates").
    pub load_acknowledgements: u64,
}

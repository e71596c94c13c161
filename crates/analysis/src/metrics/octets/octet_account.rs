//! One account of octets: what arrived in one direction within one phase, and what it was for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::octets::traffic::Part;

/// Octets in one direction within one phase.
///
/// Octets in one direction within one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Octet account")]
pub struct Account {
    /// Octets of the load that its receivers were handed by TCP, in order and once, within the phase.
    ///
    /// Source: RFC 2647 section 3.17.
    pub goodput_octets: u64,
    /// Their rate over the phase.
    pub goodput_bps: u64,
    /// Octets of all IP packets that arrived, headers included.
    ///
    /// Source: spec, Test Requirements.
    pub carried_octets: u64,
    /// Their rate over the phase.
    pub carried_bps: u64,
    /// How many packets that were.
    ///
    /// Unit: count.
    pub carried_packets: u64,
    /// Of `carried_octets`, those of packets that were not counted but follow from something else that was.
    pub estimated_octets: u64,
    /// Octets of all IP packets that the senders' programs and kernels handed on, retransmissions included. What a
    /// queue of the sending host threw away is in it.
    pub offered_octets: u64,
    /// Carried octets with what the link layer puts around each packet: headers, cells, codes, least lengths; null
    /// unless the link layer is known. Packets of one kind are taken to be of their mean length.
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
    /// Payload that arrived although it had arrived before: what arrived less `goodput_octets`; null unless both ends'
    /// kernels report it. At an edge of the phase octets that wait behind a hole are taken for duplicates, up to a
    /// window for each stream.
    pub duplicate_octets: Option<u64>,
    /// ACKs of this direction's load.
    pub acknowledgements: Option<Acknowledgements>,
    /// What `parts_octets` would be without the kernels' counters, from the octets that programs received: full
    /// segments of a 1500-octet MTU with timestamps, an ACK for every second one, no loss. It replaces them where a
    /// host has no `TCP_INFO`, and is then in `estimated_octets`.
    pub estimate_octets: Estimate,
}

/// A value for each traffic type; by default the octets of IP packets that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct OctetParts<T = u64> {
    /// Of `carried_octets`: segments of this direction's load.
    ///
    /// Unit: octets.
    pub load_data: T,
    /// Of `carried_octets`: acknowledgements of the opposite direction's load.
    ///
    /// Unit: octets.
    pub load_acknowledgements: T,
    /// Open-loop probes and ICMP echo.
    ///
    /// Unit: octets.
    pub probes: T,
    /// Request-response exchanges over UDP and TCP.
    ///
    /// Unit: octets.
    pub exchanges: T,
    /// New connections.
    ///
    /// Unit: octets.
    pub connections: T,
    /// Records in a low-rate stream.
    ///
    /// Unit: octets.
    pub stream_records: T,
    /// DNS lookups.
    ///
    /// Unit: octets.
    pub name_lookups: T,
    /// Short flows.
    ///
    /// Unit: octets.
    pub short_flows: T,
    /// VoIP-like streams.
    ///
    /// Unit: octets.
    pub voip: T,
    /// Web pages.
    ///
    /// Unit: octets.
    pub web: T,
    /// Surveys of markings and paths.
    ///
    /// Unit: octets.
    pub survey: T,
    /// The control connection, which also carries the server's observations.
    ///
    /// Unit: octets.
    pub control: T,
}

impl<T> OctetParts<T> {
    /// Returns the value of one traffic type.
    pub(crate) fn of(&mut self, part: Part) -> &mut T {
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
    /// All but the load and its acknowledgements: what measuring took.
    pub fn measuring(&self) -> u64 {
        let Self { load_data: _, load_acknowledgements: _, probes, exchanges, connections, .. } = self;
        let Self { stream_records, name_lookups, short_flows, voip, web, survey, control, .. } = self;
        let parts =
            [probes, exchanges, connections, stream_records, name_lookups, short_flows, voip, web, survey, control];
        parts.into_iter().fold(0, |sum: u64, part| sum.saturating_add(*part))
    }
}

/// Acknowledgements of one direction's load; they travel the other way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Acknowledgements {
    /// Acknowledgements that the receivers of this direction's load sent; they travel the other way. Counted at the
    /// same octet of each stream as `received`, not at the same time, so that those under way do not look lost;
    /// `acknowledgements` is null without load, or unless both ends' kernels report it.
    ///
    /// Unit: count. Source: RFC 9293 section 3.8.6.3.
    pub sent: u64,
    /// Of those, received by the senders of the load.
    ///
    /// Unit: count.
    pub received: u64,
    /// The share that did not arrive: lost, or dropped on the way because later ones made them superfluous (ACK
    /// filters, ACK suppression); the two cannot be distinguished.
    ///
    /// Unit: share. Source: tc-cake(8), ack-filter.
    pub thinning: Option<f64>,
    /// `sent` over the data segments that arrived: 0.5 is every second one, offloading makes it less, loss more.
    ///
    /// Unit: ratio. Source: RFC 5681 section 4.2.
    pub per_data_segment: Option<f64>,
}

/// Octets of IP packets by a rule of thumb, from the octets that programs were handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Estimate {
    /// This direction's load.
    ///
    /// Unit: octets. Source: spec, Test Requirements ("using estimates").
    pub load_data: u64,
    /// ACKs of the opposite direction's load.
    ///
    /// Unit: octets. Source: spec, Test Requirements ("using estimates").
    pub load_acknowledgements: u64,
}

//! One account of octets: what arrived in one direction within one phase, and what it was for.

use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::octets::traffic::Part;

/// The words for one account.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "An account of octets",
    path: "#octet_account",
    about: "Octets in one direction within one phase.",
    words: &[
        MetricWord {
            name: "goodput_octets",
            about: "octets of the load that its receivers were handed by TCP, in order and once, within the phase",
            unit: "octets",
            source: "RFC 2647 section 3.17",
        },
        MetricWord { name: "goodput_bps", about: "their rate over the phase", unit: "bit/s", source: "" },
        MetricWord {
            name: "carried_octets",
            about: "octets of all IP packets that arrived, headers included",
            unit: "octets",
            source: "spec, Test Requirements",
        },
        MetricWord { name: "carried_bps", about: "their rate over the phase", unit: "bit/s", source: "" },
        MetricWord { name: "carried_packets", about: "how many packets that were", unit: "count", source: "" },
        MetricWord {
            name: "estimated_octets",
            about: "of `carried_octets`, those of packets that were not counted but follow from something else that was",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "offered_octets",
            about: "octets of all IP packets that the senders' programs and kernels handed on, retransmissions included. What a \
                queue of the sending host threw away is in it",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "link_layer_octets",
            about: "carried octets with what the link layer puts around each packet: headers, cells, codes, least lengths; null \
                unless the link layer is known. Packets of one kind are taken to be of their mean length",
            unit: "octets",
            source: "tc-cake(8)",
        },
        MetricWord { name: "link_layer_bps", about: "their rate over the phase", unit: "bit/s", source: "" },
        MetricWord {
            name: "parts_octets.load_data",
            about: "of `carried_octets`: segments of this direction's load",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "parts_octets.load_acknowledgements",
            about: "of `carried_octets`: acknowledgements of the opposite direction's load",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "parts_octets.{probes,exchanges,connections,stream_records,name_lookups,short_flows,voip,web,survey,control}",
            about: "of `carried_octets`: open-loop probes and ICMP echo; request-response exchanges over UDP and TCP; new \
                connections; records in a low-rate stream; look-ups of names; short flows; VoIP-like streams; web pages; surveys of markings and paths; the \
                control connection, which also carries the server's observations",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "acknowledgement_share",
            about: "`parts_octets.load_acknowledgements` over `carried_octets`; null when nothing was carried",
            unit: "share",
            source: "chart explanation",
        },
        MetricWord {
            name: "retransmitted_octets",
            about: "payload of this direction's load that its senders sent again; null unless their kernels tell",
            unit: "octets",
            source: "RFC 4898",
        },
        MetricWord {
            name: "retransmitted_share",
            about: "that over all payload they sent",
            unit: "share",
            source: "RFC 4898",
        },
        MetricWord {
            name: "duplicate_octets",
            about: "payload that arrived although it had arrived before: what arrived less `goodput_octets`; null unless both \
                ends' kernels tell. At an edge of the phase octets that wait behind a hole are taken for duplicates, up to a \
                window for each stream",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "acknowledgements.sent",
            about: "acknowledgements that the receivers of this direction's load sent; they travel the other way. Counted at the \
                same octet of each stream as `received`, not at the same time, so that those under way do not look lost; \
                `acknowledgements` is null without load, or unless both ends' kernels tell",
            unit: "count",
            source: "RFC 9293 section 3.8.6.3",
        },
        MetricWord {
            name: "acknowledgements.received",
            about: "of those, received by the senders of the load",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "acknowledgements.thinning",
            about: "the share that did not arrive: lost, or dropped on the way because later ones made them superfluous (ACK \
                filters, ACK suppression); the two cannot be told apart",
            unit: "share",
            source: "tc-cake(8), ack-filter",
        },
        MetricWord {
            name: "acknowledgements.per_data_segment",
            about: "`sent` over the data segments that arrived: 0.5 is every second one, offloading makes it less, loss more",
            unit: "ratio",
            source: "RFC 5681 section 4.2",
        },
        MetricWord {
            name: "estimate_octets.{load_data,load_acknowledgements}",
            about: "what `parts_octets` would have without the kernels' counters, from the octets that programs were handed: full \
                segments of a 1500-octet MTU with timestamps, an acknowledgement for every second one, no loss. It stands in \
                for them where a host has no `TCP_INFO`, and is then in `estimated_octets`",
            unit: "octets",
            source: "spec, Test Requirements (\"using estimates\")",
        },
    ],
};

/// Octets in one direction within one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Account {
    /// Octets of the load that its receivers were handed, in order and once.
    pub goodput_octets: u64,
    /// Their rate.
    pub goodput_bps: u64,
    /// Octets of IP packets that arrived.
    pub carried_octets: u64,
    /// Their rate.
    pub carried_bps: u64,
    /// How many packets that were.
    pub carried_packets: u64,
    /// Of `carried_octets`, those that were not counted but follow from something else.
    pub estimated_octets: u64,
    /// Octets of IP packets that the senders handed to their network.
    pub offered_octets: u64,
    /// Carried octets on the link layer.
    pub link_layer_octets: Option<u64>,
    /// Their rate.
    pub link_layer_bps: Option<u64>,
    /// What `carried_octets` consist of.
    pub parts_octets: Parts,
    /// Acknowledgements of the opposite direction's load, as a share of `carried_octets`.
    pub acknowledgement_share: Option<f64>,
    /// Payload of the load that was sent again.
    pub retransmitted_octets: Option<u64>,
    /// That as a share of all payload sent.
    pub retransmitted_share: Option<f64>,
    /// Payload of the load that arrived although it had before.
    pub duplicate_octets: Option<u64>,
    /// What became of the acknowledgements of this direction's load.
    pub acknowledgements: Option<Acknowledgements>,
    /// What would be told of this direction's load without the kernels' counters.
    pub estimate_octets: Estimate,
}

/// A value for each traffic type; by default the octets of IP packets that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Parts<T = u64> {
    /// The load of this direction.
    pub load_data: T,
    /// Acknowledgements of the opposite direction's load.
    pub load_acknowledgements: T,
    /// Open-loop probes and ICMP echo.
    pub probes: T,
    /// Request-response exchanges.
    pub exchanges: T,
    /// New connections, opened one after another.
    pub connections: T,
    /// Records in a low-rate stream.
    pub stream_records: T,
    /// Look-ups of names.
    pub name_lookups: T,
    /// Short flows.
    pub short_flows: T,
    /// VoIP-like streams.
    pub voip: T,
    /// Web pages.
    pub web: T,
    /// Surveys of markings and paths.
    pub survey: T,
    /// The control connection.
    pub control: T,
}

impl<T> Parts<T> {
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

impl Parts {
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Acknowledgements {
    /// Sent by the receivers of the load.
    pub sent: u64,
    /// Of those, received by its senders.
    pub received: u64,
    /// Share that did not arrive: lost, or dropped on the way because later ones made them superfluous.
    pub thinning: Option<f64>,
    /// Sent for each data segment that arrived.
    pub per_data_segment: Option<f64>,
}

/// Octets of IP packets by a rule of thumb, from the octets that programs were handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Estimate {
    /// This direction's load.
    pub load_data: u64,
    /// Acknowledgements of the opposite direction's load.
    pub load_acknowledgements: u64,
}

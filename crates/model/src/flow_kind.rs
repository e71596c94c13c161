//! The kinds of flows, with one descriptor each. Everyone asks a flow for its kind; names of flow types are not
//! compared.

use crate::flow::{Component, FlowSpec};

/// What a flow does, by its flow type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlowKind {
    /// Bulk TCP: the load.
    BulkTcp,
    /// Isochronous UDP probes.
    UdpProbe,
    IcmpEcho,
    /// Means of closed-loop exchanges, which other programs recorded in the place of delays.
    ExchangeMean,
    /// Requests and responses over UDP, one after another.
    UdpRr,
    /// Requests and responses over TCP, one after another.
    TcpRr,
    /// New TCP connections.
    TcpConnect,
    /// Numbered records in a TCP stream.
    TcpRecords,
    /// Sweeps over all markings.
    MarkingSweep,
    DnsLookup,
    /// Short transfers, each over a new connection.
    ShortFlow,
    /// Pages, loaded by rrul itself.
    WebPage,
    /// Pages, loaded by a browser.
    BrowserPage,
    /// Voice-like streams of small packets.
    Voip,
    /// Path traces.
    PathTrace,
    /// Video in segments.
    VideoBursts,
    /// Many streams of a low rate each.
    Swarm,
    /// UDP at a fixed rate, without congestion control.
    UdpFlood,
    /// A flow type that this version does not know.
    Other,
}

struct Descriptor {
    kind: FlowKind,
    /// The flow type in plans and recordings.
    name: &'static str,
    /// A short label for legends and tables; `None` for the name itself.
    label: Option<&'static str>,
    /// Whether packets leave on a schedule, whatever comes back.
    open_loop: bool,
    /// Place among the kinds whose delays may be pooled, the preferred one first.
    probe_rank: Option<u8>,
}

const DESCRIPTORS: [Descriptor; 18] = [
    Descriptor::new(FlowKind::BulkTcp, "bulk_tcp").labeled("TCP"),
    Descriptor::new(FlowKind::UdpProbe, "udp_probe").labeled("UDP").open_loop().probe(0),
    Descriptor::new(FlowKind::IcmpEcho, "icmp_echo").labeled("ICMP").open_loop().probe(1),
    Descriptor::new(FlowKind::ExchangeMean, "exchange_mean").labeled("UDP rr mean").open_loop().probe(2),
    Descriptor::new(FlowKind::UdpRr, "udp_rr").labeled("UDP rr"),
    Descriptor::new(FlowKind::TcpRr, "tcp_rr").labeled("TCP rr"),
    Descriptor::new(FlowKind::TcpConnect, "tcp_connect").labeled("TCP connect").open_loop(),
    Descriptor::new(FlowKind::TcpRecords, "tcp_records").labeled("TCP records").open_loop(),
    Descriptor::new(FlowKind::MarkingSweep, "marking_sweep").open_loop(),
    Descriptor::new(FlowKind::DnsLookup, "dns_lookup").open_loop(),
    Descriptor::new(FlowKind::ShortFlow, "short_flow").open_loop(),
    Descriptor::new(FlowKind::WebPage, "web_page"),
    Descriptor::new(FlowKind::BrowserPage, "browser_page"),
    Descriptor::new(FlowKind::Voip, "voip").labeled("VoIP").open_loop(),
    Descriptor::new(FlowKind::PathTrace, "path_trace").open_loop(),
    Descriptor::new(FlowKind::VideoBursts, "video_bursts").labeled("video").open_loop(),
    Descriptor::new(FlowKind::Swarm, "swarm"),
    Descriptor::new(FlowKind::UdpFlood, "udp_flood").labeled("UDP flood").open_loop(),
];

impl Descriptor {
    const fn new(kind: FlowKind, name: &'static str) -> Self {
        Self { kind, name, label: None, open_loop: false, probe_rank: None }
    }

    const fn labeled(self, label: &'static str) -> Self {
        Self { label: Some(label), ..self }
    }

    const fn open_loop(self) -> Self {
        Self { open_loop: true, ..self }
    }

    const fn probe(self, rank: u8) -> Self {
        Self { probe_rank: Some(rank), ..self }
    }
}

impl FlowKind {
    /// The kinds whose delays may be pooled, the preferred one first. They are never mixed.
    pub const PROBES: [Self; 3] = [Self::UdpProbe, Self::IcmpEcho, Self::ExchangeMean];

    /// Returns the kind of a flow type.
    pub fn named(flow_type: &str) -> Self {
        DESCRIPTORS.iter().find(|entry| entry.name == flow_type).map_or(Self::Other, |entry| entry.kind)
    }

    fn descriptor(self) -> Option<&'static Descriptor> {
        DESCRIPTORS.iter().find(|entry| entry.kind == self)
    }

    /// Returns the flow type in plans and recordings; empty for [`Self::Other`].
    pub fn name(self) -> &'static str {
        self.descriptor().map_or("", |entry| entry.name)
    }

    /// Returns a short label for legends and tables; `None` where the flow type is its own.
    pub fn label(self) -> Option<&'static str> {
        self.descriptor()?.label
    }

    /// Returns whether packets leave on a schedule, whatever comes back.
    pub fn is_open_loop(self) -> bool {
        self.descriptor().is_some_and(|entry| entry.open_loop)
    }

    /// Returns whether its delays may be pooled.
    pub fn is_probe(self) -> bool {
        self.descriptor().is_some_and(|entry| entry.probe_rank.is_some())
    }

    /// Returns whether it loads pages.
    pub fn loads_pages(self) -> bool {
        matches!(self, Self::WebPage | Self::BrowserPage)
    }
}

impl FlowSpec {
    /// Returns what the flow does.
    pub fn kind(&self) -> FlowKind {
        FlowKind::named(&self.flow_type)
    }

    /// Returns whether the flow is load that shares the line as TCP does. A flood is load, and no such stream: nothing but its
    /// plan determines its rate.
    pub fn is_load_stream(&self) -> bool {
        self.component == Component::Load && self.kind() != FlowKind::UdpFlood
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_probes_are_in_their_order() {
        assert!(
            DESCRIPTORS
                .iter()
                .all(|entry| FlowKind::named(entry.name) == entry.kind && entry.kind.name() == entry.name)
        );
        assert_eq!(FlowKind::named("quic"), FlowKind::Other);
        let mut ranked: Vec<_> = DESCRIPTORS.iter().filter_map(|entry| Some((entry.probe_rank?, entry.kind))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        assert_eq!(ranked.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>(), FlowKind::PROBES);
    }
}

//! Everything that a test put on the link: packets of each flow, counted over time where they arrived and where they
//! left.

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{ObservationPoint, TcpInfo};
use rrul_model::time::{TestTime, Window};

use crate::packets::tcp_readings::TcpReadings;
use crate::statistics::counter::Counter;

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    LoadData,
    LoadAcknowledgements,
    Probes,
    Exchanges,
    Connections,
    StreamRecords,
    NameLookups,
    ShortFlows,
    Voip,
    Web,
    Survey,
    Control,
}

impl Part {
    /// Returns the part of what a flow sends in one direction: against a load travel its acknowledgments.
    pub(crate) fn in_direction(flow: &FlowSpec, direction: Direction) -> Self {
        match (Self::from_flow(flow), flow.direction) {
            (Self::LoadData, Some(load)) if load != direction => Self::LoadAcknowledgements,
            (part, _) => part,
        }
    }

    /// The part of a flow, of a load that of its data.
    pub(crate) fn from_flow(flow: &FlowSpec) -> Self {
        match (flow.component, flow.kind()) {
            (Component::Load, _) => Self::LoadData,
            (Component::Voip, _) => Self::Voip,
            (Component::Web, _) => Self::Web,
            (Component::Analysis, _) => Self::Survey,
            (Component::Realtime, FlowKind::UdpProbe | FlowKind::IcmpEcho) => Self::Probes,
            (Component::Realtime, FlowKind::TcpConnect) => Self::Connections,
            (Component::Realtime, FlowKind::TcpRecords) => Self::StreamRecords,
            (Component::Realtime, FlowKind::DnsLookup) => Self::NameLookups,
            (Component::Realtime, FlowKind::ShortFlow) => Self::ShortFlows,
            (Component::Realtime, _) => Self::Exchanges,
        }
    }
}

/// From what the packets are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    Counted,
    /// They follow from something else that was.
    Estimated,
}

/// Packets of one kind in one direction, counted over time.
#[derive(Debug, Clone)]
pub(crate) struct Packets {
    pub(crate) part: Part,
    pub(crate) family: AddressFamily,
    pub(crate) direction: Direction,
    pub(crate) basis: Basis,
    /// How many, since the flow began.
    pub(crate) count: Counter,
    /// Their bytes, IP headers included.
    pub(crate) octets: Counter,
}

impl Packets {
    pub(crate) fn octets_in(&self, window: Window) -> f64 {
        growth(&self.octets, window)
    }

    pub(crate) fn count_in(&self, window: Window) -> f64 {
        growth(&self.count, window)
    }
}

/// How much a counter grows within the window.
pub(crate) fn growth(counter: &Counter, window: Window) -> f64 {
    if window.from < window.to { counter.at(window.to) - counter.at(window.from) } else { 0.0 }
}

/// Who a connection is that has its segments counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    pub(crate) part: Part,
    pub(crate) family: AddressFamily,
    pub(crate) load: Option<Direction>,
    /// When it begins to send.
    pub(crate) from: TestTime,
    /// Whether it stands for many connections, each of which was counted by itself.
    pub(crate) is_many: bool,
}

/// Bytes that are known to have arrived between two readings, and not when in between. `carried` has them evenly spread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loose {
    pub(crate) part: Part,
    pub(crate) direction: Direction,
    pub(crate) from: TestTime,
    pub(crate) to: TestTime,
    pub(crate) octets: f64,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadStream<'a> {
    pub(crate) direction: Direction,
    pub(crate) family: AddressFamily,
    /// Bytes delivered to the receiver in order.
    pub(crate) goodput: Counter,
    /// Payload that arrived, as often as it did; `None` unless both ends' kernels report it.
    pub(crate) payload: Option<Counter>,
    /// Payload sent, and the retransmitted part of it; `None` unless the sender's kernel reports it.
    pub(crate) sent: Option<(Counter, Counter)>,
    /// What would be estimated of this stream from its bytes alone: data packets, and acknowledgments.
    pub(crate) estimate: [Packets; 2],
    /// Readings of both ends, for what compares them.
    pub(crate) readings: [&'a [TcpInfo]; 2],
}

/// Every packet of a test that can be counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic<'a> {
    /// As they arrived: what the link carried.
    pub(crate) carried: Vec<Packets>,
    /// Those of them whose time is known least.
    pub(crate) loose: Vec<Loose>,
    /// As they left the sender.
    pub(crate) offered: Vec<Packets>,
    pub(crate) streams: Vec<LoadStream<'a>>,
    /// Flows that sent, but whose bytes could not be counted.
    pub(crate) uncounted: Vec<FlowId>,
}

/// The kernel's readings of one connection at the two ends, in the order of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readings<'a> {
    client: &'a [TcpInfo],
    server: &'a [TcpInfo],
}

impl<'a> Readings<'a> {
    pub(crate) fn new(tcp: &'a TcpReadings, flow: FlowId) -> Self {
        // A kernel that counts no segments reports nothing here.
        let counts = |rows: &&[TcpInfo]| rows.last().is_some_and(|row| row.segs_in > 0 || row.segs_out > 0);
        let at = |point| Some(tcp.at(point, flow)).filter(counts).unwrap_or_default();
        Self { client: at(ObservationPoint::Client), server: at(ObservationPoint::Server) }
    }

    pub(crate) fn at(&self, point: ObservationPoint) -> &'a [TcpInfo] {
        match point {
            ObservationPoint::Client => self.client,
            ObservationPoint::Server => self.server,
        }
    }
}

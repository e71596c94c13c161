//! Everything that a test put on the link: packets of each flow, counted over time where they arrived and where they
//! left.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec};
use rrul_model::observation::{ObservationPoint, TcpInfo};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::ByteCount;

use crate::analysis::RatePoint;
use crate::join::{DNS_LOOKUP, ICMP_ECHO, SHORT_FLOW, TCP_CONNECT, TCP_RECORDS, UDP_PROBE};
use crate::metrics::link_octets::LinkRates;
use crate::metrics::octet_account::Parts;
use crate::metrics::{loose_octets, packet_octets, tcp_octets};
use crate::statistics::counter::Counter;
use crate::statistics::time_bins::TimeBins;
use crate::tcp_readings::TcpReadings;

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
    /// The part of a flow that is no load.
    pub(crate) fn of(flow: &FlowSpec) -> Self {
        match (flow.component, flow.flow_type.as_str()) {
            (Component::Load, _) => Self::LoadData,
            (Component::Voip, _) => Self::Voip,
            (Component::Web, _) => Self::Web,
            (Component::Analysis, _) => Self::Survey,
            (Component::Realtime, UDP_PROBE | ICMP_ECHO) => Self::Probes,
            (Component::Realtime, TCP_CONNECT) => Self::Connections,
            (Component::Realtime, TCP_RECORDS) => Self::StreamRecords,
            (Component::Realtime, DNS_LOOKUP) => Self::NameLookups,
            (Component::Realtime, SHORT_FLOW) => Self::ShortFlows,
            (Component::Realtime, _) => Self::Exchanges,
        }
    }
}

/// From what the packets are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// They were counted.
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
    /// Their octets, IP headers included.
    pub(crate) octets: Counter,
}

impl Packets {
    /// Octets within the window.
    pub(crate) fn octets_in(&self, window: Window) -> f64 {
        growth(&self.octets, window)
    }

    /// Packets within the window.
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
    /// Which way it loads, where it is load.
    pub(crate) load: Option<Direction>,
    /// When it begins to send.
    pub(crate) from: TestTime,
}

/// Octets that are known to have arrived between two readings, and not when in between. `carried` has them evenly spread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loose {
    pub(crate) part: Part,
    pub(crate) direction: Direction,
    pub(crate) from: TestTime,
    pub(crate) to: TestTime,
    pub(crate) octets: f64,
}

/// Every packet of a test that can be counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic<'a> {
    /// As they arrived: what the link carried.
    pub(crate) carried: Vec<Packets>,
    /// Those of them whose time is known least.
    pub(crate) loose: Vec<Loose>,
    /// As they were handed to the sender's network.
    pub(crate) offered: Vec<Packets>,
    /// The load's streams.
    pub(crate) streams: Vec<tcp_octets::LoadStream<'a>>,
    /// Flows of which nothing could be counted although they sent.
    pub(crate) uncounted: Vec<FlowId>,
}

/// The kernel's readings of one connection at the two ends, in the order of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Readings<'a> {
    client: &'a [TcpInfo],
    server: &'a [TcpInfo],
}

impl<'a> Readings<'a> {
    fn of(tcp: &'a TcpReadings, flow: FlowId) -> Self {
        // A kernel that counts no segments tells nothing here.
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

impl<'a> Traffic<'a> {
    /// Everything that was counted in a recording.
    pub(crate) fn of(recording: &Recording, tcp: &'a TcpReadings) -> Self {
        let mut traffic = Self::default();
        let mut packets = packet_octets::Rows::gather(recording);
        for flow in &recording.header.flows {
            let found = Readings::of(tcp, flow.id);
            let connection = Connection {
                part: Part::of(flow),
                family: flow.family,
                load: flow.direction.filter(|_| flow.component == Component::Load),
                from: flow.window.from,
            };
            let counted = tcp_octets::count(connection, found, packets.octets_received(flow.id), &mut traffic);
            if !counted && !packets.count(flow, &mut traffic) {
                traffic.uncounted.push(flow.id);
            }
        }
        if let Some(family) = recording.header.families.first() {
            let found = Readings::of(tcp, FlowId::CONTROL);
            let connection = Connection { part: Part::Control, family: *family, load: None, from: TestTime(i64::MAX) };
            tcp_octets::count(connection, found, None, &mut traffic);
        }
        traffic
    }

    /// Returns what the link carried in one direction over time, IP layer, on a grid aligned to the beginning of the test.
    ///
    /// Octets whose time is known only between two readings are placed where the rest leaves most room
    /// (`loose_octets.rs`): no interval shows more than the link's rate for want of readings.
    pub(crate) fn rates(&self, direction: Direction, window: Window, interval: Duration) -> LinkRates {
        let bins = TimeBins::covering(window, interval);
        let mut spread: BTreeMap<Part, Vec<f64>> = BTreeMap::new();
        let mut packets = vec![0.0; bins.len()];
        for carried in self.carried.iter().filter(|carried| carried.direction == direction) {
            let octets: Vec<f64> = carried.octets.at_each(bins.edges()).collect();
            let of_part = spread.entry(carried.part).or_insert_with(|| vec![0.0; bins.len()]);
            for (sum, edges) in of_part.iter_mut().zip(octets.windows(2)) {
                *sum += (edges[1] - edges[0]).max(0.0);
            }
            let counts: Vec<f64> = carried.count.at_each(bins.edges()).collect();
            for (sum, edges) in packets.iter_mut().zip(counts.windows(2)) {
                *sum += (edges[1] - edges[0]).max(0.0);
            }
        }
        let loose = self.loose.iter().filter(|loose| loose.direction == direction);
        let placed = loose_octets::place(&bins, spread, loose.copied());
        let rates = |octets: &[f64]| -> Vec<RatePoint> {
            let point = |index: usize| {
                let (at, over) = bins.bin(index)?;
                let octets = octets[index].max(0.0).round() as u64;
                Some(RatePoint { at, over, rate: ByteCount(octets).per(over) })
            };
            (0..bins.len()).filter_map(point).collect()
        };
        let mut all = vec![0.0; bins.len()];
        let mut parts = Parts::default();
        for (part, octets) in &placed {
            all.iter_mut().zip(octets).for_each(|(sum, octets)| *sum += octets);
            *parts.of(*part) = rates(octets);
        }
        LinkRates { all: rates(&all), parts, packets }
    }
}

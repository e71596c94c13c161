//! A series with everything that a file says of it, before it becomes a flow.

use super::document::{Document, RawValue, SeriesMeta};
use super::scalar::Entries;
use super::series::{Kind, Series};
use crate::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameter, Parameters};
use crate::marking::{Dscp, Marking, ServiceClass};
use crate::time::Window;

/// How the series was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    Stream(Direction),
    /// Packets of irtt: sent on a schedule, each answered on its own.
    Probes,
    Echo,
    /// Means of netperf's exchanges over UDP, of which the next waits for the one before.
    Exchanges,
    /// Packets of a voice stream, by one-way delay.
    Voice,
}

impl Measured {
    fn flow_type(self) -> &'static str {
        match self {
            Self::Stream(_) => "bulk_tcp",
            Self::Probes => "udp_probe",
            Self::Echo => "icmp_echo",
            Self::Exchanges => "exchange_mean",
            Self::Voice => "voip",
        }
    }
}

/// A series and all of it.
#[derive(Debug, Clone)]
pub(super) struct FlowSource {
    pub(super) name: String,
    pub(super) measured: Measured,
    pub(super) class: ServiceClass,
    pub(super) family: AddressFamily,
    pub(super) meta: SeriesMeta,
    pub(super) rows: Vec<RawValue>,
    /// Values on the grid, if raw ones are missing.
    pub(super) values: Vec<Option<f64>>,
}

impl FlowSource {
    /// Every series of a document that becomes a flow, in an order that depends on their names alone.
    pub(super) fn all(document: &mut Document) -> Vec<Self> {
        let usual = match document.metadata.ip_version.number() {
            Some(6.0) => AddressFamily::Ipv6,
            _ => family_of_host(document).unwrap_or(AddressFamily::Ipv4),
        };
        let mut sources: Vec<Self> = Vec::new();
        for (name, rows) in std::mem::take(&mut document.raw_values) {
            let has_raw_values = rows.iter().any(|row| row.val.is_some() || row.lost.is_some());
            let grid = document.results.iter().position(|(other, _)| *other == name);
            let values = grid.map(|place| document.results.swap_remove(place).1).unwrap_or_default();
            let values = if has_raw_values { Vec::new() } else { values };
            sources.extend(Self::new(name, rows, values, document, usual));
        }
        for (name, values) in std::mem::take(&mut document.results) {
            sources.extend(Self::new(name, Vec::new(), values, document, usual));
        }
        sources.sort_by(|a, b| a.place().cmp(&b.place()));
        sources.truncate(Entries::<()>::MOST);
        sources
    }

    fn new(
        name: String,
        rows: Vec<RawValue>,
        values: Vec<Option<f64>>,
        document: &Document,
        usual: AddressFamily,
    ) -> Option<Self> {
        if rows.is_empty() && values.iter().all(Option::is_none) {
            return None;
        }
        let series = Series::parse(&name)?;
        let metas = &document.metadata.series_meta.0;
        let meta = metas.iter().find(|(other, _)| *other == name).and_then(|(_, meta)| meta.0.clone());
        let meta = meta.unwrap_or_default();
        let command = meta.command.text().unwrap_or_default();
        let by_irtt = rows.iter().any(|row| row.owd_up.is_some() || row.lost.is_some() || row.seq.is_some());
        let measured = match series.kind {
            Kind::Stream(direction) => Measured::Stream(direction),
            Kind::UdpPing if by_irtt => Measured::Probes,
            Kind::UdpPing => Measured::Exchanges,
            Kind::IcmpPing => Measured::Echo,
            Kind::Voice if rows.iter().any(|row| row.owd_up.is_some()) => Measured::Probes,
            Kind::Voice => Measured::Voice,
        };
        let octet = meta.data_tos.number().filter(|octet| (0.0..=255.0).contains(octet)).map(|octet| octet as u8);
        let marked = octet.or_else(|| octet_in(&command)).map(|octet| Marking::from_octet(octet).dscp);
        let class = marked.map(ServiceClass::from_dscp).or(series.class).unwrap_or(ServiceClass::BE);
        let forced = |option: &str| command.split_whitespace().any(|word| word == option);
        let family = match (forced("-4"), forced("-6")) {
            (true, false) => AddressFamily::Ipv4,
            (false, true) => AddressFamily::Ipv6,
            _ => series.family.unwrap_or(usual),
        };
        Some(Self { name, measured, class, family, meta, rows, values })
    }

    /// Streams first, then pings; within them by family, class and name, numbers by their value.
    fn place(&self) -> (u8, AddressFamily, u8, usize, &str) {
        let kind = match self.measured {
            Measured::Stream(Direction::Up) => 0,
            Measured::Stream(Direction::Down) => 1,
            Measured::Probes | Measured::Exchanges => 2,
            Measured::Echo => 3,
            Measured::Voice => 4,
        };
        (kind, self.family, self.class.dscp().value(), self.name.len(), &self.name)
    }

    /// The flow that it becomes.
    pub(super) fn flow(&self, id: FlowId, name: String, window: Window) -> FlowSpec {
        let (component, direction) = match self.measured {
            Measured::Stream(direction) => (Component::Load, Some(direction)),
            Measured::Voice => (Component::Voip, Some(Direction::Up)),
            _ => (Component::Realtime, None),
        };
        FlowSpec {
            id,
            name,
            flow_type: self.measured.flow_type().to_owned(),
            component,
            direction,
            family: self.family,
            class: self.class,
            window,
            parameters: self.parameters(),
        }
    }

    /// Its name in recordings, without a number for what is there several times.
    pub(super) fn plain_name(&self) -> String {
        let direction = match self.measured {
            Measured::Stream(direction) => format!("{direction}/"),
            Measured::Voice => "up/".to_owned(),
            _ => String::new(),
        };
        format!("{}/{}/{direction}{}", self.measured.flow_type(), self.class, self.family)
    }

    /// The congestion control that was asked for and that was in force, which netperf reports as one.
    pub(super) fn congestion_control(&self) -> Option<String> {
        self.meta.cong_control.text()
    }

    fn parameters(&self) -> Parameters {
        let congestion_control =
            self.congestion_control().map(|name| ("congestion_control".to_owned(), Parameter::Text(name)));
        Parameters(congestion_control.into_iter().collect())
    }
}

/// The traffic-class byte that irtt was started with.
fn octet_in(command: &str) -> Option<u8> {
    let value = command.split_whitespace().find_map(|word| word.strip_prefix("--dscp="))?;
    let octet = match value.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok()?,
        None => value.parse().ok()?,
    };
    Dscp::new(octet >> 2).map(|_| octet)
}

fn family_of_host(document: &Document) -> Option<AddressFamily> {
    document.metadata.host.text()?.parse().ok().map(AddressFamily::from_address)
}

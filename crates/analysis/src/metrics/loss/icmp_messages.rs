//! What ICMP said of test packets (spec: ICMP messages may be noted; ICMP is no method of measurement).

use rrul_model::flow::{AddressFamily, FlowSpec};
use rrul_model::observation::{IcmpMessage, ObservationPoint};
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    /// The server.
    Server,
    /// Another host on the way.
    Path,
}

/// ICMP messages of one kind that one flow caused.
///
/// ICMP errors from hosts on the path or from the server about packets of UDP probes, exchanges over UDP and ICMP echo,
/// as the client's kernel reported them. Hosts limit their rate, so a count shows that something happened, not how
/// often. The packets concerned count as lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "ICMP messages")]
pub struct IcmpMessages {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Type and code in words.
    ///
    /// Source: RFC 792, RFC 1812, RFC 4443.
    pub message: String,
    /// ICMP type.
    ///
    /// Source: RFC 792, RFC 4443.
    #[serde(rename = "type")]
    pub kind: u8,
    /// ICMP code.
    ///
    /// Source: RFC 792, RFC 4443.
    pub code: u8,
    /// Who sent the message.
    pub sender: Sender,
    /// The MTU that the latest of them named; `null` when it named none.
    ///
    /// Source: RFC 1191, RFC 8201.
    pub mtu_octets: Option<u32>,
    /// Messages.
    ///
    /// Unit: count.
    pub count: u64,
}

/// The messages of a recording: flows in the order of the plan, kinds as they came.
pub(crate) fn icmp_messages(recording: &Recording) -> Vec<IcmpMessages> {
    let mut messages = Vec::new();
    for flow in &recording.header.flows {
        let mut of_flow: Vec<IcmpMessages> = Vec::new();
        let rows = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.icmp_message.rows());
        for row in rows.filter(|row| row.flow == flow.id) {
            let sender = if row.from_server == 0 { Sender::Path } else { Sender::Server };
            let alike =
                |entry: &&mut IcmpMessages| (entry.kind, entry.code, entry.sender) == (row.kind, row.code, sender);
            if let Some(entry) = of_flow.iter_mut().find(alike) {
                entry.count = entry.count.saturating_add(u64::from(row.count));
                entry.mtu_octets = mtu(&row).or(entry.mtu_octets);
            } else {
                of_flow.push(first(flow, &row, sender));
            }
        }
        messages.append(&mut of_flow);
    }
    messages
}

fn first(flow: &FlowSpec, row: &IcmpMessage, sender: Sender) -> IcmpMessages {
    IcmpMessages {
        flow: flow.into(),
        message: in_words(flow.family, row.kind, row.code),
        kind: row.kind,
        code: row.code,
        sender,
        mtu_octets: mtu(row),
        count: u64::from(row.count),
    }
}

fn mtu(row: &IcmpMessage) -> Option<u32> {
    (row.mtu > 0).then_some(row.mtu)
}

pub(crate) fn in_words(family: AddressFamily, kind: u8, code: u8) -> String {
    let known = match (family, kind, code) {
        (AddressFamily::Ipv4, 3, 0 | 6) => "network unreachable",
        (AddressFamily::Ipv4, 3, 1 | 7) => "host unreachable",
        (AddressFamily::Ipv4, 3, 2) => "protocol unreachable",
        (AddressFamily::Ipv4, 3, 3) | (AddressFamily::Ipv6, 1, 4) => "port unreachable",
        (AddressFamily::Ipv4, 3, 4) | (AddressFamily::Ipv6, 2, _) => "packet too big",
        (AddressFamily::Ipv4, 3, 9 | 10 | 13) | (AddressFamily::Ipv6, 1, 1 | 5) => "administratively prohibited",
        (AddressFamily::Ipv6, 1, 0 | 6) => "no route to destination",
        (AddressFamily::Ipv6, 1, 2 | 3) => "address unreachable",
        (AddressFamily::Ipv4, 11, 0) | (AddressFamily::Ipv6, 3, 0) => "hop limit exceeded",
        (AddressFamily::Ipv4, 11, 1) | (AddressFamily::Ipv6, 3, 1) => "reassembly time exceeded",
        (AddressFamily::Ipv4, 12, _) | (AddressFamily::Ipv6, 4, _) => "parameter problem",
        _ => return format!("ICMP type {kind}, code {code}"),
    };
    known.to_owned()
}

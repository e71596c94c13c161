//! The shelf of flow types.

pub(crate) mod browser_page;
pub(crate) mod bulk_tcp;
mod connection_attempt;
pub(crate) mod dns_lookup;
pub(crate) mod icmp_echo;
mod icmp_watch;
pub(crate) mod marking_sweep;
mod one_way;
mod open_loop;
mod parallel_setup;
pub(crate) mod path_trace;
pub(crate) mod short_flow;
mod stream_opening;
pub(crate) mod swarm;
pub(crate) mod tcp_connect;
pub(crate) mod tcp_records;
pub(crate) mod tcp_rr;
mod transfer_attempt;
pub(crate) mod udp_flood;
pub(crate) mod udp_probe;
pub(crate) mod udp_rr;
pub(crate) mod video_bursts;
pub(crate) mod voip;
pub(crate) mod web_page;

use rrul_model::flow::{FlowSpec, FlowTypeWords, Parameter};

pub(crate) use open_loop::WAITING;

use crate::flow_type::{FlowType, Footprint};

/// Every flow type, in the order in which they are listed.
pub(crate) const FLOW_TYPES: &[&dyn FlowType] = &[
    &bulk_tcp::BulkTcp,
    &udp_probe::UdpProbe,
    &udp_rr::UdpRr,
    &tcp_rr::TcpRr,
    &tcp_connect::TcpConnect,
    &tcp_records::TcpRecords,
    &icmp_echo::IcmpEcho,
    &marking_sweep::MarkingSweep,
    &voip::Voip,
    &web_page::WebPage,
    &dns_lookup::DnsLookup,
    &short_flow::ShortFlow,
    &browser_page::BrowserPage,
    &path_trace::PathTrace,
    &video_bursts::VideoBursts,
    &swarm::Swarm,
    &udp_flood::UdpFlood,
];

pub(crate) fn named(name: &str) -> Option<&'static dyn FlowType> {
    FLOW_TYPES.iter().find(|flow_type| flow_type.descriptor().name == name).copied()
}

/// These flows, each with the length of its packets and what else is settled among its parameters, whether the plan says
/// it or not.
pub(crate) fn with_effective_parameters(mut flows: Vec<FlowSpec>) -> Vec<FlowSpec> {
    for flow in &mut flows {
        let Some(kind) = named(&flow.flow_type) else { continue };
        if let Some(length) = kind.length(flow) {
            flow.parameters.0.insert("length".to_owned(), Parameter::Text(format!("{length}B")));
        }
        for (name, value) in kind.effective_parameters(flow) {
            flow.parameters.0.insert(name.to_owned(), Parameter::Text(value));
        }
    }
    flows
}

/// Bits per second that these flows load the path with in either direction at most; `None` for as much as it takes.
pub(crate) fn load_of(flows: &[FlowSpec]) -> Option<u64> {
    // What a server does not know it refuses.
    let known = flows.iter().filter_map(|flow| Some((named(&flow.flow_type)?, flow)));
    let loads = known.map(|(kind, flow)| kind.load(flow));
    let sum = loads.sum::<Option<Footprint>>()?;
    Some(sum.up.max(sum.down).ceil() as u64)
}

pub fn vocabulary() -> Vec<FlowTypeWords> {
    FLOW_TYPES.iter().map(|flow_type| *flow_type.descriptor()).collect()
}

//! The shelf of flow types.

mod at_once;
pub mod bulk_tcp;
pub mod icmp_echo;
mod open_loop;
mod stream_opening;
pub mod tcp_rr;
pub mod udp_probe;
pub mod udp_rr;

use rrul_model::flow::FlowTypeWords;

pub(crate) use open_loop::WAITING;

use crate::flow_type::FlowType;

/// Every flow type, in the order in which they are listed.
pub const FLOW_TYPES: &[&dyn FlowType] =
    &[&bulk_tcp::BulkTcp, &udp_probe::UdpProbe, &udp_rr::UdpRr, &tcp_rr::TcpRr, &icmp_echo::IcmpEcho];

/// The flow type with this name.
pub fn named(name: &str) -> Option<&'static dyn FlowType> {
    FLOW_TYPES.iter().find(|flow_type| flow_type.words().name == name).copied()
}

/// The vocabulary for plans.
pub fn vocabulary() -> Vec<FlowTypeWords> {
    FLOW_TYPES.iter().map(|flow_type| *flow_type.words()).collect()
}

//! How both hosts fared: processors, interfaces, routes, flows that failed.

pub mod failed_flows;
mod growth;
pub mod host_health;
pub mod host_interface;
pub mod host_route;
pub mod host_series;
pub mod processor_load;

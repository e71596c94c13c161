//! Everything that touches a socket, a clock or a thread: both ends of every flow type, the server, and the client
//! that leads a test from its plan to its recording.
//!
//! The measuring path in one paragraph: each bulk stream has a thread of its own that does nothing but send or
//! receive; all open-loop probes of one type share a thread at real-time priority where allowed, stamped by the kernel;
//! counters and `TCP_INFO` are read by one sampler thread. Observations travel through preallocated rings to the
//! collector, which makes a frame of them every 0.8 s. Nothing here computes a statistic or knows what a file is.
//!
//! - [`client::run`] leads a test; [`server::Server`] answers it
//! - `flow_type.rs` says what a flow type is; `flow_types/` has one file for each
//!
//! Feature `browser`, on by default, drives a real browser; without it the client refuses flows of type `browser_page`.

#[cfg(feature = "browser")]
mod browser;
pub mod client;
pub mod clock;
pub mod connection_totals;
pub mod control_link;
pub mod endpoint;
pub mod environment;
mod flow_type;
mod flow_types;
mod greeting;
pub mod hangup;
pub mod heap;
pub mod host_health;
pub mod name_lookup;
pub mod netlink;
pub mod observer;
mod one_way_sending;
pub mod open_files;
mod path_tracing;
pub mod privacy;
pub mod processor_time;
pub mod scheduling;
pub mod server;
mod setup_error;
pub mod socket;
pub mod system_resolver;
pub mod tcp_info;
mod tls;
pub mod web;

pub use flow_types::vocabulary;
pub use rrul_proto::PORT;

//! The way hop by hop, and where its queue is.

pub mod bottleneck;
pub mod path_hops;
pub mod path_marks;
pub mod path_mtu;
pub(crate) mod path_packets;
pub mod path_trace;

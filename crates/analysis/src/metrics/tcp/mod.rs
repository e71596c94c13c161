//! What the kernels report of their streams.

pub(crate) mod ack_thinning;
pub mod stream_limits;
pub mod tcp_ecn;
pub mod tcp_loss;
pub mod tcp_round_trip;
pub mod tcp_series;

//! One file a metric, each from a recording to numbers. docs/metrics.md says what each is.

pub mod code_point;
pub mod connections;
pub mod delay_variation;
pub mod ecn;
pub(crate) mod failed_flows;
pub mod global_synchronization;
pub(crate) mod goodput;
pub(crate) mod loss;
pub mod marking_path;
pub mod marking_tally;
pub(crate) mod processor_load;
pub(crate) mod round_trip_delay;
pub(crate) mod send_lateness;
pub mod sharing;
pub mod start_slew;
pub(crate) mod start_spread;
pub mod stream_delay;
pub mod stream_limits;
pub(crate) mod stream_rates;
pub mod tcp_ecn;
pub(crate) mod transactions;
pub mod voip;
mod voip_playout;
pub mod voip_quality;

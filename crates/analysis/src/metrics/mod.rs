//! One file a metric, each from a recording to numbers. docs/metrics.md says what each is.

pub mod delay_variation;
pub(crate) mod failed_flows;
pub(crate) mod goodput;
pub(crate) mod loss;
pub(crate) mod processor_load;
pub(crate) mod round_trip_delay;
pub(crate) mod send_lateness;
pub(crate) mod start_spread;
pub(crate) mod transactions;
pub mod voip;
mod voip_playout;
pub mod voip_quality;

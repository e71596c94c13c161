//! One file a metric, each from a recording to numbers. docs/metrics.md says what each is.

pub(crate) mod goodput;
pub(crate) mod loss;
pub(crate) mod processor_load;
pub(crate) mod round_trip_delay;
pub(crate) mod send_lateness;
pub(crate) mod start_spread;
pub(crate) mod transactions;

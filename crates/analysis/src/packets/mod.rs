//! Rows of the recording joined into packets, streams and readings, before any metric looks at them.

pub(crate) mod attribution;
pub(crate) mod by_number;
pub(crate) mod effective_settings;
pub(crate) mod join;
pub(crate) mod one_way_flow;
pub mod probe_pool;
pub(crate) mod queue_side;
pub(crate) mod queue_waits;
pub(crate) mod recorded_time;
pub(crate) mod tcp_readings;

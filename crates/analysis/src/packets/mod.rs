//! Rows of the recording joined into packets, streams and readings, before any metric looks at them.

pub(crate) mod attribution;
pub(crate) mod by_number;
pub(crate) mod in_force;
pub(crate) mod join;
pub(crate) mod leg;
pub mod probe_pool;
pub(crate) mod queue_side;
pub(crate) mod queue_waits;
pub(crate) mod recorded_time;
pub(crate) mod tcp_readings;

//! The line in virtual time: no clock, no socket, no thread.

pub(crate) mod bottleneck;
pub(crate) mod counters;
pub mod pipe;
pub(crate) mod pool;
pub(crate) mod virtual_link;
pub(crate) mod wire;

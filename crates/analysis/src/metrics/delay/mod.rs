//! How long packets take: round trip, by direction, its variation, within streams, and how it recovers after the load.

pub mod delay_variation;
pub(crate) mod exchange_delay;
pub mod one_way_delay;
pub(crate) mod queueing;
pub mod recovery;
pub mod round_trip_delay;
pub(crate) mod send_lateness;
pub(crate) mod server_distance;
pub mod stream_delay;
pub mod transactions;
pub mod unloaded;

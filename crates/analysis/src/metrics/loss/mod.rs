//! What becomes of packets: lost, late, doubled, out of order, and what routers said of them.

pub mod icmp_messages;
pub mod packet_count;
pub mod packet_fate;
pub mod packet_fate_series;
pub mod reordering;
pub mod round_trip_loss;

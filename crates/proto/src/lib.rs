#![doc = include_str!("../PROTOCOL.md")]

pub mod admission;
pub mod arrival_log;
pub mod control;
pub mod exchange_stamps;
pub mod icmp_error;
pub mod limits;
pub mod name_question;
pub mod name_responder;
pub mod one_way_packet;
pub mod one_way_receiver;
pub mod one_way_sender;
pub mod opening;
pub mod packet_seal;
pub mod packet_train;
pub mod path_mtu;
pub mod path_sweep;
pub mod receive_window;
pub mod schedule;
pub mod session_name;
pub mod session_reflector;
pub mod session_sender;
pub mod short_flow;
pub mod stream_key;
pub mod test_packet;
pub mod token;

/// The default TCP and UDP port: R-R-U-L on a phone's keys.
pub const PORT: u16 = 7785;

/// The first octets of every TCP connection, in both directions.
pub const MAGIC: [u8; 4] = *b"RRUL";

/// Lowest protocol version that this program speaks.
pub const LOWEST_VERSION: u8 = 1;

/// Highest protocol version that this program speaks.
pub const HIGHEST_VERSION: u8 = 1;

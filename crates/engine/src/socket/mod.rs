//! Sockets as a measurement needs them: marked, stamped by the kernel, and read without needless copies.

pub mod control_message;
pub mod datagram;
pub mod drops;
pub mod icmp;
#[cfg(feature = "activation")]
pub mod inherited;
pub mod options;
pub mod shared_port;
pub mod stream;
pub mod transmit_numbers;
pub mod wait;

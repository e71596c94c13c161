//! Sockets as a measurement needs them: marked, stamped by the kernel, and read without needless copies.

pub mod control_message;
pub mod datagram;
pub mod drops;
pub mod icmp;
pub mod options;
pub mod stream;
pub mod transmit_numbers;
pub mod wait;

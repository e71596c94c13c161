//! Every byte on the link: whose it was, from which counters it is known.

pub(crate) mod carried_share;
mod connection_octets;
pub(crate) mod gathering;
mod greeting_octets;
pub mod link_octets;
pub mod link_rates;
pub(crate) mod lookup_octets;
pub(crate) mod loose_octets;
pub mod measurement_overhead;
pub mod octet_account;
pub(crate) mod octet_ledger;
pub(crate) mod packet_octets;
pub(crate) mod path_octets;
pub(crate) mod selective_acknowledgements;
pub(crate) mod short_connection_bytes;
pub(crate) mod tcp_octets;
pub(crate) mod traffic;

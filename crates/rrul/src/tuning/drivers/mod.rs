//! The drivers of shapers, one file a kind.

pub(crate) mod command;
mod htb_class;
pub(crate) mod lab;
pub(crate) mod openwrt;
mod queue_discipline;
mod size_table;
pub(crate) mod tc;
mod token_bucket;
mod unsettable;

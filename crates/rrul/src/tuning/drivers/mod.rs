//! The drivers of shapers, one file a kind.

pub(crate) mod lab;

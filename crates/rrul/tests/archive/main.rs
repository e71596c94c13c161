//! `rrul archive` as a user meets it.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod adding;
mod asking;
#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "cluster")]
mod cluster;
mod engines;
mod folder;
mod partitions;

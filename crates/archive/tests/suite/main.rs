//! The archive from a recording to its files.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod document;
mod folder;
mod killed;
mod privacy;
mod recordings;
mod rows;
mod scratch;

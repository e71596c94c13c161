//! Whole tests over the loopback interface: what each flow type does, and what the recording then contains.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

#[path = "../common/mod.rs"]
mod common;
mod encrypted;
mod forged;
mod household;
mod load_end;
mod loopback;
mod names_and_short_flows;
mod page_client;
mod private_server;
mod streams;
mod voice;

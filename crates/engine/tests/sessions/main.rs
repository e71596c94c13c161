//! What a server does for its sessions beside measuring: the waiting line, and what strangers try. Over the loopback interface;
//! nothing here measures, so that other tests may run beside it.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod lease;
mod light;
mod moved;
mod prober;
mod stranger;
mod waiting_line;

//! The whole program where things go wrong: wrong addresses, wrong peers, wrong plans, full disks, missing rights, and
//! programs killed in the middle of a test.
//!
//! Each test looks at what a user has afterwards: the exit code, what was said, and what is on disk. Everything runs over
//! the loopback interface with paced load, or over a virtual link.
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

/// Tests that measure this host itself: nothing that computes runs beside them (scripts/test).
mod alone {
    mod control_group;
    mod own_host;
}
mod access;
mod activation;
mod batches;
mod browser;
mod certificates;
mod client;
mod comparing;
mod connecting;
mod endurance;
mod exhaustion;
mod families;
mod files;
mod hostile_files;
mod hostile_server;
mod hostile_text;
mod killed;
mod lab;
mod monitor;
mod operation;
mod page_strangers;
mod peer;
mod plans;
mod privacy;
mod privileges;
mod program;
mod prometheus;
mod quota;
mod recordings;
mod server_check;
mod soak;
mod strangers;
mod tuning;
mod verdict;

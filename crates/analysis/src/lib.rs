//! Every number that rrul reports, computed from a recording by pure functions.
//!
//! [`analyze::analyze`] takes a recording and says everything that follows from it; [`live::Live`] says a little while
//! the test still runs; [`summary::Summary`] is the same as stable JSON. Nothing here reads a clock, a file or a
//! socket: the same recording gives the same numbers, today and in ten years.
//!
//! - [`analysis`]: what an analysis says
//! - [`validity`]: whether the numbers deserve trust
//! - [`statistics`]: estimators, each named for what it is
//! - `metrics`: one file a metric; docs/metrics.md lists them

#![forbid(unsafe_code)]

pub mod analysis;
pub mod analyze;
mod in_force;
mod join;
pub mod live;
mod metrics;
mod recorded_time;
pub mod statistics;
pub mod summary;
pub mod validity;
mod validity_rules;

pub use analysis::Analysis;
pub use analyze::analyze;

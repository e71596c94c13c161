//! Every number that rrul reports, computed from a recording by pure functions.
//!
//! [`analyze::analyze`] takes a recording and says everything that follows from it; [`live::Live`] says a little while
//! the test still runs; [`summary::Summary`] is the same as stable JSON. Nothing here reads a clock, a file or a
//! socket: the same recording gives the same numbers, today and in ten years.
//!
//! The stages, each of which uses only those before it:
//!
//! 1. [`packets`]: rows of the recording joined into packets, streams and readings; [`series`], [`flow_label`],
//!    [`by_direction`]: what all stages are written in; [`statistics`]: estimators, each named for what it is
//! 2. [`clock_offset`]: two hosts' clocks brought together
//! 3. [`metrics`]: one file a metric, in folders by concern; docs/metrics.md lists them; [`measured`]: all of them
//! 4. [`validity_rules`]: whether the numbers deserve trust; [`scores`]: what they amount to, one file a score;
//!    docs/scores.md lists them; [`scored`]: all of them
//! 5. [`analysis`]: all that follows from one recording; [`comparison`]: several runs against each other; [`digest`]: what
//!    of it is kept behind a recording
//!
//! Beside them: [`tuning`], what the steps of a tuning session say of a line and its shaper; [`summary`], the JSON, from whose types docs/metrics.md and docs/summary.schema.json are made.

#![forbid(unsafe_code)]

pub mod analysis;
pub mod analyze;
pub mod by_direction;
pub mod by_phase;
pub mod clock_offset;
pub mod comparison;
pub mod digest;
pub mod flow_label;
pub mod live;
pub mod measured;
pub mod metrics;
pub mod packets;
pub mod score;
pub mod scored;
pub mod scores;
pub mod series;
pub mod statistics;
pub mod summary;
pub mod tuning;
pub mod validity;
mod validity_rule;
pub mod validity_rules;

pub use analysis::Analysis;
pub use analyze::analyze;
pub use packets::attribution::LossAttribution;

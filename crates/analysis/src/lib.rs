//! Every number that rrul reports, computed from a recording by pure functions.
//!
//! [`analyze::analyze`] takes a recording and says everything that follows from it; [`live::Live`] says a little while
//! the test still runs; [`summary::Summary`] is the same as stable JSON. Nothing here reads a clock, a file or a
//! socket: the same recording gives the same numbers, today and in ten years.
//!
//! - [`analysis`]: what an analysis says
//! - [`validity`]: whether the numbers deserve trust
//! - [`statistics`]: estimators, each named for what it is
//! - [`metrics`]: one file a metric; docs/metrics.md lists them
//! - [`clock_offset`]: two hosts' clocks brought together
//! - [`comparison`]: several runs against each other
//! - [`competition`]: two runs over one line at the same time
//! - [`digest`]: what was found of a recording as a whole, for charts of its delays and for comparisons
//! - [`score`]: what figures amount to; [`scores`]: one file a score; docs/scores.md lists them
//! - [`equaliser`]: the parts of the composite over time
//! - [`impression`]: what a person would feel, in one sentence
//! - [`e_model`]: what a listener would say of a call
//! - [`run_confidence`]: intervals of a run's main figures, from the run alone
//! - [`metric_word`]: the words for one metric; [`metric_list`]: all of them, from which docs/metrics.md is made

#![forbid(unsafe_code)]

pub mod analysis;
pub mod analyze;
mod attribution;
pub mod by_direction;
mod by_number;
pub mod by_phase;
pub mod clock_offset;
pub mod comparison;
pub mod competition;
pub mod digest;
pub mod e_model;
pub mod equaliser;
mod flow_label;
pub mod impression;
mod in_force;
mod join;
mod leg;
pub mod live;
pub mod metric_list;
pub mod metric_word;
pub mod metrics;
pub mod probe_pool;
mod queue_side;
mod queue_waits;
mod recorded_time;
pub mod run_confidence;
pub mod score;
pub mod score_cell;
pub mod scores;
pub mod statistics;
pub mod summary;
mod tcp_readings;
pub mod validity;
mod validity_rule;
mod validity_rules;
mod wall_clock;

pub use analysis::Analysis;
pub use analyze::analyze;
pub use attribution::Evidence;

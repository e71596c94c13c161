//! Tuning a shaper: from the steps of a session to the rates to recommend.
//!
//! [`search::next_action`] decides from the trials so far what to do next, and reads no clock: the trials of a recording
//! give the same decisions again. [`result::TuningResult`] is what a session amounts to.

mod capacity;
mod class_promise;
pub mod class_shares;
mod course;
mod first_hop;
mod judgement;
mod knob_test;
mod limit;
pub mod next_step;
pub mod overhead;
mod policer;
mod posterior;
mod recommendation;
mod reference;
pub mod result;
pub mod search;
mod session;
mod suspected_policer;
pub mod trial;
pub mod trials;
mod tuned_line;
mod varying;

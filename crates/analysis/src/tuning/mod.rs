//! Tuning a shaper: from the steps of a session to the rates to recommend.
//!
//! [`search::next_action`] decides from the trials so far what to do next, and reads no clock: the trials of a recording
//! give the same decisions again. [`result::TuningResult`] is what a session amounts to.

pub mod result;
pub mod search;
pub mod trial;
pub mod trials;

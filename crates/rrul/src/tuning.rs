//! Shapers and the search for their rates.
//!
//! - [`class_runs`]: what the shaper gives to each class
//! - [`conductor`]: a session: one test whose load goes on while the shaper is set in steps
//! - [`confirmation`]: two whole tests, as found and as recommended
//! - [`shaper`]: what a shaper is and can do
//! - [`shaper_address`]: which shaper, as people write it after `--shaper`

pub(crate) mod class_runs;
pub(crate) mod conductor;
pub(crate) mod confirmation;
mod progress;
pub(crate) mod shaper;
pub(crate) mod shaper_address;

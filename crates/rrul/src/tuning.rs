//! Shapers and the search for their rates.
//!
//! - [`conductor`]: a session: one test whose load goes on while the shaper is set in steps
//! - [`shaper`]: what a shaper is and can do
//! - [`shaper_address`]: which shaper, as people write it after `--shaper`

pub(crate) mod conductor;
mod progress;
pub(crate) mod shaper;
pub(crate) mod shaper_address;

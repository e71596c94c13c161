//! Shapers and the search for their rates.
//!
//! - [`shaper`]: what a shaper is and can do
//! - [`shaper_address`]: which shaper, as people write it after `--shaper`

pub(crate) mod shaper;
pub(crate) mod shaper_address;

//! Estimators, each named for what it is.

pub(crate) mod counter;
pub mod percentile;
pub(crate) mod time_bins;

//! Estimators, each named for what it is.

#[allow(dead_code, reason = "metrics begin to use it")]
pub(crate) mod autocorrelation;
#[allow(dead_code, reason = "metrics begin to use it")]
pub mod block_bootstrap;
pub(crate) mod bootstrap;
pub(crate) mod change_point;
pub(crate) mod counter;
pub mod jain_index;
pub mod loss_runs;
pub mod lower_hull;

pub(crate) mod mann_kendall;
pub(crate) mod median;
pub mod median_interval;
pub mod percentile;
pub(crate) mod proportion;
pub(crate) mod time_bins;

//! Estimators, each named for what it is.

pub(crate) mod autocorrelation;
pub mod block_bootstrap;
pub(crate) mod bootstrap;
pub(crate) mod change_point;
pub(crate) mod counter;
pub(crate) mod holm;
pub mod jain_index;
pub mod loss_runs;
pub mod lower_hull;
pub(crate) mod mann_kendall;
pub(crate) mod mann_whitney;
pub(crate) mod median;
pub mod percentile;
pub mod product_limit;
pub(crate) mod proportion;
pub(crate) mod shortest_half;
pub(crate) mod time_bins;

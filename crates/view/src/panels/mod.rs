//! Parts of charts: panels over time, distributions, and what is drawn in them.

pub(crate) mod bins;
pub(crate) mod delay_panel;
pub(crate) mod delay_side;
pub(crate) mod distribution;
pub(crate) mod link_panel;
pub(crate) mod page_conditions;
pub(crate) mod rate_panel;
pub(crate) mod run_heading;
pub(crate) mod thinning;
pub(crate) mod time_chart;
pub(crate) mod time_panel;

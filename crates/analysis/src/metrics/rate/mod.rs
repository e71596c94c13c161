//! How much is carried, over time: goodput, the scored window, whether the line was full and stayed as it was.

pub mod burst;
pub mod flood_delivery;
pub mod goodput;
pub(crate) mod rate_series;
pub mod saturation;
pub mod scored_window;
pub mod start_slew;
pub(crate) mod start_spread;
pub mod steadiness;
pub(crate) mod stream_rates;

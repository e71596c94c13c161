//! Voice streams: schedule, play-out, quality.

pub mod voip;
pub(crate) mod voip_playout;
pub mod voip_quality;
pub mod voip_schedule;

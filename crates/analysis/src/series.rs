//! Points over time, of which every series of an analysis consists.

use std::time::Duration;

use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, Delay};

/// A rate over one short interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatePoint {
    pub at: TestTime,
    pub over: Duration,
    pub rate: BitRate,
}

/// One test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayPoint {
    pub at: TestTime,
    /// Its round-trip delay without the time the reflector held it; `None` when it was lost.
    pub delay: Option<Delay>,
}

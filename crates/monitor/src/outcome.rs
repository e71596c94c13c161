//! How a full test that was due has ended.

use std::fmt;
use std::time::Duration;

use rrul_model::units::{BitRate, ByteCount};

use crate::budget::{Budget, data};

/// How a full test that was due has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// It has a recording.
    Ran,
    /// Deliberately not run.
    Skipped(SkipReason),
    /// Begun or tried, and without a result.
    Failed(FailReason),
}

impl RunOutcome {
    /// Every value of label `outcome`.
    pub const NAMES: [&str; 3] = ["ran", "skipped", "failed"];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
        }
    }

    /// The word for why it has no result; empty for one that ran.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Ran => "",
            Self::Skipped(reason) => reason.name(),
            Self::Failed(reason) => reason.name(),
        }
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ran => f.write_str("ran"),
            Self::Skipped(reason) => write!(f, "skipped ({}): {reason}", reason.name()),
            Self::Failed(reason) => write!(f, "failed ({}): {reason}", reason.name()),
        }
    }
}

/// Why a test was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It would take more than the budget has left.
    Budget { forecast: Option<ByteCount>, left: ByteCount, budget: Budget },
    /// Others use the line.
    CrossTraffic { interface: String, rate: BitRate, limit: BitRate, over: Duration },
    /// Another test of this host loads the line.
    LinkBusy,
    /// The server is busy with other tests.
    ServerBusy { reason: String },
}

impl SkipReason {
    /// Every value of label `reason` of a test that was skipped.
    pub const NAMES: [&str; 4] = ["budget", "cross_traffic", "link_busy", "server_busy"];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::CrossTraffic { .. } => "cross_traffic",
            Self::LinkBusy => "link_busy",
            Self::ServerBusy { .. } => "server_busy",
        }
    }

    /// Whether it may be over soon. What was used of a budget comes back in hours or days.
    pub fn is_brief(&self) -> bool {
        !matches!(self, Self::Budget { .. })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { forecast: Some(forecast), left, budget } => {
                write!(f, "it would take {}, and {} of {budget} are left", data(*forecast), data(*left))
            }
            Self::Budget { forecast: None, left, budget } => write!(f, "{} of {budget} are left", data(*left)),
            Self::CrossTraffic { interface, rate, limit, over } => {
                write!(f, "{interface} carries {rate} of other traffic (mean of {} s, limit {limit})", over.as_secs())
            }
            Self::LinkBusy => f.write_str("another test of this host loads the line"),
            Self::ServerBusy { reason } => f.write_str(reason),
        }
    }
}

/// Why a test has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailReason {
    /// The server cannot be reached.
    Unreachable { reason: String },
    /// The server refuses the test.
    Refused { reason: String },
    /// The program or the host ended in the middle of it.
    Interrupted,
    /// This host could not run or record it.
    Local { reason: String },
}

impl FailReason {
    /// Every value of label `reason` of a test that failed.
    pub const NAMES: [&str; 4] = ["unreachable", "refused", "interrupted", "local"];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Refused { .. } => "refused",
            Self::Interrupted => "interrupted",
            Self::Local { .. } => "local",
        }
    }
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { reason } | Self::Refused { reason } | Self::Local { reason } => f.write_str(reason),
            Self::Interrupted => f.write_str("the monitor ended before the test did"),
        }
    }
}

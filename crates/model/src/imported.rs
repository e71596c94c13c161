//! Where a recording comes from that another program measured.

use serde::{Deserialize, Serialize};

use crate::flow::Direction;

/// What is to be known of a recording that rrul did not measure itself.
///
/// Such a recording contains what the other program recorded and no more: of its `TCP_INFO` rows only congestion
/// window, round-trip time, pacing and delivery rate are known, of test packets neither their schedule nor how they
/// were marked when they arrived, of processors nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Imported {
    /// The program and its version: `Flent 2.3.0`.
    pub tool: String,
    /// What of its file could not be carried over, or says less than it seems to; one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Directions whose bytes the sender counted as it wrote them, what waited in its buffers included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_at_sender: Vec<Direction>,
}

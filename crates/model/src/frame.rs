//! What one end observed during about a second.

use serde::{Deserialize, Serialize};

use crate::observation::{FlowEvent, ObservationPoint, Tables};

/// What one end observed during about a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub point: ObservationPoint,
    /// Frames of this point are numbered from 0 without gaps; a gap says that a frame was lost.
    pub number: u32,
    /// Observations that had to be dropped since the frame before, because they were not fetched in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    #[serde(default, skip_serializing_if = "Tables::is_empty")]
    pub tables: Tables,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<FlowEvent>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

//! The path: its hops, and where the queues are.

mod traces;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[&traces::HOPS_KNOWN, &traces::SILENT, &traces::GARBAGE, &traces::SPARING];

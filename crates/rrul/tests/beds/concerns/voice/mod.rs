//! Calls.

mod calls;
mod rating;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] =
    &[&rating::LATE, &rating::RATED, &calls::LOST_UP, &calls::BLOATED, &calls::MANAGED, &calls::SCHEDULES];

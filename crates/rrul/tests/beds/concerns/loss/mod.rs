//! Loss, copies and order.

mod counts;
mod fates;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[&counts::UP, &counts::BOTH, &counts::OUTAGE, &fates::FATES, &fates::LONG_OUTAGE];

//! Pages, short flows, lookups of names and video.

mod names;
mod page_correlation;
mod page_loads;
mod pages_beside_load;
mod short_flows;
mod video;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &pages_beside_load::BESIDE_LOAD,
    &page_loads::LOADS,
    &page_loads::NO_QUIC,
    &page_loads::CUT_OFF,
    &page_correlation::CORRELATION,
    &short_flows::FAST,
    &short_flows::SLOW,
    &names::CLEAN,
    &names::HIT,
    &names::RESOLVERS,
    &video::BELOW,
    &video::ABOVE,
];

//! Bytes on the link, and what of them the measurement takes.

mod link_octets;
mod measurement_budget;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &measurement_budget::SLOW,
    &measurement_budget::SLOW_FAMILIES,
    &measurement_budget::LINES,
    &measurement_budget::WHOLE,
    &link_octets::CLEAN,
    &link_octets::ACKS_LOST,
    &link_octets::DOWN_ACKS_LOST,
    &link_octets::DATA_LOST,
    &link_octets::DOWN_DATA_LOST,
    &link_octets::ASYMMETRIC,
    &link_octets::ASYMMETRIC_MANAGED,
    &link_octets::LINK_LAYER,
];

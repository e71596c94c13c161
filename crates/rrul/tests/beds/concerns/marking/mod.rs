//! Markings: what becomes of them, and whether the path acts on them.

mod classes;
mod sweeps;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &sweeps::BLEACHED,
    &sweeps::BLEACHED_UP,
    &sweeps::BLEACHED_DOWN,
    &sweeps::CONSTANT_UP,
    &sweeps::CONSTANT_DOWN,
    &sweeps::ONE_CLASS_UP,
    &sweeps::ONE_CLASS_DOWN,
    &sweeps::REWRITTEN,
    &sweeps::SWAPPED,
    &sweeps::DROPPED,
    &sweeps::BLEACHED_ALL,
    &sweeps::SWAPPED_UP,
    &sweeps::DROPPED_UP,
    &sweeps::MARKED,
    &sweeps::MARKED_LOADED,
    &classes::PRIORITY,
    &classes::PRIORITY_DOWN,
];

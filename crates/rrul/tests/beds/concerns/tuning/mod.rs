//! Tuning: what a shaper's steps carry and delay.

mod classes;
mod overhead;
mod session;
mod steps;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[&steps::STEPS, &steps::SLOW_STEPS, &classes::CLASSES, &overhead::OVERHEAD];

//! Streams: how they share a line, back off, begin and wait.

mod bursts;
mod schedules;
mod shares;
mod synchronization;
mod waiting;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &shares::THREE_TO_ONE,
    &shares::FAMILIES,
    &synchronization::LOCK_STEP,
    &synchronization::DEEP_QUEUE,
    &schedules::REPEATED,
    &waiting::FIRST_SYN,
    &waiting::LOADED_UP,
    &waiting::ECN,
    &bursts::POWERBOOST,
    &bursts::STEADY,
];

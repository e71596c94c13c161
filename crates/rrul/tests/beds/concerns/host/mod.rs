//! The hosts: their queues, processors and privileges.

mod own_queue;
mod processor;
mod program;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &own_queue::OWN_QUEUE,
    &processor::STARVED,
    &processor::QUOTA,
    &processor::GIGABIT,
    &program::UNPRIVILEGED,
    &program::BUDGETS,
];

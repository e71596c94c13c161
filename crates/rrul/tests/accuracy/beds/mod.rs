//! The beds, in the order of docs/accuracy.md.

mod connections;
mod families;
mod processor;
mod queues;

use crate::Bed;

/// All of them.
pub(crate) const BEDS: &[Bed] = &[
    queues::FIFO,
    queues::STALLS,
    connections::FIRST_SYN,
    families::BLACKHOLE,
    families::HALF,
    processor::STARVED,
    processor::GIGABIT,
];

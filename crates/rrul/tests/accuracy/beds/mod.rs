//! The beds, in the order of docs/accuracy.md.

mod bursts;
mod classes;
mod families;
mod loss;
mod markings;
mod measurement_budget;
mod octets;
mod one_way;
mod page_correlation;
mod pages;
mod processor;
mod program;
mod queues;
mod schedules;
mod shares;
mod streams;
mod synchronization;
mod verdicts;
mod voice;

use crate::Bed;

/// All of them.
pub(crate) const BEDS: &[Bed] = &[
    queues::FIFO,
    queues::STEP,
    queues::STALLS,
    one_way::UP_ONLY,
    one_way::ASYMMETRIC,
    one_way::CLOCK_FAST,
    one_way::CLOCK_SLOW,
    loss::UP,
    loss::BOTH,
    loss::OUTAGE,
    voice::LATE,
    voice::RATED,
    markings::BLEACHED,
    markings::REWRITTEN,
    markings::SWAPPED,
    markings::DROPPED,
    markings::BLEACHED_ALL,
    markings::SWAPPED_UP,
    markings::DROPPED_UP,
    markings::MARKED,
    markings::MARKED_LOADED,
    classes::PRIORITY,
    measurement_budget::SLOW,
    measurement_budget::LINES,
    measurement_budget::WHOLE,
    octets::CLEAN,
    octets::ACKS_LOST,
    octets::DOWN_ACKS_LOST,
    octets::DATA_LOST,
    octets::DOWN_DATA_LOST,
    octets::ASYMMETRIC,
    octets::ASYMMETRIC_MANAGED,
    octets::LINK_LAYER,
    shares::THREE_TO_ONE,
    shares::FAMILIES,
    synchronization::LOCK_STEP,
    synchronization::DEEP_QUEUE,
    families::LISTS,
    families::BLACKHOLE,
    families::HALF,
    schedules::REPEATED,
    streams::FIRST_SYN,
    streams::LOADED_UP,
    streams::ECN,
    pages::BESIDE_LOAD,
    bursts::POWERBOOST,
    bursts::STEADY,
    verdicts::FILLED,
    verdicts::FAR,
    verdicts::LONG_PATH,
    verdicts::UDP_BLOCKED,
    verdicts::BUSY_BASELINE,
    verdicts::RATE_STEP,
    verdicts::NOT_FILLED,
    page_correlation::CORRELATION,
    processor::STARVED,
    processor::QUOTA,
    processor::GIGABIT,
    program::UNPRIVILEGED,
    program::BUDGETS,
];

//! The beds, in the order of docs/accuracy.md.

mod bursts;
mod classes;
mod connections;
mod families;
mod loss;
mod markings;
mod octets;
mod one_way;
mod processor;
mod queues;
mod shares;
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
    voice::LATE,
    markings::BLEACHED,
    markings::REWRITTEN,
    markings::SWAPPED,
    markings::DROPPED,
    markings::MARKED,
    classes::PRIORITY,
    octets::COUNTED,
    octets::ACKS_LOST,
    shares::THREE_TO_ONE,
    shares::FAMILIES,
    families::BLACKHOLE,
    families::HALF,
    connections::FIRST_SYN,
    bursts::POWERBOOST,
    bursts::STEADY,
    verdicts::FILLED,
    verdicts::FAR,
    verdicts::LONG_PATH,
    verdicts::UDP_BLOCKED,
    verdicts::BUSY_BASELINE,
    verdicts::RATE_STEP,
    verdicts::NOT_FILLED,
    processor::STARVED,
    processor::QUOTA,
    processor::GIGABIT,
];

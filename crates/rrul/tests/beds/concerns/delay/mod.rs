//! Delay: of links of every size, in queues of known depth, by direction, with clocks that run apart.

mod clocks;
mod links;
mod one_way;
mod queues;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &links::SLOW_LINK,
    &links::COMMON_LINK,
    &links::FAST_LINK,
    &links::MANAGED_LINK,
    &links::LINKS,
    &queues::FIFO,
    &queues::STEP,
    &queues::STALLS,
    &one_way::UP_ONLY,
    &one_way::ASYMMETRIC,
    &clocks::CLOCK_STEPS,
    &one_way::CLOCK_FAST,
    &one_way::CLOCK_SLOW,
];

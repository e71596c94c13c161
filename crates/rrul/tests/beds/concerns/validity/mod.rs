//! Whether a run is reported to be what it is.

mod families;
mod verdicts;

use crate::Bed;

/// The beds of this concern.
pub(crate) const BEDS: &[&Bed] = &[
    &families::LISTS,
    &families::BLACKHOLE,
    &families::HALF,
    &verdicts::FILLED,
    &verdicts::FAR,
    &verdicts::SECONDS_AWAY,
    &verdicts::STARVED_STREAMS,
    &verdicts::LONG_PATH,
    &verdicts::UDP_BLOCKED,
    &verdicts::BUSY_BASELINE,
    &verdicts::RATE_STEP,
    &verdicts::NOT_FILLED,
];

//! Proves what a search has found: one whole test with the shaper as it was, and one with the recommended rates.

use std::sync::atomic::{AtomicBool, Ordering};

use rrul_engine::client::RunOptions;
use rrul_model::shaping::ShaperRates;

use super::conductor::say_not_restored;
use super::shaper::Shaper;
use crate::failure::Failure;
use crate::measurement::{Measurement, measure};
use crate::progress::{Manner, Progress};
use crate::store::Writer;

/// Two tests, before and after.
pub(crate) struct Confirmation {
    /// With the shaper as it was found.
    pub(crate) as_found: Measurement,
    /// With the recommended rates; `None` when the user has stopped the first.
    pub(crate) recommended: Option<Measurement>,
}

/// Runs both tests in the calling thread's network namespace, the shaper being as it was found, and restores it.
///
/// # Errors
/// When a test cannot begin, or the shaper cannot be set or restored.
pub(crate) fn confirm(
    options: &RunOptions,
    rates: ShaperRates,
    shaper: &mut dyn Shaper,
    writers: [Writer; 2],
    stop: &AtomicBool,
) -> Result<Confirmation, Failure> {
    let [before, after] = writers;
    let as_found = match measure(options, before, Progress::new("as found", Manner::Line), stop) {
        Ok(measured) if !stop.load(Ordering::Relaxed) => measured,
        stopped => {
            after.discard();
            return Ok(Confirmation { as_found: stopped?, recommended: None });
        }
    };
    if let Err(error) = shaper.set(rates) {
        after.discard();
        // The failure to set it is returned; a shaper that stays changed is reported beside it.
        let _ = shaper.restore().inspect_err(|_| say_not_restored());
        return Err(error.into());
    }
    let recommended = measure(options, after, Progress::new("recommended", Manner::Line), stop);
    // However the test went; its own failure says more than that of restoring.
    let restored = shaper.restore().inspect_err(|_| say_not_restored());
    let recommended = Some(recommended?);
    restored?;
    Ok(Confirmation { as_found, recommended })
}

//! What a driver of shapers does; protecting against its own end is not its business.

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};

use super::restoration::Restoration;
use super::shaper::{ShaperError, ShaperState};

/// A shaper without protection: what is changed stays changed.
pub(crate) trait Changeable: Send {
    /// Returns what the shaper is, and what it was set to when it was found.
    fn describe(&self) -> &ShaperDescription;

    /// Whether it shapes this direction.
    fn has(&self, direction: Direction) -> bool;

    /// Reads its rates.
    fn read(&mut self) -> Result<ShaperState, ShaperError>;

    /// Sets the rates; they are in force when this returns. No rate is 0, and none is of a direction that it does not have.
    fn change(&mut self, rates: ShaperRates) -> Result<(), ShaperError>;

    /// Reads its counters; `None` if this driver has none.
    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError>;

    /// Returns how its state of now can be restored by another process. Asked for before the first change.
    fn restoration(&self) -> Restoration;

    /// Restores what it was when it was found, and makes sure of it.
    fn restore(&mut self) -> Result<(), ShaperError>;

    /// Makes the shaper's host restore it when this process is gone or cannot be reached, if it is another host.
    fn arm(&mut self, restoration: &Restoration) -> Result<(), ShaperError> {
        let _ = restoration;
        Ok(())
    }

    /// Ends [`Self::arm`].
    fn disarm(&mut self) -> Result<(), ShaperError> {
        Ok(())
    }

    /// Returns commands that set these rates until a restart, for people.
    fn commands(&self, rates: ShaperRates) -> Vec<String>;

    /// Returns commands that keep these rates, for people.
    fn lasting_commands(&self, rates: ShaperRates) -> Vec<String> {
        self.commands(rates)
    }

    /// Whether what is applied outlasts a restart of its host.
    fn is_lasting(&self) -> bool {
        false
    }

    /// Puts the rates in force, and writes them into the configuration where rrul knows it.
    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.change(rates)
    }
}

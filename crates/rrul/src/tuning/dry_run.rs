//! A shaper that is only read: what would be set is printed.

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};

use super::changeable::Changeable;
use super::shaper::{Shaper, ShaperError, ShaperState, refuse_zero};
use crate::live_screen::terminal;

/// A shaper that is only read.
pub(crate) struct DryRun(pub(crate) Box<dyn Changeable>);

impl Shaper for DryRun {
    fn describe(&self) -> &ShaperDescription {
        self.0.describe()
    }

    fn has(&self, direction: Direction) -> bool {
        self.0.has(direction)
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        self.0.read()
    }

    fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        refuse_zero(rates)?;
        for command in self.0.commands(rates) {
            terminal::say(&format!("not done (--dry-run): {command}"));
        }
        Ok(())
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        self.0.counters()
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        Ok(())
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        self.0.lasting_commands(rates)
    }

    fn is_lasting(&self) -> bool {
        self.0.is_lasting()
    }

    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        for command in self.0.lasting_commands(rates) {
            terminal::say(&format!("not done (--dry-run): {command}"));
        }
        Ok(())
    }
}

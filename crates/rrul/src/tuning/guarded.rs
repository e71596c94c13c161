//! A shaper that is restored whatever becomes of this process.
//!
//! Before the first change restoring is tried, and how to do it is written to the journal; then the shaper's host, if it is another one, and
//! a process on this host are made to restore it if this process does not.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};

use super::changeable::Changeable;
use super::conductor::say_not_restored;
use super::guard::Guard;
use super::journal::Journal;
use super::shaper::{Shaper, ShaperError, ShaperState, refuse_zero};
use crate::live_screen::terminal;

/// Before a change that failed is tried once more.
const PAUSE: Duration = Duration::from_secs(1);

/// A shaper that is restored whatever becomes of this process.
pub(crate) struct Guarded {
    shaper: Box<dyn Changeable>,
    journal: Journal,
    ssh: String,
    /// Watches while the shaper may be changed.
    guard: Option<Guard>,
}

impl Guarded {
    /// `journal` has no entry of an earlier session.
    pub(crate) fn new(shaper: Box<dyn Changeable>, journal: Journal, ssh: &str) -> Self {
        Self { shaper, journal, ssh: ssh.to_owned(), guard: None }
    }

    /// Makes sure that the shaper is restored, before it is changed.
    fn protect(&mut self) -> Result<(), ShaperError> {
        if let Some(guard) = &mut self.guard {
            if guard.watches() {
                return Ok(());
            }
            let reason = "the process that would restore it has been ended".to_owned();
            return Err(ShaperError::Refused { place: self.shaper.describe().target.clone(), reason });
        }
        // Without the right to do so, or with a command that does not work, it fails here, where nothing is changed yet.
        retry(|| self.shaper.restore())?;
        let restoration = self.shaper.restoration();
        self.journal.write(&restoration)?;
        let guard = Guard::start(&restoration, &self.journal, &self.ssh);
        let armed = guard.and_then(|guard| match self.shaper.arm(&restoration) {
            Ok(()) => Ok(guard),
            Err(error) => {
                guard.dismiss();
                Err(error)
            }
        });
        match armed {
            Ok(guard) => self.guard = Some(guard),
            Err(error) => {
                self.journal.clear()?;
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Tries once more what failed. A router under load may be slow to answer, and the session has minutes of measurements to lose.
fn retry(mut change: impl FnMut() -> Result<(), ShaperError>) -> Result<(), ShaperError> {
    change().or_else(|error| match error {
        ShaperError::Command { .. } | ShaperError::TimedOut { .. } => {
            terminal::say(&format!("rrul: {error}; trying once more"));
            std::thread::sleep(PAUSE);
            change()
        }
        other => Err(other),
    })
}

impl Shaper for Guarded {
    fn describe(&self) -> &ShaperDescription {
        self.shaper.describe()
    }

    fn has(&self, direction: Direction) -> bool {
        self.shaper.has(direction)
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        self.shaper.read()
    }

    fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        refuse_zero(rates)?;
        let missing = |direction: &Direction| rates.direction(*direction).is_some() && !self.has(*direction);
        if let Some(direction) = Direction::ALL.into_iter().find(missing) {
            return Err(ShaperError::NoDirection { place: self.describe().target.clone(), direction });
        }
        self.protect()?;
        retry(|| self.shaper.change(rates))
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        self.shaper.counters()
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        let Some(guard) = self.guard.take() else { return Ok(()) };
        // Should the driver have lost its connection, a new one may do. After that the guard, left alone, tries for a while.
        self.shaper.restore().or_else(|error| match error {
            // It answers, and has other rates than those that were restored.
            ShaperError::NotInForce { .. } => Err(error),
            _ => self.shaper.restoration().run(&self.ssh).map_err(|_| error),
        })?;
        // A host whose connection is lost restores the shaper once more, which changes nothing.
        let _ = self.shaper.disarm();
        guard.dismiss();
        self.journal.clear()
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        self.shaper.lasting_commands(rates)
    }

    fn is_lasting(&self) -> bool {
        self.shaper.is_lasting()
    }

    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        refuse_zero(rates)?;
        self.restore()?;
        self.shaper.apply(rates)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The journal stays if this fails, and the next session or `rrul tune --restore` tries again.
        let _ = self.restore().inspect_err(|_| say_not_restored());
    }
}

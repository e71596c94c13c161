//! A shaper that can be read, set while traffic goes on, and restored.

use std::io;
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};
use rrul_model::units::BitRate;

/// A shaper whose rates can be changed while traffic goes on.
///
/// Dropping one that was changed restores it.
pub(crate) trait Shaper: Send {
    /// Returns what the shaper is, and what it was set to when it was found.
    fn describe(&self) -> &ShaperDescription;

    /// Whether it shapes this direction.
    fn has(&self, direction: Direction) -> bool;

    /// Reads its rates.
    fn read(&mut self) -> Result<ShaperState, ShaperError>;

    /// Sets the rates of both directions; they are in force when this returns. `None` is without a limit. A direction that
    /// the shaper does not have must be `None`. Rate 0 is refused.
    fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError>;

    /// Reads its counters; `None` if this driver has none.
    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError>;

    /// Restores the state before the first change. Without a change it does nothing.
    fn restore(&mut self) -> Result<(), ShaperError>;

    /// Returns commands that keep these rates, for people to paste. Empty where none are known.
    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        let _ = rates;
        Vec::new()
    }

    /// Whether what is applied outlasts a restart of the shaper's host.
    fn is_lasting(&self) -> bool;

    /// Puts these rates in force, and writes them into the configuration of the shaper's host where rrul knows it. Only after the
    /// user has agreed.
    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError>;
}

/// The rates that a shaper has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShaperState {
    /// `None` if the driver cannot read them (`command`).
    pub(crate) rates: Option<ShaperRates>,
}

/// Why a shaper was not read, set or restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShaperError {
    #[error("{direction} rate 0 would stop all traffic; use a rate of 1 Mbit/s or more", direction = .0.name())]
    ZeroRate(Direction),
    #[error("{place} has no shaper for the {direction}", direction = .direction.select("upload", "download"))]
    NoDirection { place: String, direction: Direction },
    /// The present state is not understood, or must not be changed now.
    #[error("{place}: {reason}")]
    Refused { place: String, reason: String },
    #[error("{place}: `{command}` failed: {message}")]
    Command { place: String, command: String, message: String },
    #[error("{place}: `{command}` did not end within {}", humantime::format_duration(*.limit))]
    TimedOut { place: String, command: String, limit: Duration },
    /// The connection to the shaper's host is gone. The host restores the shaper itself.
    #[error("{place}: connection lost; the shaper restores itself within {} there", humantime::format_duration(*.within))]
    Lost { place: String, within: Duration },
    #[error("{place}: cannot connect: {message}")]
    Connect { place: String, message: String },
    #[error("{place}: {what} has an output that is not understood: {message}")]
    Output { place: String, what: String, message: String },
    #[error("{place}: {direction} is set to {set} but reads {read}", direction = .direction.name())]
    NotInForce { place: String, direction: Direction, set: BitRate, read: BitRate },
    #[error("{path}: {source}", path = .path.display())]
    Journal { path: std::path::PathBuf, source: io::Error },
    #[error("{place} is being tuned by process {process} already")]
    Busy { place: String, process: u32 },
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
}

/// Refuses rates of 0.
pub(crate) fn refuse_zero(rates: ShaperRates) -> Result<(), ShaperError> {
    match Direction::ALL.into_iter().find(|direction| rates.direction(*direction) == Some(BitRate(0))) {
        Some(direction) => Err(ShaperError::ZeroRate(direction)),
        None => Ok(()),
    }
}

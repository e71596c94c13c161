//! A monitor: light probes always, full tests at random times within a data budget.
//!
//! `rrul_monitor` decides; here is what carries it out.
//!
//! - [`setup`]: the file of a monitor, with everything that it names
//! - [`host`]: the clocks of this host
//! - [`line_traffic`]: what others send on the line
//! - [`link_lock`]: a monitor loads a line alone, or tests that people start do
//! - [`folder`]: recordings, summaries, state and journal on disk
//! - [`board`]: what the threads share: figures, switches
//! - [`prober`]: light probes, session after session
//! - [`full_test`]: one full test
//! - [`session`]: all of it, until a signal ends it

mod board;
mod folder;
mod full_test;
mod host;
mod line_traffic;
pub(crate) mod link_lock;
mod prober;
pub(crate) mod session;
pub(crate) mod setup;

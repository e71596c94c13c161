//! `rrul monitor FILE`: watch a line.

use crate::arguments::MonitorArguments;
use crate::failure::Failure;
use crate::interruption;
use crate::monitor::session;
use crate::monitor::setup::Setup;
use crate::outcome::Outcome;

pub(crate) fn execute(arguments: &MonitorArguments) -> Result<Outcome, Failure> {
    let setup = Setup::read(&arguments.file, arguments.output.as_deref())?;
    // Before it announces that it watches: from then on it can be asked to stop.
    let stop = interruption::flag();
    session::run(&setup, &arguments.file, stop)
}

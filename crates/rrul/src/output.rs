//! Files that a command writes for the user.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use rrul_model::printable;
use serde::Serialize;

use crate::failure::{ContentError, Failure};

/// Prints a line to stdout that may contain names of others. A reader that has gone is no reason to stop.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{}", printable::message(&line.to_string()));
}

/// Prints this as JSON to stdout, in which names of others steer no terminal.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    println!("{}", printable::json(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Writes a file, over another one only where that is asked for.
pub(crate) fn write(path: &Path, octets: &[u8], overwrite: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    let options = if overwrite { options.create(true).truncate(true) } else { options.create_new(true) };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::content(path, ContentError::Exists),
        _ => Failure::output(path)(error),
    })?;
    file.write_all(octets).map_err(Failure::output(path))
}

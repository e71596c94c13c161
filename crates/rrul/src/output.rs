//! Files that a command writes for the user.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::failure::{ContentError, Failure};

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

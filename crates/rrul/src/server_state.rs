//! What a server keeps while it does not run: what each network has used of its quota.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rrul_engine::server::{Quota, QuotaLimits};

use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;

/// How often it is written.
const INTERVAL: Duration = Duration::from_mins(1);

/// The quota of a server, and the file that it is kept in.
pub(crate) struct ServerState {
    path: Option<PathBuf>,
    quota: Arc<Mutex<Quota>>,
    written: Instant,
    /// Whether a failure to write has been reported.
    has_complained: bool,
}

impl ServerState {
    /// Reads what a server before this one has kept; without a file nothing is used.
    pub(crate) fn read(path: Option<PathBuf>, limits: QuotaLimits) -> Result<Self, Failure> {
        let quota = match path.as_deref().map(|path| (path, fs::read_to_string(path))) {
            None => Quota::new(limits),
            Some((_, Err(error))) if error.kind() == io::ErrorKind::NotFound => Quota::new(limits),
            Some((path, Err(error))) => return Err(Failure::file(path)(error)),
            Some((path, Ok(json))) => Quota::from_json(limits, &json).map_err(|error| {
                Failure::content(path, ContentError::Configuration(format!("no state of a server: {error}")))
            })?,
        };
        let quota = Arc::new(Mutex::new(quota));
        Ok(Self { path, quota, written: Instant::now(), has_complained: false })
    }

    pub(crate) fn quota(&self) -> Arc<Mutex<Quota>> {
        Arc::clone(&self.quota)
    }

    /// Changes what networks may use.
    pub(crate) fn set_limits(&self, limits: QuotaLimits) {
        self.quota.lock().unwrap_or_else(PoisonError::into_inner).set_limits(limits);
    }

    /// Writes it when it is time.
    pub(crate) fn write_now_and_then(&mut self) {
        if self.written.elapsed() >= INTERVAL {
            self.write();
        }
    }

    /// Writes it. A server whose state cannot be written goes on serving.
    pub(crate) fn write(&mut self) {
        self.written = Instant::now();
        let Some(path) = &self.path else { return };
        let json = self.quota.lock().unwrap_or_else(PoisonError::into_inner).to_json();
        let written = json.map_err(io::Error::other).and_then(|json| replace(path, &json));
        if let Err(error) = written
            && !self.has_complained
        {
            self.has_complained = true;
            terminal::say(&format!("rrul: {}: {error}; quotas are forgotten when the server ends", path.display()));
        }
    }
}

/// Tries whether a state can be written to this file, which stays as it is.
#[cfg(feature = "check")]
pub(crate) fn try_writing(path: &Path) -> io::Result<()> {
    let mut trial = path.as_os_str().to_owned();
    trial.push(".check");
    fs::write(&trial, "")?;
    fs::remove_file(&trial)
}

/// Replaces the content of a file in one step: at no time is half of it there.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

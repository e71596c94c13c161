//! What a monitor keeps on disk.
//!
//! `state.json`: what it must know after a restart, replaced in one step. `recordings`: a ring. `summaries`: one JSON file a test,
//! which stay. `runs.jsonl`: one line for each test that was due.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rrul_model::units::ByteCount;
use rrul_monitor::outcome::RunOutcome;
use rrul_monitor::ring::{Ring, Stored};
use rrul_monitor::watch::State;
use serde::Serialize;

use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;

/// Room that is made for the first recording.
const UNKNOWN_RECORDING: ByteCount = ByteCount(4_000_000);

/// Whether a file must be on the disk before the program goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// It outlives the process.
    Process,
    /// It outlives a power failure.
    Power,
}

/// The folder of a monitor, which no other one uses.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    ring: Ring,
    /// Locked while the monitor runs.
    _lock: File,
    /// Whether a failure to write has been reported.
    has_complained: bool,
}

/// A line of `runs.jsonl`.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    /// When it was due or began, RFC 3339, UTC.
    pub(super) at: &'a str,
    pub(super) outcome: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) recording: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) octets: Option<u64>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(at: &'a str, outcome: &RunOutcome) -> Self {
        let text = match outcome {
            RunOutcome::Ran => None,
            RunOutcome::Skipped(reason) => Some(reason.to_string()),
            RunOutcome::Failed(reason) => Some(reason.to_string()),
        };
        Self { at, outcome: outcome.name(), reason: outcome.reason(), text, recording: None, octets: None }
    }
}

impl Folder {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// When it cannot be written to, or another monitor uses it.
    pub(super) fn open(path: PathBuf, ring: Ring) -> Result<Self, Failure> {
        for folder in [path.clone(), path.join("recordings"), path.join("summaries")] {
            fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
        }
        let lock = path.join("lock");
        let file = File::options().write(true).create(true).truncate(false).open(&lock);
        let file = file.map_err(Failure::file(&lock))?;
        if file.try_lock().is_err() {
            return Err(Failure::content(&path, ContentError::FolderInUse));
        }
        Ok(Self { path, ring, _lock: file, has_complained: false })
    }

    fn state_path(&self) -> PathBuf {
        self.path.join("state.json")
    }

    /// What a monitor before this one has saved.
    pub(super) fn state(&self) -> Result<Option<State>, Failure> {
        let path = self.state_path();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(Failure::file(&path))?,
        };
        let wrong = |error: serde_json::Error| {
            let problem = format!("no state of a monitor ({error}); remove it to begin anew, with an unused budget");
            Failure::content(&path, ContentError::Configuration(problem))
        };
        serde_json::from_str(&text).map(Some).map_err(wrong)
    }

    /// Saves the state. A monitor whose disk is full goes on, and says so once.
    pub(super) fn save(&mut self, state: &State, durability: Durability) {
        let path = self.state_path();
        let written =
            serde_json::to_string(state).map_err(io::Error::other).and_then(|text| replace(&path, &text, durability));
        self.complain(&path, written);
    }

    /// Appends a line to the journal of tests.
    pub(super) fn note(&mut self, entry: &Entry<'_>) {
        let path = self.path.join("runs.jsonl");
        let append = || {
            let line = serde_json::to_string(entry)? + "\n";
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(line.as_bytes())
        };
        let written = append();
        self.complain(&path, written);
    }

    /// Keeps the summary of a test.
    pub(super) fn keep_summary(&mut self, name: &str, json: &str) {
        let path = self.path.join("summaries").join(format!("{name}.json"));
        let written = replace(&path, json, Durability::Process);
        self.complain(&path, written);
    }

    /// The path of a recording.
    pub(super) fn recording(&self, name: &str) -> PathBuf {
        self.path.join("recordings").join(format!("{name}.rrul"))
    }

    /// Removes recordings so that one as large as the largest has room.
    pub(super) fn make_room(&mut self) {
        let stored = self.stored();
        let largest = stored.iter().map(|one| one.octets).max().unwrap_or(UNKNOWN_RECORDING);
        self.remove(&stored, largest);
    }

    /// Removes recordings that are too many or too old.
    pub(super) fn turn_ring(&mut self) {
        let stored = self.stored();
        self.remove(&stored, ByteCount(0));
    }

    fn remove(&mut self, stored: &[Stored], room: ByteCount) {
        for name in self.ring.to_remove(stored, room, super::host::wall_seconds()) {
            let path = self.path.join("recordings").join(name);
            let removed = fs::remove_file(&path);
            self.complain(&path, removed);
        }
    }

    /// All recordings, and what was left of one in the middle of which the monitor ended. The one that is being written is the
    /// youngest, and so the last to go.
    fn stored(&self) -> Vec<Stored> {
        let Ok(entries) = fs::read_dir(self.path.join("recordings")) else { return Vec::new() };
        let stored = |entry: fs::DirEntry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let name = entry.file_name().into_string().ok()?;
            let whole = name.strip_suffix(".part").unwrap_or(&name);
            let is_recording = Path::new(whole).extension().is_some_and(|ending| ending == "rrul");
            is_recording.then(|| Stored { name, octets: ByteCount(metadata.len()), written_s: metadata.mtime() })
        };
        entries.flatten().filter_map(stored).collect()
    }

    fn complain(&mut self, path: &Path, outcome: io::Result<()>) {
        if let Err(error) = outcome
            && !self.has_complained
        {
            self.has_complained = true;
            terminal::say(&format!("rrul: {}: {error}; the monitor goes on", path.display()));
        }
    }
}

/// Replaces the content of a file in one step: at no time is half of it there.
pub(super) fn replace(path: &Path, text: &str, durability: Durability) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    if durability == Durability::Power {
        file.sync_data()?;
    }
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_folder_is_of_one_monitor_and_never_over_its_quota() {
        let path = std::env::temp_dir().join(format!("rrul-monitor-{}", std::process::id()));
        let ring = Ring { size: ByteCount(100), age: Duration::from_hours(1) };
        let mut folder = Folder::open(path.clone(), ring).unwrap();
        let error = Folder::open(path.clone(), ring).unwrap_err().to_string();
        assert!(error.contains("another monitor"), "{error}");
        for name in ["a", "b", "c"] {
            fs::write(folder.recording(name), [0; 40]).unwrap();
            folder.turn_ring();
            assert!(folder.stored().iter().map(|one| one.octets.0).sum::<u64>() <= 100);
        }
        assert_eq!(folder.stored().len(), 2);
        folder.make_room();
        assert_eq!(folder.stored().len(), 1);
        folder.keep_summary("a", "{}");
        folder.note(&Entry::new("2026-01-01T00:00:00Z", &RunOutcome::Ran));
        assert_eq!(fs::read_to_string(path.join("summaries/a.json")).unwrap(), "{}");
        let lines = fs::read_to_string(path.join("runs.jsonl")).unwrap();
        assert_eq!(lines, "{\"at\":\"2026-01-01T00:00:00Z\",\"outcome\":\"ran\"}\n");
        fs::write(path.join("state.json"), "{").unwrap();
        let error = folder.state().unwrap_err().to_string();
        assert!(error.contains("remove it to begin anew"), "{error}");
        fs::remove_dir_all(path).unwrap();
    }
}

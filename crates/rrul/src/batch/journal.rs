//! What of a batch has been run: one JSON line a turn, written when it is over, so that a batch can be taken up again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::BatchError;
use crate::failure::Failure;

/// The journal's name in the batch's folder.
const JOURNAL: &str = "batch.jsonl";
/// The name of the copy of the batch file there.
const COPY: &str = "batch.toml";
/// Where what an interrupted turn has left behind is put.
const INTERRUPTED: &str = "interrupted";

/// One turn, as it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) turn: String,
    pub(crate) about: String,
    /// When it began and ended, RFC 3339, UTC.
    pub(crate) started: String,
    pub(crate) ended: String,
    /// The recordings, by their names in the folder.
    pub(crate) recordings: Vec<String>,
    /// What went wrong; a turn with any other entry is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
}

/// The folder of a batch.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    entries: Vec<Entry>,
}

impl Journal {
    /// Opens the folder of a batch, or makes it.
    ///
    /// # Errors
    /// When it cannot be written to, or belongs to a batch of another text.
    pub(crate) fn open(folder: &Path, text: &str) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(Failure::output(folder))?;
        let copy = folder.join(COPY);
        match fs::read_to_string(&copy) {
            Ok(before) if before == text => {}
            Ok(_) => {
                return Err(BatchError::OtherResults { folder: folder.to_owned(), copy }.into());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::write(&copy, text).map_err(Failure::output(&copy))?;
            }
            Err(error) => return Err(Failure::output(&copy)(error)),
        }
        let path = folder.join(JOURNAL);
        let lines = match fs::read_to_string(&path) {
            Ok(lines) => lines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::file(&path)(error)),
        };
        // A line that was cut short belongs to a turn that will be run again.
        let entries = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { folder: folder.to_owned(), entries })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The turn of this name, if it has been run well and its recordings are there.
    pub(crate) fn done(&self, turn: &str) -> Option<&Entry> {
        let last = self.entries.iter().rfind(|entry| entry.turn == turn)?;
        let there = last.recordings.iter().all(|name| self.folder.join(name).is_file());
        (last.failure.is_none() && there).then_some(last)
    }

    pub(crate) fn note(&mut self, entry: Entry) -> Result<(), Failure> {
        let path = self.folder.join(JOURNAL);
        let line = serde_json::to_string(&entry)?;
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(Failure::output(&path))?;
        // After a line that was cut short this one begins anew.
        let begun = fs::read(&path).is_ok_and(|octets| octets.last().is_some_and(|last| *last != b'\n'));
        let line = if begun { format!("\n{line}\n") } else { format!("{line}\n") };
        file.write_all(line.as_bytes()).map_err(Failure::output(&path))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Clears the way for a turn: what an earlier one of this name has left behind is put aside, never removed.
    pub(crate) fn clear(&self, names: &[String]) -> Result<(), Failure> {
        for name in names {
            for ending in ["", ".part"] {
                let path = self.folder.join(format!("{name}{ending}"));
                if path.exists() {
                    self.put_aside(&path)?;
                }
            }
        }
        Ok(())
    }

    fn put_aside(&self, path: &Path) -> Result<(), Failure> {
        let aside = self.folder.join(INTERRUPTED);
        fs::create_dir_all(&aside).map_err(Failure::output(&aside))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut number = 1;
        let mut target = aside.join(format!("{number}-{name}"));
        while target.exists() {
            number += 1;
            target = aside.join(format!("{number}-{name}"));
        }
        fs::rename(path, &target).map_err(Failure::output(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(turn: &str, failure: Option<&str>) -> Entry {
        Entry {
            turn: turn.to_owned(),
            about: String::new(),
            started: String::new(),
            ended: String::new(),
            recordings: vec![format!("{turn}.rrul")],
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn a_batch_is_taken_up_where_it_was_left_and_nothing_is_lost() {
        let folder = std::env::temp_dir().join(format!("rrul-journal-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut journal = Journal::open(&folder, "text").unwrap();
        fs::write(folder.join("a-1.rrul"), "x").unwrap();
        journal.note(entry("a-1", None)).unwrap();
        journal.note(entry("b-1", Some("refused"))).unwrap();
        journal.note(entry("c-1", None)).unwrap();
        // Killed in the middle of a line.
        let path = folder.join(JOURNAL);
        let mut lines = fs::read_to_string(&path).unwrap();
        lines.push_str("{\"turn\":\"d-");
        fs::write(&path, lines).unwrap();
        let mut journal = Journal::open(&folder, "text").unwrap();
        assert!(journal.done("a-1").is_some());
        assert!(journal.done("b-1").is_none(), "it failed");
        assert!(journal.done("c-1").is_none(), "its recording is gone");
        assert!(journal.done("d-1").is_none());
        journal.note(entry("a-2", None)).unwrap();
        fs::write(folder.join("a-2.rrul"), "y").unwrap();
        assert!(Journal::open(&folder, "text").unwrap().done("a-2").is_some());
        // Left behind by a kill.
        fs::write(folder.join("d-1.rrul.part"), "z").unwrap();
        journal.clear(&["d-1.rrul".to_owned()]).unwrap();
        assert_eq!(fs::read_to_string(folder.join("interrupted/1-d-1.rrul.part")).unwrap(), "z");
        let error = Journal::open(&folder, "other").unwrap_err().to_string();
        assert!(error.contains("another batch"), "{error}");
        fs::remove_dir_all(&folder).unwrap();
    }
}

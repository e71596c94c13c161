//! Folders of tests, and the program in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rrul_archive::{Archive, synthetic};
use serde_json::Value;

/// A folder of its own, gone with the value, and the environment of commands in it.
pub(crate) struct Folder(pub(crate) PathBuf, pub(crate) Vec<(&'static str, String)>);

impl Folder {
    /// A folder with two recordings in `recordings`.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Self::empty(name);
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/recordings");
        std::fs::create_dir_all(folder.0.join("recordings/below")).unwrap();
        std::fs::copy(recordings.join("before.rrul"), folder.0.join("recordings/before.rrul")).unwrap();
        std::fs::copy(recordings.join("after.rrul"), folder.0.join("recordings/below/after.rrul")).unwrap();
        folder
    }

    /// A folder with so many synthetic runs in the archive `runs`.
    pub(crate) fn with_runs(name: &str, seed: u64, runs: u64) -> Self {
        let folder = Self::empty(name);
        synthetic::write(&Archive::create(&folder.0.join("runs")).unwrap(), seed, runs).unwrap();
        folder
    }

    fn empty(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rrul-archive-command-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path, Vec::new())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rrul"));
        command.args(arguments).current_dir(&self.0).envs(self.1.iter().cloned());
        command
    }

    fn rrul(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What the program printed, and its errors; it ended with this code.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.rrul(arguments);
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {} {}",
            text(&output.stdout),
            text(&output.stderr)
        );
        (text(&output.stdout), text(&output.stderr))
    }

    /// The answer to a question to the archive `runs`, with these options.
    #[track_caller]
    pub(crate) fn answer(&self, question: &str, options: &[&str]) -> Value {
        let (printed, _) =
            self.ends(0, &[&["archive", "query", "runs", question, "--format", "json"], options].concat());
        serde_json::from_str(&printed).unwrap()
    }

    /// The only number of an answer of one row and one column.
    #[track_caller]
    pub(crate) fn number(&self, question: &str, options: &[&str]) -> i64 {
        let answer = self.answer(question, options);
        let row = answer["rows"][0].as_object().unwrap();
        assert_eq!((answer["rows"].as_array().unwrap().len(), row.len()), (1, 1), "{answer}");
        row.values().next().unwrap().as_i64().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Notes, as CONTRIBUTING.md asks, that a test cannot run on this machine.
pub(crate) fn skipped(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RRUL_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        std::io::Write::write_all(&mut file.unwrap(), line.as_bytes()).unwrap();
    }
}

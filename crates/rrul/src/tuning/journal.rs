//! The journal: how a shaper is restored, on disk before it is changed for the first time.
//!
//! `NAME.json` exists while a shaper may be changed; a session that finds one of an earlier session restores that shaper
//! first. `NAME.lock` is locked while a session may change it. Its process guard has the lock as well, so a session begins
//! only after that has restored what a killed session left.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rrul_model::random::fnv1a;

use super::restoration::Restoration;
use super::shaper::ShaperError;

const ENTRY: &str = "json";
const LOCK: &str = "lock";
const UNFINISHED: &str = "new";

/// How long a session waits for the guard of one that has died.
const GUARD_TIME: Duration = Duration::from_secs(10);
/// The same for a session of this process.
const OWN_GUARD_TIME: Duration = Duration::from_secs(1);
const LOOKING: Duration = Duration::from_millis(50);

/// Returns the folder of journals: `$XDG_STATE_HOME/rrul/tune`; without it `/var/lib/rrul/tune` for root and
/// `~/.local/state/rrul/tune` for others.
pub(crate) fn default_folder() -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let root = || rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/lib"));
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    variable("XDG_STATE_HOME").or_else(root).or_else(home).unwrap_or_else(std::env::temp_dir).join("rrul/tune")
}

/// The place of one shaper's journal, locked by this session.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    name: String,
    lock: File,
}

impl Journal {
    /// Locks the journal of the shaper with this key. What an earlier session left is still there; see [`Self::stale`].
    pub(crate) fn lock(folder: &Path, key: &str) -> Result<Self, ShaperError> {
        let failed = |source| ShaperError::Journal { path: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        fs::metadata(folder).and_then(|folder| trusted(&folder)).map_err(failed)?;
        Self::lock_name(folder, &file_name(key), key)
    }

    fn lock_name(folder: &Path, name: &str, place: &str) -> Result<Self, ShaperError> {
        let path = folder.join(name).with_extension(LOCK);
        let failed = |source| ShaperError::Journal { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut lock = options.open(&path).map_err(failed)?;
        let began = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) => {
                    let process = holder(&mut lock);
                    let patience = match process {
                        own if own == std::process::id() => OWN_GUARD_TIME,
                        _ if lives(process) => Duration::ZERO,
                        _ => GUARD_TIME,
                    };
                    if began.elapsed() >= patience {
                        return Err(ShaperError::Busy { place: place.to_owned(), process });
                    }
                    thread::sleep(LOOKING);
                }
            }
        }
        let mut write = || {
            lock.set_len(0)?;
            lock.rewind()?;
            write!(lock, "{}", std::process::id())
        };
        write().map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), name: name.to_owned(), lock })
    }

    /// Returns another handle of the lock: it lasts until both are closed, in whatever process.
    pub(crate) fn share_lock(&self) -> Result<File, ShaperError> {
        self.lock.try_clone().map_err(self.failed())
    }

    /// Where the entry is.
    pub(crate) fn path(&self) -> PathBuf {
        self.with(ENTRY)
    }

    fn with(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    fn failed(&self) -> impl FnOnce(io::Error) -> ShaperError {
        let path = self.path();
        move |source| ShaperError::Journal { path, source }
    }

    /// Reads what a session that did not end properly has left.
    pub(crate) fn stale(&self) -> Result<Option<Restoration>, ShaperError> {
        let read = || {
            let mut file = File::open(self.path())?;
            trusted(&file.metadata()?)?;
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        };
        let text = match read() {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed()(error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| self.failed()(error.into()))
    }

    /// Writes the entry; it is on disk when this returns.
    pub(crate) fn write(&self, restoration: &Restoration) -> Result<(), ShaperError> {
        let unfinished = self.with(UNFINISHED);
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            let text = serde_json::to_string_pretty(restoration)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, self.path())?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            self.failed()(error)
        })
    }

    /// Removes the entry: nothing is to be restored.
    pub(crate) fn clear(&self) -> Result<(), ShaperError> {
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed()(error)),
            _ => Ok(()),
        }
    }
}

/// Restores every shaper that sessions have left changed; returns their titles. One that is being tuned is an error.
pub(crate) fn restore_all(folder: &Path, ssh: &str) -> Result<Vec<String>, ShaperError> {
    let failed = |source| ShaperError::Journal { path: folder.to_owned(), source };
    let read = || {
        trusted(&fs::metadata(folder)?)?;
        fs::read_dir(folder)
    };
    let entries = match read() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == ENTRY) {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let mut restored = Vec::new();
    let mut first_error = None;
    for name in names {
        // One that cannot be restored does not keep the others from it.
        match restore_one(folder, &name, ssh) {
            Ok(title) => restored.extend(title),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    first_error.map_or(Ok(restored), Err)
}

/// Whoever writes a journal has this user run commands: it must be this user, or root.
fn trusted(metadata: &Metadata) -> io::Result<()> {
    if [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid()) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it belongs to another user; look at what it says, then remove it",
    ))
}

fn restore_one(folder: &Path, name: &str, ssh: &str) -> Result<Option<String>, ShaperError> {
    let journal = Journal::lock_name(folder, name, name)?;
    let Some(restoration) = journal.stale()? else { return Ok(None) };
    restoration.run(ssh)?;
    journal.clear()?;
    Ok(Some(restoration.title))
}

/// The process that has locked a file, by its own word; 0 if it has not written it yet.
fn holder(lock: &mut File) -> u32 {
    let mut text = String::new();
    let read = lock.rewind().and_then(|()| lock.read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// Whether a process has not ended. One that has, and whose parent has not taken notice yet, has no words left.
fn lives(process: u32) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|words| !words.is_empty())
}

/// The name of the file for this key: a readable part, and a hash so that no two keys share one.
fn file_name(key: &str) -> String {
    const READABLE: usize = 60;
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let readable: String = key.chars().map(plain).take(READABLE).collect();
    format!("{readable}-{:016x}", fnv1a(key.bytes()))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;

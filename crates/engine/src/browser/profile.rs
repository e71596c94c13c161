//! The folder of one browser: an empty profile, everything else that it writes, and what it says on stderr.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rrul_model::printable::is_unprintable;

const PREFIX: &str = "rrul-browser-";
const LOCK: &str = "lock";
const OUTPUT: &str = "stderr";

/// A folder that has been unlocked for this long was left behind by a program that was killed. Younger ones are let be:
/// their owner may just be about to lock them.
const LEFT_BEHIND: Duration = Duration::from_mins(1);

/// How often it is tried to remove a folder, and how long it is waited in between.
const REMOVALS: u32 = 10;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(50);

/// Length of a browser's last output that is reported, in characters.
const WORDS: usize = 200;

/// A folder under the system's folder for temporary files; gone with the value.
pub(super) struct Profile {
    folder: PathBuf,
    /// Held as long as the folder is in use.
    _lock: File,
}

impl Profile {
    /// Makes an empty folder that only this user can read, and removes those that were left behind.
    pub(super) fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = std::env::temp_dir();
        remove_left_behind(&parent);
        loop {
            let name = format!("{PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let folder = parent.join(name);
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let lock = File::create_new(folder.join(LOCK))?;
                    lock.try_lock()?;
                    return Ok(Self { folder, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file for what the browser says on stderr.
    pub(super) fn output(&self) -> io::Result<Stdio> {
        Ok(File::create(self.folder.join(OUTPUT))?.into())
    }

    /// What the browser said last, or why it gave up if it said that.
    pub(super) fn last_words(&self) -> Option<String> {
        let text = fs::read(self.folder.join(OUTPUT)).ok()?;
        last_words(&String::from_utf8_lossy(&text))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        // A helper of the browser's may write its last while we remove; what stays is removed by a later run.
        for _ in 0..REMOVALS {
            if fs::remove_dir_all(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(BETWEEN_REMOVALS);
        }
    }
}

fn last_words(text: &str) -> Option<String> {
    let lines = || text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.contains(":FATAL:")).or_else(|| lines().next())?;
    // "[PID:TID:DATE:FATAL:file.cc:1] Why."
    let words = line.strip_prefix('[').and_then(|line| line.split_once("] ")).map_or(line, |(_, words)| words);
    Some(words.chars().filter(|character| !is_unprintable(*character)).take(WORDS).collect())
}

/// Removes this user's folders whose owner was killed.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if !named || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        let age = |lock: &File| lock.metadata().ok()?.modified().ok()?.elapsed().ok();
        let mine = lock.metadata().is_ok_and(|data| fs::metadata("/proc/self").is_ok_and(|me| me.uid() == data.uid()));
        if mine && age(&lock).is_some_and(|age| age > LEFT_BEHIND) && lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_profile_is_private_and_gone_with_its_value() {
        let profile = Profile::new().unwrap();
        let folder = profile.folder().to_owned();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        fs::create_dir(folder.join("Default")).unwrap();
        fs::write(folder.join("Default/Cookies"), "x").unwrap();
        drop(profile);
        assert!(!folder.exists());
    }

    #[test]
    fn what_a_killed_program_left_behind_is_removed_and_what_is_in_use_is_not() {
        let parent = std::env::temp_dir().join(format!("rrul-profile-test-{}", std::process::id()));
        let make = |name: &str, age: Duration| {
            let folder = parent.join(name);
            fs::create_dir_all(&folder).unwrap();
            let lock = File::create(folder.join(LOCK)).unwrap();
            lock.set_modified(SystemTime::now() - age).unwrap();
            (folder, lock)
        };
        let old = LEFT_BEHIND * 2;
        let (left, _) = make("rrul-browser-1-0", old);
        let (used, lock) = make("rrul-browser-2-0", old);
        lock.try_lock().unwrap();
        let (young, _) = make("rrul-browser-3-0", Duration::ZERO);
        let (other, _) = make("another-1-0", old);
        remove_left_behind(&parent);
        let there = [&left, &used, &young, &other].map(|folder| folder.exists());
        fs::remove_dir_all(&parent).unwrap();
        assert_eq!(there, [false, true, true, true]);
    }

    #[test]
    fn last_words_are_the_fatal_ones_or_the_last() {
        let text =
            "[1:1:0101/000000.0:FATAL:sandbox.cc:99] No usable sandbox!\n[1:2:0101/000000.1:ERROR:bus.cc:4] no bus\n\n";
        assert_eq!(last_words(text).as_deref(), Some("No usable sandbox!"));
        assert_eq!(last_words("sh: 1: exec: /x: not found\n").as_deref(), Some("sh: 1: exec: /x: not found"));
        assert_eq!(last_words("\n"), None);
    }
}

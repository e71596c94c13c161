//! Journals in folders of their own.

use std::process::{Command, Stdio};

use super::*;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rrul-journal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn restoration(script: &str) -> Restoration {
    Restoration { title: "a shaper".to_owned(), host: None, script: script.to_owned() }
}

#[test]
fn an_entry_is_read_by_the_next_session_and_then_gone() {
    let folder = Folder::new("entry");
    let journal = Journal::lock(&folder.0, "here").unwrap();
    assert_eq!(journal.stale().unwrap(), None);
    let entry = restoration("true");
    journal.write(&entry).unwrap();
    drop(journal);
    let next = Journal::lock(&folder.0, "here").unwrap();
    assert_eq!(next.stale().unwrap(), Some(entry));
    next.clear().unwrap();
    assert_eq!(next.stale().unwrap(), None);
    next.clear().unwrap();
}

#[test]
fn one_session_at_a_time_has_a_shaper_and_others_know_by_which_process() {
    let folder = Folder::new("busy");
    let first = Journal::lock(&folder.0, "here").unwrap();
    let error = Journal::lock(&folder.0, "here").unwrap_err();
    assert!(matches!(&error, ShaperError::Busy { process, .. } if *process == std::process::id()), "{error}");
    let _other = Journal::lock(&folder.0, "there").unwrap();
    drop(first);
    Journal::lock(&folder.0, "here").unwrap();
}

#[test]
fn the_guard_of_a_killed_session_is_waited_for_though_its_parent_has_not_taken_notice() {
    let folder = Folder::new("ended");
    let guard = Journal::lock(&folder.0, "here").unwrap();
    let mut killed = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    // The end of its output: a process that only begins has no words either, for a moment.
    io::copy(&mut killed.stdout.take().unwrap(), &mut io::sink()).unwrap();
    assert!(!lives(killed.id()));
    assert!(Path::new(&format!("/proc/{}", killed.id())).exists());
    fs::write(guard.with(LOCK), killed.id().to_string()).unwrap();
    let restoring = thread::spawn(move || {
        thread::sleep(5 * LOOKING);
        drop(guard);
    });
    Journal::lock(&folder.0, "here").unwrap();
    restoring.join().unwrap();
    killed.wait().unwrap();
}

#[test]
fn all_that_was_left_is_restored_and_what_fails_stays_in_the_journal() {
    let folder = Folder::new("all");
    assert_eq!(restore_all(&folder.0, "ssh").unwrap(), Vec::<String>::new());
    let mark = folder.0.join("mark");
    for (key, script) in [("one", "exit 3".to_owned()), ("two", format!("echo restored > {}", mark.display()))] {
        Journal::lock(&folder.0, key).unwrap().write(&restoration(&script)).unwrap();
    }
    let said = restore_all(&folder.0, "ssh").unwrap_err().to_string();
    assert!(said.contains("exit code 3"), "{said}");
    assert_eq!(fs::read_to_string(&mark).unwrap(), "restored\n");
    let stale = |key| Journal::lock(&folder.0, key).unwrap().stale().unwrap().is_some();
    assert_eq!((stale("one"), stale("two")), (true, false));
}

#[test]
fn keys_that_look_alike_have_entries_of_their_own() {
    assert_ne!(file_name("root@a"), file_name("root-a"));
    assert!(file_name("command ../../x").chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
}

/// Root's own journals are in a folder that no other user may write; a user without rights cannot give a file to another one.
#[test]
fn a_journal_of_another_user_runs_nothing() {
    let folder = Folder::new("foreign");
    let mark = folder.0.join("mark");
    Journal::lock(&folder.0, "here").unwrap().write(&restoration(&format!("touch {}", mark.display()))).unwrap();
    let refused = |error: ShaperError| assert!(error.to_string().contains("belongs to another user"), "{error}");
    let entry = Journal::lock(&folder.0, "here").unwrap().path();
    let give = |path: &Path, user| std::os::unix::fs::chown(path, Some(user), None);
    if !rustix::process::geteuid().is_root() {
        assert!(give(&entry, 0).is_err());
        return;
    }
    give(&entry, 65_534).unwrap();
    refused(Journal::lock(&folder.0, "here").unwrap().stale().unwrap_err());
    refused(restore_all(&folder.0, "ssh").unwrap_err());
    give(&entry, 0).unwrap();
    give(&folder.0, 65_534).unwrap();
    refused(restore_all(&folder.0, "ssh").unwrap_err());
    refused(Journal::lock(&folder.0, "here").unwrap_err());
    assert!(!mark.exists());
    give(&folder.0, 0).unwrap();
    assert_eq!(restore_all(&folder.0, "ssh").unwrap(), ["a shaper"]);
    assert!(mark.exists());
}

//! `kill -9` while runs are added, or files compacted: no half file can be read, and no row is there twice.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rrul_archive::checking::{Checked, Problem};
use rrul_archive::synthetic;
use rrul_archive::{Archive, Writer};
use rrul_model::random::Random;

use crate::scratch::Scratch;

/// Set for the process that is killed: the folder of the archive.
const FOLDER: &str = "RRUL_ARCHIVE_KILLED";
const RUNS: u64 = 300;
const KILLS: u64 = 25;

/// What is killed. Not a test by itself.
#[test]
fn worker() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut writer = Writer::new(Archive::create(&folder).unwrap()).unwrap();
    loop {
        for index in 0..RUNS {
            writer.add(&synthetic::run(7, index)).unwrap();
            if index % 50 == 49 {
                writer.compact(|_| ()).unwrap();
            }
        }
    }
}

fn killed_after(folder: &Path, time: Duration) {
    let mut worker = Command::new(std::env::current_exe().unwrap());
    worker.args(["killed::worker", "--exact", "--test-threads=1"]).env(FOLDER, folder);
    let mut worker = worker.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    worker.kill().unwrap();
    worker.wait().unwrap();
}

fn checked(folder: &Path) -> Checked {
    Archive::open(folder).unwrap().check().unwrap()
}

#[test]
fn what_is_killed_leaves_whole_files_and_no_row_twice() {
    let scratch = Scratch::new();
    Archive::create(scratch.path()).unwrap();
    let mut numbers = Random(RUNS);
    let mut runs = 0;
    for round in 0..KILLS {
        killed_after(scratch.path(), Duration::from_millis(20 + numbers.next() % 400));
        // As a reader finds it: every file is whole, every run is there once with all of its rows. What belongs to no run yet is
        // joined with none.
        let found = checked(scratch.path());
        let wrong: Vec<&Problem> =
            found.problems.iter().filter(|problem| !matches!(problem, Problem::Orphans { .. })).collect();
        assert!(wrong.is_empty(), "kill {round}: {wrong:?}");
        assert!(found.runs >= runs, "kill {round}: {} runs, {runs} before", found.runs);
        runs = found.runs;
        if round % 5 == 4 {
            // Whoever writes next removes what was left.
            drop(Writer::new(Archive::open(scratch.path()).unwrap()).unwrap());
            let found = checked(scratch.path());
            assert!(found.problems.is_empty() && found.interrupted == 0, "kill {round}: {found:?}");
        }
    }
    assert!(runs > 0, "nothing was added before the kills");
    let mut writer = Writer::new(Archive::open(scratch.path()).unwrap()).unwrap();
    for index in 0..RUNS {
        writer.add(&synthetic::run(7, index)).unwrap();
    }
    writer.compact(|_| ()).unwrap();
    let found = checked(scratch.path());
    assert!(found.problems.is_empty() && found.runs == RUNS, "{found:?}");
}

//! Archives on disk.

use std::fs;
use std::path::Path;

use rrul_archive::checking::Checked;
use rrul_archive::synthetic;
use rrul_archive::{Added, Archive, ArchiveError, Writer};

use crate::scratch::{Scratch, files};

const SEED: u64 = 20;

fn writer(path: &Path) -> Writer {
    Writer::new(Archive::create(path).unwrap()).unwrap()
}

fn checked(path: &Path) -> Checked {
    Archive::open(path).unwrap().check().unwrap()
}

fn problems(checked: &Checked) -> Vec<String> {
    checked.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn adding_twice_is_adding_once_also_at_another_site_and_after_compaction() {
    let scratch = Scratch::new();
    for round in 0..3 {
        let mut writer = writer(scratch.path());
        for index in 0..40 {
            let mut rows = synthetic::run(SEED, index);
            if round == 1 {
                rows.site = "elsewhere".parse().unwrap();
            }
            let expected = if round == 0 { Added::New } else { Added::Known };
            assert_eq!(writer.add(&rows).unwrap(), expected, "round {round}, run {index}");
        }
        if round == 1 {
            writer.compact(|_| ()).unwrap();
        }
    }
    let checked = checked(scratch.path());
    assert_eq!((checked.runs, problems(&checked)), (40, vec![]));
}

#[test]
fn several_threads_add_each_run_once() {
    let scratch = Scratch::new();
    let writer = writer(scratch.path());
    let new: usize = std::thread::scope(|scope| {
        let add = || (0..60).filter(|index| writer.add(&synthetic::run(SEED, *index)).unwrap() == Added::New).count();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(new, 60);
    let checked = checked(scratch.path());
    assert_eq!((checked.runs, problems(&checked)), (60, vec![]));
}

#[test]
fn compaction_leaves_one_file_in_each_partition_and_all_rows() {
    let scratch = Scratch::new();
    let mut writer = writer(scratch.path());
    for index in 0..200 {
        writer.add(&synthetic::run(SEED, index)).unwrap();
    }
    let before = files(scratch.path(), ".parquet").len();
    let done = writer.compact(|_| ()).unwrap();
    let after = files(scratch.path(), ".parquet");
    assert_eq!(before, 600);
    assert_eq!(done.files_after, done.partitions, "one file in each partition that was compacted");
    assert!(after.len() <= 3 * 60, "{}", after.len());
    let found = checked(scratch.path());
    assert_eq!((found.runs, found.files as usize, problems(&found)), (200, after.len(), vec![]));
    assert_eq!(writer.compact(|_| ()).unwrap().partitions, 0, "nothing is left to do");
    assert_eq!(files(&scratch.path().join(".work"), "").len(), 0);
}

#[test]
fn one_process_writes_at_a_time() {
    let scratch = Scratch::new();
    let first = writer(scratch.path());
    let second = Writer::new(Archive::open(scratch.path()).unwrap());
    assert!(matches!(second, Err(ArchiveError::InUse(_))), "{second:?}");
    drop(first);
    drop(writer(scratch.path()));
}

#[test]
fn check_finds_what_is_wrong() {
    let scratch = Scratch::new();
    let writer = writer(scratch.path());
    for index in 0..3 {
        writer.add(&synthetic::run(SEED, index)).unwrap();
    }
    let of = |table: &str, index: u64| {
        let rows = synthetic::run(SEED, index);
        let folder = scratch.path().join(table).join("v=1").join(format!("date={}", rows.date));
        folder.join(format!("site={}", rows.site.as_str())).join(format!("{}.parquet", rows.run_id()))
    };
    // A run twice, one without its delays, rows of flows without their run, a damaged file, and one that does not belong there.
    let doubled = of("runs", 0);
    fs::copy(&doubled, doubled.with_file_name("copy.parquet")).unwrap();
    fs::remove_file(of("delays", 1)).unwrap();
    fs::remove_file(of("runs", 2)).unwrap();
    fs::write(of("delays", 2), "PAR1 and no more").unwrap();
    fs::write(of("flows", 1).with_file_name("notes.txt"), "").unwrap();
    let found = problems(&checked(scratch.path()));
    let name = |index| synthetic::run(SEED, index).run_id().to_owned();
    for (what, words) in [
        ("doubled", format!("run {} of", name(0))),
        ("doubled", "2 times in table runs".to_owned()),
        ("without delays", format!("run {} of", name(1))),
        ("without delays", "0 rows in table delays instead of".to_owned()),
        ("orphans", "2 rows in table flows, but not in table runs".to_owned()),
        ("orphans", format!("run {}... of", &name(2)[..15])),
        ("damaged", format!("{}.parquet: ", name(2))),
        ("foreign", "notes.txt: no file of an archive".to_owned()),
    ] {
        assert!(found.iter().any(|line| line.contains(&words)), "{what}: {words}: {found:#?}");
    }
}

#[test]
fn check_finds_runs_that_other_tables_cannot_tell_apart() {
    let scratch = Scratch::new();
    let writer = writer(scratch.path());
    let one = synthetic::run(SEED, 0);
    let mut other = synthetic::run(SEED, 1);
    other.run.run_key = one.run.run_key;
    writer.add(&one).unwrap();
    writer.add(&other).unwrap();
    let found = problems(&checked(scratch.path()));
    assert!(found.iter().any(|line| line.contains("another run has the same run_key")), "{found:#?}");
}

#[test]
fn where_no_archive_is_one_line_says_so() {
    let scratch = Scratch::new();
    let error = Archive::open(&scratch.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("no archive; make one with rrul archive add") && !error.contains('\n'), "{error}");
}

//! Which files a question opens.

use std::path::Path;
use std::process::Command;

use crate::folder::{Folder, skipped};

/// A question that no file of another day may be opened for.
const SHIPPED: &str = "loaded_p95_by_isp_and_hour";

/// Days of the archive's files that the program opened, as strace saw it; `None` where strace does not work.
fn days_opened(folder: &Folder, arguments: &[&str]) -> Option<Vec<String>> {
    let log = folder.0.join("strace.log");
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=open,openat,openat2", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_rrul"))
        .args(arguments)
        .current_dir(&folder.0)
        .output()
        .ok()?;
    let log = std::fs::read_to_string(log).ok()?;
    if log.is_empty() {
        return None;
    }
    assert!(traced.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&traced.stderr));
    let opened = log.lines().filter(|line| line.contains(".parquet\""));
    let mut days: Vec<String> =
        opened.filter_map(|line| Some(line.split_once("date=")?.1.split_once('/')?.0.to_owned())).collect();
    days.sort();
    days.dedup();
    Some(days)
}

#[test]
fn a_question_about_one_day_opens_only_that_day() {
    let folder = Folder::with_runs("day", 5, 300);
    let day = "2026-01-09";
    let dates = format!("SELECT COUNT(*) AS amount FROM delays WHERE date = '{day}'");
    let rows = folder.number(&dates, &[]);
    assert!(rows > 0);
    assert_eq!(folder.number("SELECT COUNT(*) AS amount FROM delays", &["--from", day, "--to", day]), rows);
    let asked =
        |question, options: &[&str]| days_opened(&folder, &[&["archive", "query", "runs", question], options].concat());
    let Some(all) = asked(SHIPPED, &[]) else {
        skipped("a_question_about_one_day_opens_only_that_day", "strace is not there, or may not trace");
        return;
    };
    assert!(all.len() > 20, "{all:?}");
    assert_eq!(asked(SHIPPED, &["--from", day, "--to", day]).unwrap(), [day]);
    // Days in the text of a question do the same.
    assert_eq!(
        asked("SELECT SUM(n) AS x FROM delays WHERE date = '2026-01-09' AND phase = 'load'", &[]).unwrap(),
        [day]
    );
}

#[test]
fn the_plan_names_the_files_of_one_day() {
    let folder = Folder::with_runs("plan", 5, 300);
    let plan = folder.answer("EXPLAIN SELECT SUM(n) AS x FROM delays", &["--from", "2026-01-09", "--to", "2026-01-10"]);
    let plan = plan["rows"].to_string();
    let mut days: Vec<&str> = plan.split("/date=").skip(1).map(|rest| rest.split('/').next().unwrap()).collect();
    days.sort_unstable();
    days.dedup();
    assert_eq!(days, ["2026-01-09", "2026-01-10"], "{plan}");
    assert!(Path::new(&folder.0).join("runs/delays/v=1/date=2026-01-11").is_dir());
}

//! `rrul archive add`, `compact` and `check`.

use crate::folder::Folder;

#[test]
fn runs_are_added_once_compacted_and_checked() {
    let folder = Folder::new("all");
    // A file of Flent, made of a recording, is another run: other times were rounded.
    folder.ends(0, &["convert", "recordings/before.rrul", "--to", "flent", "-o", "recordings/before.flent.gz"]);
    let labels = ["--site", "home", "--isp", "Example Net", "--asn", "64496", "--country", "de", "--firmware", "24.10"];
    let add = [&["archive", "add", "runs", "recordings"][..], &labels].concat();
    let (printed, errors) = folder.ends(0, &add);
    assert_eq!((printed.as_str(), errors.as_str()), ("runs: 3 runs added\n", ""));
    let (printed, _) = folder.ends(0, &add);
    assert_eq!(printed, "runs: 0 runs added, 3 in it already\n");
    let (printed, _) = folder.ends(0, &["archive", "check", "runs"]);
    assert!(printed.starts_with("3 runs in ") && printed.ends_with(": no problems found\n"), "{printed}");
    let (printed, _) = folder.ends(0, &["archive", "compact", "runs"]);
    assert!(printed.starts_with("compacted ") || printed == "nothing to compact\n", "{printed}");
    let (printed, _) = folder.ends(0, &add);
    assert_eq!(printed, "runs: 0 runs added, 3 in it already\n");
    folder.ends(0, &["archive", "check", "runs"]);
}

#[test]
fn seconds_are_kept_on_request_and_questions_find_them() {
    let folder = Folder::new("seconds");
    folder.ends(0, &["archive", "add", "runs", "recordings/before.rrul"]);
    let count = "SELECT COUNT(*) AS amount FROM seconds";
    assert_eq!(folder.number(count, &[]), 0);
    folder.ends(0, &["archive", "add", "runs", "recordings", "--seconds"]);
    folder.ends(0, &["archive", "check", "runs"]);
    folder.ends(0, &["archive", "compact", "runs"]);
    folder.ends(0, &["archive", "check", "runs"]);
    let rows = folder.number(count, &[]);
    // Of the run that was added with them.
    assert!(rows > 100, "{rows}");
    assert_eq!(folder.number("SELECT SUM(second_rows) AS amount FROM runs", &[]), rows);
    assert_eq!(folder.number("SELECT COUNT(DISTINCT run_key) AS amount FROM seconds", &[]), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_one_line_and_the_others_are_added() {
    let folder = Folder::new("unreadable");
    std::fs::write(folder.0.join("recordings/broken.rrul"), "no recording").unwrap();
    std::fs::write(folder.0.join("recordings/notes.txt"), "of no concern").unwrap();
    let (printed, errors) = folder.ends(1, &["archive", "add", "runs", "recordings", "missing.rrul"]);
    assert_eq!(printed, "runs: 2 runs added, 2 files not readable\n");
    assert_eq!(errors.lines().count(), 2, "{errors}");
    assert!(errors.contains("rrul: recordings/broken.rrul: ") && errors.contains("rrul: missing.rrul: "), "{errors}");
}

#[test]
fn mistakes_are_one_line() {
    let folder = Folder::new("mistakes");
    for (arguments, words) in [
        (&["archive", "check", "none"][..], "no archive; make one with rrul archive add"),
        (&["archive", "compact", "none"], "no archive"),
    ] {
        let (_, errors) = folder.ends(2, arguments);
        assert!(errors.contains(words) && errors.lines().count() == 1, "{errors}");
    }
    let (_, errors) = folder.ends(2, &["archive", "add", "runs", "recordings", "--isp", "gw.example.net"]);
    assert!(errors.contains("an address or a host name"), "{errors}");
}

#[test]
fn damage_is_found_and_the_exit_code_says_so() {
    let folder = Folder::new("damage");
    folder.ends(0, &["archive", "add", "runs", "recordings"]);
    let mut below = vec![folder.0.join("runs/delays")];
    let mut damaged = None;
    while let Some(path) = below.pop() {
        if path.is_dir() {
            below.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            damaged = Some(path);
        }
    }
    std::fs::write(damaged.unwrap(), "PAR1").unwrap();
    let (printed, _) = folder.ends(1, &["archive", "check", "runs"]);
    assert!(printed.contains(".parquet: ") && printed.contains("0 rows in table delays instead of"), "{printed}");
    assert!(printed.ends_with("2 problems\n"), "{printed}");
}

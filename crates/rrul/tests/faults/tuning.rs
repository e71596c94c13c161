//! `rrul tune` and `rrul sweep` as a user meets them.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use crate::lab::Standing;
use crate::program::{Ended, Folder, PROGRAM, Running, end_of, rrul, wait_until};

/// A line whose queue is much too deep, with a shaper before it and one behind it.
const LINK: &str = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"500p\" }\n\
    [down.shaper]\nrate = \"18Mbit/s\"\nqueue = \"cake\"\n\
    [up]\nrate = \"8Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"500p\" }\n[up.shaper]\nrate = \"7Mbit/s\"\nqueue = \"cake\"\n";

fn said(arguments: &[&str]) -> Ended {
    let folder = Folder::new();
    let mut command = rrul(&folder, arguments);
    command.env("XDG_STATE_HOME", folder.path()).env("XDG_RUNTIME_DIR", folder.path());
    end_of(command)
}

#[test]
fn what_is_missing_or_too_much_is_one_line_before_anything_is_set() {
    said(&["tune", "host.invalid"]).complains(&["which shaper", "--shaper openwrt:"]);
    said(&["tune", "host.invalid", "--shaper", "lab:none"]).complains(&["none"]);
    said(&["tune", "host.invalid", "--shaper", "lab:none", "--on-this-host"]).complains(&[
        "--on-this-host",
        "lab",
        "leave it out",
    ]);
    said(&["tune", "host.invalid", "--shaper", "lab:none", "--max-time", "10m"]).complains(&["9m 30s", "--max-time"]);
    let command = ["tune", "host.invalid", "--shaper", "command:true {up}", "--restore-command", "true", "--dry-run"];
    let upload = said(&command);
    assert_eq!(upload.code, Some(0), "{upload:#?}");
    for words in ["no shaper for the download: only the upload is tuned", "sets: upload rate"] {
        assert!(upload.stderr.contains(words), "{words}: {upload:#?}");
    }
    let set = ["true 10000000000", "true 1000000"].map(|line| format!("not done (--dry-run): {line}"));
    let printed: Vec<&str> = upload.stderr.lines().filter(|line| line.starts_with("not done")).collect();
    assert_eq!(printed, set, "unshaped first, then the floor: {upload:#?}");
    let asking = [&command[..6], &["--apply"]].concat();
    said(&asking).complains(&["--apply asks", "--apply --yes"]);
    said(&[&command[..], &["--direction", "down"]].concat()).complains(&["no shaper for the download"]);
    let both = ["tune", "host.invalid", "--shaper", "command:true {up} {down}", "--restore-command", "true"];
    said(&[&both[..], &["--direction", "up", "--apply", "--yes"]].concat()).complains(&[
        "a rate for the download",
        "is unknown",
        "tune both directions",
        "by hand",
    ]);
    said(&["sweep", "host.invalid", "--shaper", "lab:none", "--up", "1M:100M:1M"])
        .complains(&["100 rates", "larger step"]);
    said(&["sweep", "host.invalid", "--set", "streams"]).complains(&["streams", "--set streams=1,4,16"]);
    said(&["sweep", "host.invalid", "--set", "strems=1,2"]).complains(&["strems"]);
    for usage in [&["tune"][..], &["sweep", "host.invalid"], &["tune", "host.invalid", "--shaper", "cake"]] {
        assert_eq!(said(usage).code, Some(2), "{usage:?}");
    }
}

#[test]
fn restoring_without_a_journal_restores_nothing() {
    let ended = said(&["tune", "--restore"]);
    assert_eq!((ended.code, ended.stdout.trim()), (Some(0), "No shaper was left changed."), "{ended:#?}");
}

#[test]
fn a_sweep_over_a_standing_lab_is_recorded_drawn_and_shown_and_the_shaper_restored() {
    if !rrul_lab::lab_available_for("a_sweep_over_a_standing_lab_is_recorded_drawn_and_shown_and_the_shaper_restored") {
        return;
    }
    let standing = Standing::up_with(LINK);
    let found = || {
        let dry = ["exec", "client", PROGRAM, "tune", "10.78.0.2", "--shaper", "lab:lab", "--dry-run"];
        let dry = standing.say(&dry);
        assert_eq!(dry.code, Some(0), "{dry:#?}");
        for words in ["found at download 18.0 Mbit/s, upload 7.00 Mbit/s", "at most 8m", "not done"] {
            assert!(dry.stderr.contains(words), "{words}: {dry:#?}");
        }
    };
    found();
    let folder = standing.folder.file("swept").display().to_string();
    let sweep =
        ["exec", "client", PROGRAM, "sweep", "10.78.0.2", "--shaper", "lab:lab", "--up", "4M,6M", "-o", &folder];
    let ended = standing.say(&[&sweep[..], &["--private"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for words in ["2 settings measured", "upload  4.00 Mbit/s", "swept/report.html"] {
        assert!(ended.stdout.contains(words), "{words}: {ended:#?}");
    }
    for name in ["sweep.rrul", "tune.svg", "tune.png", "pareto.png", "report.html"] {
        assert!(standing.folder.file("swept").join(name).is_file(), "{name}");
    }
    found();
    let shown = end_of(rrul(&standing.folder, &["show", "swept/sweep.rrul", "--json"]));
    let summary: serde_json::Value = serde_json::from_str(&shown.stdout).expect("the summary is JSON");
    assert_eq!(summary["tuning"]["outcome"]["kind"], "measured");
    assert_eq!(summary["tuning"]["shaper"]["target"], "lab", "a private recording has no name: {ended:#?}");
    assert!(ended.stderr.contains("shaper: lab lab"), "{ended:#?}");
    let set: Vec<_> = summary["tuning"]["trials"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|trial| trial["step"]["rates"]["up_bps"].clone())
        .collect();
    assert_eq!(set, [4_000_000, 6_000_000]);
}

/// Sweeps a standing lab until its upload shaper has been changed, and then sends a signal to the program and all of its
/// process group. The shaper must have its rate again within 5 s.
fn end_by(signal: &str, standing: &Standing) {
    let shaper_has = |rate: u64| {
        let stats = standing.say(&["stats"]);
        let stats: serde_json::Value = serde_json::from_str(&stats.stdout).expect("counters are JSON");
        stats["up"]["shaper"]["rate_bps"] == rate
    };
    let folder = standing.folder.file(signal).display().to_string();
    let sweep =
        ["exec", "client", PROGRAM, "sweep", "10.78.0.2", "--shaper", "lab:lab", "--up", "4M,6M", "-o", &folder];
    let mut command = standing.command(&sweep);
    command.process_group(0);
    let sweeping = Running::start(command);
    let begun = Instant::now();
    wait_until("the first setting", || {
        // A process that has just been started may have no arguments yet.
        let runs = begun.elapsed() < Duration::from_secs(2) || is_an_argument(&folder);
        assert!(runs, "the sweep has ended: {}", sweeping.stderr());
        shaper_has(4_000_000)
    });
    sweeping.signal_group(signal);
    let sent = Instant::now();
    wait_until("the shaper is restored", || shaper_has(7_000_000));
    assert!(sent.elapsed() < Duration::from_secs(5), "restored {:?} after SIG{signal}", sent.elapsed());
    drop(sweeping);
    wait_until("the end of the program", || !is_an_argument(&folder));
}

/// Whether a process was started with this as an argument.
fn is_an_argument(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let words = |process: &std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).unwrap_or_default();
    processes.into_iter().any(|process| words(&process).split(|byte| *byte == 0).any(|other| other == word.as_bytes()))
}

/// Loads and measures, so only another program's tests of this name run beside it: see scripts/test.
mod loads {
    use super::*;

    #[test]
    fn a_session_that_is_stopped_or_killed_leaves_the_shaper_as_it_found_it() {
        if !rrul_lab::lab_available_for("a_session_that_is_stopped_or_killed_leaves_the_shaper_as_it_found_it") {
            return;
        }
        let standing = Standing::up_with(LINK);
        end_by("KILL", &standing);
        end_by("INT", &standing);
        let restored = standing.folder.file("rrul/tune");
        let entries = std::fs::read_dir(restored).expect("journals are in the folder of state").flatten();
        let left: Vec<_> = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

//! Batches that run to their end, and those that are stopped, killed or cannot do what they were asked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::Duration;

use rrul_model::phase::Phase;

use crate::program::{Ended, Folder, Running, Server, end_of, rrul};
use crate::verdict::recording;

/// Loads of one and of two seconds, in turn.
fn folder(server: &str, more: &str) -> Folder {
    let folder = Folder::with_plan();
    let text = format!(
        "title = \"how long\"\nserver = \"{server}\"\n{more}\n[each]\nload = [\"1s\", \"2s\"]\n\
         [run.only]\nplan = \"short.toml\"\nset = [\"load={{load}}\"]\n"
    );
    folder.write("lengths.toml", text);
    folder
}

fn batch(folder: &Folder) -> Ended {
    end_of(rrul(folder, &["batch", "lengths.toml"]))
}

fn result(folder: &Folder, name: &str) -> PathBuf {
    folder.file("lengths").join(name)
}

#[track_caller]
fn assert_load_of(folder: &Folder, name: &str, seconds: u64) {
    let recording = recording(&result(folder, name));
    assert_eq!(recording.phase(Phase::Load).unwrap().length(), Duration::from_secs(seconds), "{name}");
    assert_eq!(recording.end.expect("an end").partial, None, "{name}");
}

#[test]
fn every_combination_is_run_and_the_settings_are_compared() {
    let server = Server::start(&[]);
    let folder =
        folder(&server.name(), "repetitions = 2\nbefore = \"echo {load} >> order\"\nafter = \"echo over >> order\"");
    let listed = end_of(rrul(&folder, &["batch", "lengths.toml", "--list"]));
    assert_eq!(listed.stdout.lines().count(), 4, "{listed:#?}");
    assert!(!folder.file("lengths").exists(), "listing has made something");
    let ended = batch(&folder);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let order = std::fs::read_to_string(result(&folder, "order")).unwrap();
    assert_eq!(order.lines().collect::<Vec<_>>(), ["1s", "over", "2s", "over", "2s", "over", "1s", "over"]);
    for (name, seconds) in [("1s-1.rrul", 1), ("2s-1.rrul", 2), ("1s-2.rrul", 1), ("2s-2.rrul", 2)] {
        assert_load_of(&folder, name, seconds);
        assert!(std::fs::read_to_string(result(&folder, name).with_extension("log")).unwrap().contains("rrul report "));
    }
    assert!(ended.stdout.contains("load 1s (2 runs)"), "{ended:#?}");
    let page = std::fs::read_to_string(result(&folder, "report.html")).unwrap();
    assert!(page.contains("load 1s") && page.contains("load 2s"), "the report has both settings");
    // All is there: nothing is run again.
    let again = batch(&folder);
    assert_eq!(again.code, Some(0), "{again:#?}");
    assert!(again.stdout.contains("4 of 4 runs exist already"), "{again:#?}");
    // Another batch is kept apart.
    folder.write("lengths.toml", format!("server = \"{}\"\n", server.name()));
    batch(&folder).complains(&["lengths", "another batch"]);
}

#[test]
fn a_batch_that_is_killed_goes_on_where_it_was_and_loses_nothing() {
    let server = Server::start(&[]);
    let folder = folder(&server.name(), "");
    let mut running = Running::start(rrul(&folder, &["batch", "lengths.toml"]));
    running.wait_for("[2/2]");
    crate::program::wait_until("the second recording", || result(&folder, "2s-1.rrul.part").exists());
    running.signal("KILL");
    running.end();
    assert_load_of(&folder, "1s-1.rrul", 1);
    let first = std::fs::read(result(&folder, "1s-1.rrul")).unwrap();
    let ended = batch(&folder);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("1 of 2 runs exist already"), "{ended:#?}");
    assert_eq!(std::fs::read(result(&folder, "1s-1.rrul")).unwrap(), first, "it was run again");
    assert_load_of(&folder, "2s-1.rrul", 2);
    assert!(result(&folder, "interrupted/1-2s-1.rrul.part").exists(), "what was recorded until the kill");
}

#[test]
fn a_batch_that_is_stopped_keeps_what_it_has_and_says_how_to_go_on() {
    let server = Server::start(&[]);
    let folder = folder(&server.name(), "");
    let mut command = rrul(&folder, &["batch", "lengths.toml"]);
    command.process_group(0);
    let mut running = Running::start(command);
    running.wait_for("[2/2]");
    let log = result(&folder, "2s-1.log");
    crate::program::wait_until("the load", || std::fs::read_to_string(&log).is_ok_and(|log| log.contains(": load ")));
    running.signal_group("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("to continue: rrul batch lengths.toml -o lengths"), "{ended:#?}");
    let partial = recording(&result(&folder, "2s-1.rrul"));
    assert!(partial.end.expect("an end").partial.is_some());
    let ended = batch(&folder);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_load_of(&folder, "2s-1.rrul", 2);
    assert!(result(&folder, "interrupted/1-2s-1.rrul").exists(), "what was measured before");
}

#[test]
fn what_fails_ends_no_other_run() {
    let server = Server::start(&[]);
    let folder = folder(&server.name(), "before = \"test {load} != 1s\"\nafter = \"echo over >> order\"");
    let ended = batch(&folder);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("[1/2] 1s-1: \"test 1s != 1s\": exit status: 1"), "{ended:#?}");
    assert_load_of(&folder, "2s-1.rrul", 2);
    let order = std::fs::read_to_string(result(&folder, "order")).unwrap();
    assert_eq!(order.lines().count(), 2, "what was set before is taken back in any case");
}

#[test]
fn what_cannot_be_run_is_reported_in_one_line_before_anything_is() {
    let folder = folder("127.0.0.1:9", "");
    let ended = batch(&folder);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("no run completed"), "{ended:#?}");
    for (text, words) in [
        ("server = \"a\"\n[run.x]\nplan = \"nothing\"\n", ["no plan named", "nothing"]),
        ("link = \"nothing\"\n", ["nothing", "link"]),
        ("server = \"a\"\nrepeat = 3\n", ["wrong.toml:2", "repeat"]),
        ("server = \"{where}\"\n", ["wrong.toml", "\"where\""]),
    ] {
        folder.write("wrong.toml", text);
        end_of(rrul(&folder, &["batch", "wrong.toml"])).complains(&words);
        assert!(!folder.file("wrong").exists());
    }
    end_of(rrul(&folder, &["batch", "missing.toml"])).complains(&["missing.toml", "No such file"]);
}

#[test]
fn every_experiment_of_the_gallery_can_be_run() {
    let gallery = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gallery");
    let files = std::fs::read_dir(&gallery).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    assert!(files.len() >= 5, "{files:?}");
    let folder = Folder::new();
    for file in files {
        let ended = end_of(rrul(&folder, &["batch", &file.to_string_lossy(), "--list"]));
        assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 2), "{}: {ended:#?}", file.display());
    }
}

#[test]
fn runs_of_a_batch_have_the_access_that_the_batch_was_given() {
    let folder = Folder::with_plan();
    let fingerprint = end_of(rrul(&folder, &["key", "new", "key"])).stdout;
    fs::write(folder.file("token"), end_of(rrul(&folder, &["key", "token"])).stdout).unwrap();
    fs::set_permissions(folder.file("token"), Permissions::from_mode(0o600)).unwrap();
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    let server = Server::start(&["--tokens", &path("token"), "--key", &path("key")]);
    let text = format!("server = \"{}\"\n[run.one]\nplan = \"short.toml\"\nset = [\"load=1s\"]\n", server.name());
    folder.write("one.toml", &text);
    let batch = |options: &[&str]| {
        let mut command = rrul(&folder, &[&["batch", "one.toml"][..], options].concat());
        command.env("XDG_DATA_HOME", folder.path());
        end_of(command)
    };
    let without = batch(&["-o", "without"]);
    assert_eq!(without.code, Some(2), "{without:#?}");
    let with =
        batch(&["-o", "with", "--token-file", "token", "--encrypt", "always", "--server-key", fingerprint.trim()]);
    assert_eq!(with.code, Some(0), "{with:#?}");
    batch(&["-o", "missing", "--token-file", "none"]).complains(&["none", "No such file"]);
}

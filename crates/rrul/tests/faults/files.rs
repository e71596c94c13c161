//! Where a recording cannot be written, or not to its end.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::program::{Folder, PROGRAM, Running, SHORT, Server, end_of, rrul, run_short, skipped};
use crate::verdict::{Verdict, recording};

#[test]
fn a_place_that_cannot_be_written_to_is_known_before_the_test() {
    let folder = Folder::with_plan();
    folder.write("file", "mine");
    // Nothing listens there: what is complained of is the place, so it was looked at first.
    let say = |output: &str| end_of(rrul(&folder, &["run", "127.0.0.1:1", "--plan", "short.toml", "-o", output]));
    say("missing/out").complains(&["missing/out.rrul.part: ", "No such file or directory", "check the path"]);
    say("file/out").complains(&["file/out.rrul.part: ", "Not a directory", "choose another place with -o"]);
    // Where even root may make no file.
    say("/proc/out").complains(&["/proc/out.rrul.part: "]);
    for nothing in [".", "..", "folder/", "folder/."] {
        say(nothing).complains(&["-o", "names no file"]);
    }
    assert_eq!(folder.recordings(), [""; 0]);
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let folder = Folder::with_plan();
    let say = || end_of(run_short(&folder, "127.0.0.1:1", &[]));
    folder.write("out.rrul", "mine");
    say().complains(&["out.rrul: ", "never overwritten", "-o"]);
    std::fs::rename(folder.file("out.rrul"), folder.file("out.rrul.part")).unwrap();
    say().complains(&["out.rrul.part: ", "never overwritten", "-o"]);
    assert_eq!(std::fs::read_to_string(folder.file("out.rrul.part")).unwrap(), "mine");
}

#[test]
fn runs_without_a_name_never_take_each_others() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let name = server.name();
    let command = || rrul(&folder, &["run", &name, "--plan", "short.toml", "--set", "load=500ms"]);
    // At the same instant, or nearly: the date in the names is the same.
    let runs: Vec<_> = (0..3).map(|_| Running::start(command())).collect();
    for run in runs {
        let ended = run.end();
        assert!(ended.code == Some(0) || ended.code == Some(1), "{ended:#?}");
    }
    assert_eq!(folder.recordings().len(), 3, "{:?}", folder.recordings());
}

/// A shell command in a mount namespace of its own, in which this folder is a disk of so many bytes.
fn on_a_disk_of(size: &str, folder: &Folder, script: &str) -> Command {
    let disk = folder.path().display();
    let mut command = Command::new("unshare");
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg(format!("mount -t tmpfs -o size={size} tmpfs {disk} && cd {disk} && {script}"));
    command
}

#[test]
fn a_full_disk_keeps_what_fits_and_costs_no_result() {
    let test = "a_full_disk_keeps_what_fits_and_costs_no_result";
    let (disk, kept) = (Folder::new(), Folder::with_plan());
    let trial = end_of(on_a_disk_of("16k", &disk, "true"));
    if trial.code != Some(0) {
        return skipped(test, &format!("no disk can be mounted: {}", trial.stderr.trim()));
    }
    let server = Server::start(&[]);
    // The disk is full after the header and two or three seconds.
    let script = format!(
        "{PROGRAM} run {} --plan {} --set flow.probe.interval=2ms --set load=5s -o out; code=$?; cp out* {}; exit $code",
        server.name(),
        kept.file("short.toml").display(),
        kept.path().display()
    );
    let ended = end_of(on_a_disk_of("32k", &disk, &script));
    assert_eq!(ended.code, Some(2), "the result could not be kept: {ended:#?}");
    assert!(ended.stdout.contains("Under load (BE, EF)"), "the summary is reported all the same: {ended:#?}");
    let complaints: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("rrul: ")).collect();
    let [first, last] = complaints[..] else { panic!("one line during the test and one after: {ended:#?}") };
    assert!(first.contains("out.rrul.part: ") && first.contains("No space left"), "{first}");
    assert!(last.contains("out.rrul.part: ") && last.contains("make room"), "{last}");
    assert!(
        !last.contains("os error 0") && last.contains("contains the test"),
        "it says what became of the file: {last}"
    );
    assert_eq!(kept.recordings(), ["out.rrul.part"]);
    let path = kept.file("out.rrul.part");
    assert!(!recording(&path).frames.is_empty());
    assert!(Verdict::of(&path).doubts().contains(&"partial"));
}

#[test]
fn a_disk_that_was_full_for_a_while_costs_nothing() {
    let test = "a_disk_that_was_full_for_a_while_costs_nothing";
    let (disk, kept) = (Folder::new(), Folder::with_plan());
    let trial = end_of(on_a_disk_of("16k", &disk, "true"));
    if trial.code != Some(0) {
        return skipped(test, &format!("no disk can be mounted: {}", trial.stderr.trim()));
    }
    let server = Server::start(&[]);
    kept.write("long.toml", SHORT.replace("3s", "6s"));
    // Somebody else's file fills the disk at the start, and is removed once the program has complained of it.
    let script = format!(
        "head -c 1000000 /dev/zero >other 2>/dev/null; truncate -s -8192 other;
         {PROGRAM} run {} --plan {} --set flow.probe.interval=2ms -o out 2>log & run=$!
         tries=0; until grep -q 'No space left' log || [ $tries -ge 300 ]; do sleep 0.1; tries=$((tries + 1)); done
         rm other; wait $run; code=$?; cat log >&2; cp out* {}; exit $code",
        server.name(),
        kept.file("long.toml").display(),
        kept.path().display()
    );
    let ended = end_of(on_a_disk_of("256k", &disk, &script));
    assert!(ended.stderr.contains("trying again"), "the disk was not full: {ended:#?}");
    assert_eq!(kept.recordings(), ["out.rrul"]);
    Verdict::of(&kept.file("out.rrul")).assert_good(&ended);
}

//! `rrul lab` as a user meets it. These need a lab, and are skipped aloud where there can be none.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rrul_lab::{Host, Lab, Link};

use crate::program::{Ended, Folder, PROGRAM, Running, end_of, rrul, signal, wait_until};
use crate::verdict::{Verdict, recording};

/// Fast enough for the load of the tests, and no more.
const LINK: &str = "rtt = \"2ms\"\n[down]\nrate = \"100Mbit/s\"\n[up]\nrate = \"100Mbit/s\"\n";

/// A lab in this process; `None` after saying why `test` is skipped.
pub(crate) fn lab(test: &str) -> Option<Lab> {
    lab_of(test, "")
}

/// The same with more in its link file.
pub(crate) fn lab_of(test: &str, more: &str) -> Option<Lab> {
    let link = || Link::from_toml("test.toml", &format!("{LINK}{more}")).unwrap();
    rrul_lab::lab_available_for(test).then(|| Lab::up(&link(), 1).unwrap())
}

/// Runs a test on a host of its own, whose loopback interface nothing else uses.
pub(crate) fn on_own_host(test: &str, work: fn()) {
    if let Some(lab) = lab(test) {
        lab.client().run(work).unwrap();
    }
}

/// The same command, to be run inside a host of a lab.
pub(crate) fn program_in(host: &Host, command: &Command) -> Command {
    let mut inside = Command::new("nsenter");
    inside.arg(format!("--net={}", host.namespace_path().display())).arg("--");
    inside.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}

#[test]
fn lab_run_runs_a_command_beside_a_server_and_takes_over_its_exit_code() {
    let test = "lab_run_runs_a_command_beside_a_server_and_takes_over_its_exit_code";
    if !rrul_lab::lab_available_for(test) {
        return;
    }
    let folder = Folder::with_plan();
    folder.write("link.toml", LINK);
    let lab = |words: &[&str]| {
        let mut command = rrul(&folder, &["lab", "run", "--link", "link.toml", "--"]);
        command.args(words);
        end_of(command)
    };
    let ended = lab(&[PROGRAM, "run", "10.78.0.2,fd78::2", "--plan", "short.toml", "-o", "out"]);
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    assert_eq!(recording(&folder.file("out.rrul")).header.families.len(), 2);
    assert_eq!(lab(&["sh", "-c", "exit 1"]).code, Some(1));
    lab(&["sh", "-c", "exit 7"]).complains(&["sh", "exit code 7"]);
    lab(&["sh", "-c", "kill -9 $$"]).complains(&["sh", "signal: 9"]);
    lab(&["/no/such/program"]).complains(&["/no/such/program", "No such file"]);
}

#[test]
fn lab_run_says_what_is_wrong_with_a_link_or_a_truth_file() {
    if !rrul_lab::lab_available_for("lab_run_says_what_is_wrong_with_a_link_or_a_truth_file") {
        return;
    }
    let folder = Folder::new();
    folder.write("link.toml", LINK.replacen("rate", "rat", 1));
    folder.write("truth.csv", "mine");
    let say = |arguments: &[&str]| {
        let mut command = rrul(&folder, &["lab", "run"]);
        command.args(arguments).args(["--", "true"]);
        end_of(command)
    };
    say(&["--link", "link.toml"]).complains(&["link.toml:3: down.rat: unknown key", "rate"]);
    say(&["--link", "nosuch"]).complains(&["unknown link \"nosuch\"", "cable_20_8_pfifo"]);
    say(&["--link", "missing.toml"]).complains(&["missing.toml: ", "check the path"]);
    say(&["--truth", "truth.csv"]).complains(&["truth.csv: ", "never overwritten"]);
    say(&["--truth", "missing/truth.csv"]).complains(&["missing/truth.csv: ", "check the path"]);
    assert_eq!(fs::read_to_string(folder.file("truth.csv")).unwrap(), "mine");
}

#[test]
fn control_c_lets_the_command_of_lab_run_save_what_it_has() {
    if !rrul_lab::lab_available_for("control_c_lets_the_command_of_lab_run_save_what_it_has") {
        return;
    }
    let folder = Folder::with_plan();
    folder.write("link.toml", LINK);
    let mut command = rrul(&folder, &["lab", "run", "--link", "link.toml", "--", PROGRAM, "run", "10.78.0.2"]);
    command.args(["--plan", "short.toml", "--set", "load=8s", "-o", "out"]);
    // As a shell starts it: a terminal sends Ctrl-C to the whole process group.
    command.process_group(0);
    let mut running = Running::start(command);
    running.wait_for_load();
    running.signal_group("INT");
    let ended = running.end();
    assert_eq!((ended.code, folder.recordings()), (Some(1), vec!["out.rrul".to_owned()]), "{ended:#?}");
    assert!(Verdict::of(&folder.file("out.rrul")).reason("partial").is_some_and(|text| text.contains("by the user")));
}

/// A lab that stands, in a folder of its own; taken down with the value, should a test fail.
pub(crate) struct Standing {
    pub(crate) folder: Folder,
}

impl Standing {
    pub(crate) fn say(&self, words: &[&str]) -> Ended {
        end_of(self.command(words))
    }

    /// `rrul lab` with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = rrul(&self.folder, &["lab"]);
        command.args(words).env("XDG_RUNTIME_DIR", self.folder.path()).env("XDG_STATE_HOME", self.folder.path());
        command
    }

    /// A standing lab over [`LINK`].
    fn up() -> Self {
        Self::up_with(LINK)
    }

    /// A standing lab over the link of this file.
    pub(crate) fn up_with(link: &str) -> Self {
        let standing = Self { folder: Folder::with_plan() };
        standing.folder.write("link.toml", link);
        let ended = standing.say(&["up", "--link", "link.toml"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:#?}");
        standing
    }

    /// The process that keeps it, and the numbers of its two namespaces.
    fn holder(&self) -> (u32, Vec<u64>) {
        let namespaces = ["client", "server"].map(|end| {
            let mut stream = UnixStream::connect(self.folder.file("rrul-lab-lab/socket")).unwrap();
            writeln!(stream, "where {end}").unwrap();
            let mut answer = String::new();
            BufReader::new(stream).read_line(&mut answer).unwrap();
            answer.trim_end().strip_prefix("ok ").unwrap().to_owned()
        });
        let process = namespaces[0].split('/').nth(2).unwrap().parse().unwrap();
        (process, namespaces.iter().map(|path| fs::metadata(path).unwrap().ino()).collect())
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let mut command = rrul(&self.folder, &["lab", "down"]);
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        // It is down already where the test came to its end.
        let _ = command.output();
    }
}

/// Whether any thread of any process is in this network namespace.
fn is_inhabited(namespace: u64) -> bool {
    let name = format!("net:[{namespace}]");
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    list(Path::new("/proc"))
        .flat_map(|process| list(&process.join("task")).collect::<Vec<_>>())
        .any(|task| fs::read_link(task.join("ns/net")).is_ok_and(|target| target.as_os_str() == name.as_str()))
}

#[test]
fn a_lab_stands_until_it_is_taken_down() {
    if !rrul_lab::lab_available_for("a_lab_stands_until_it_is_taken_down") {
        return;
    }
    let lab = Standing::up();
    let (process, namespaces) = lab.holder();
    lab.say(&["up", "--link", "link.toml"]).complains(&["lab \"lab\" is up already", "rrul lab down"]);
    let plan = lab.folder.file("short.toml");
    let output = lab.folder.file("out");
    let run = ["exec", "client", PROGRAM, "run", "10.78.0.2", "--plan", plan.to_str().unwrap(), "-o"];
    let ended = lab.say(&[&run[..], &[output.to_str().unwrap()]].concat());
    Verdict::of(&lab.folder.file("out.rrul")).assert_good(&ended);
    lab.say(&["exec", "client", "sh", "-c", "exit 7"]).complains(&["exit code 7"]);
    lab.say(&["exec", "client", "/no/such/program"]).complains(&["/no/such/program", "No such file"]);
    lab.say(&["set", "nosuch"]).complains(&["unknown link \"nosuch\""]);
    let set = lab.say(&["set", "cable_20_8_pfifo"]);
    assert_eq!((set.code, set.stdout.as_str()), (Some(0), "lab \"lab\" is now cable_20_8_pfifo\n"), "{set:#?}");
    lab.say(&["set", "up.shaper.rate=slow"]).complains(&["20Mbit/s"]);
    lab.say(&["set", "up.rate=9Mbit/s"]).complains(&["up.shaper.rate=9Mbit/s"]);
    lab.say(&["set", "cable_20_8_pfifo", "up.shaper.rate=7Mbit/s"]).complains(&["one link, or changes of shapers"]);
    let queue = "down.shaper.queue={ discipline = \"cake\", tins = \"diffserv4\" }";
    let set = lab.say(&["set", "up.shaper.rate=7Mbit/s", queue]);
    assert_eq!(set.code, Some(0), "{set:#?}");
    let stats: serde_json::Value = serde_json::from_str(&lab.say(&["stats"]).stdout).unwrap();
    assert_eq!(
        (&stats["up"]["shaper"]["rate_bps"], &stats["down"]["line"]["rate_bps"]),
        (&7_000_000.into(), &20_000_000.into())
    );
    let disciplines = ["line", "shaper"].map(|queue| &stats["up"][queue]["discipline"]);
    assert_eq!(disciplines, ["pfifo", "cake"]);
    assert_eq!(stats["down"]["shaper"]["classes"][3]["name"], "Voice");
    lab.say(&["set", "up.shaper=off"]);
    let stats: serde_json::Value = serde_json::from_str(&lab.say(&["stats"]).stdout).unwrap();
    assert_eq!(
        (&stats["up"]["shaper"], &stats["down"]["shaper"]["discipline"]),
        (&serde_json::Value::Null, &"cake".into())
    );
    lab.say(&["down", "--truth", "missing/truth.csv"]).complains(&["missing/truth.csv", "check the path"]);
    let down = lab.say(&["down", "--truth", "truth.csv"]);
    assert_eq!((down.code, down.stderr.as_str()), (Some(0), ""), "{down:#?}");
    assert!(!lab.folder.file("rrul-lab-lab").exists(), "it has ended when down returns");
    assert!(fs::read_to_string(lab.folder.file("truth.csv")).unwrap().lines().count() > 1000);
    wait_until("the end of the holder", || !Path::new(&format!("/proc/{process}/ns")).exists());
    // Their numbers are free now: for a moment the lab of another test may have one of them.
    wait_until("the end of its namespaces", || !namespaces.iter().any(|namespace| is_inhabited(*namespace)));
    for words in [&["down"][..], &["exec", "client", "true"], &["set", "cable_20_8_pfifo"]] {
        lab.say(words).complains(&["no lab \"lab\"", "rrul lab up"]);
    }
    lab.say(&["up", "--name", "a/b"]).complains(&["\"a/b\" is no name for a lab"]);
}

#[test]
fn a_lab_whose_holder_is_killed_leaves_nothing_that_is_in_the_way() {
    if !rrul_lab::lab_available_for("a_lab_whose_holder_is_killed_leaves_nothing_that_stands_in_the_way") {
        return;
    }
    let lab = Standing::up();
    let (process, namespaces) = lab.holder();
    assert!(namespaces.iter().all(|namespace| is_inhabited(*namespace)), "{namespaces:?}");
    signal(process, "KILL");
    wait_until("the end of both namespaces", || !namespaces.iter().any(|namespace| is_inhabited(*namespace)));
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap();
    assert!(!devices.contains("rrul0"), "a device of the lab is in the namespace outside: {devices}");
    lab.say(&["exec", "client", "true"]).complains(&["no lab \"lab\"", "rrul lab up"]);
    let again = lab.say(&["up", "--link", "link.toml"]);
    assert_eq!(again.code, Some(0), "{again:#?}");
    assert_eq!(lab.say(&["down"]).code, Some(0));
    let at_once = lab.say(&["up", "--link", "link.toml"]);
    assert_eq!(at_once.code, Some(0), "{at_once:#?}");
    assert_eq!(lab.say(&["down"]).code, Some(0));
}

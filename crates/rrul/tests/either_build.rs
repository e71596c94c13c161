//! What every build of the program does, the small one for routers too: answer a test, run one and show it.
//!
//! The program is the one that cargo has built for this test, or the one that `RRUL_PROGRAM` names (`make router`).
#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of test functions, and a test may panic")]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rrul_model::shaping::{ShaperDescription, TuningPlan};
use serde_json::Value;

const PLAN: &str = "
title = \"a short test\"
phases = { idle = \"500ms\", load = \"2s\", after = \"500ms\" }
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
pacing_rate = \"20Mbit/s\"
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
class = \"EF\"
[flow.page]
type = \"web_page\"
component = \"web\"
during = [\"load\"]
page = \"rrul2013\"
interval = \"1s\"
";

fn program() -> PathBuf {
    std::env::var_os("RRUL_PROGRAM").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_rrul")), PathBuf::from)
}

/// A folder that is gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rrul-either-build-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server on a port of the kernel's choice.
struct Server {
    child: Child,
    address: String,
    /// Held open: a server whose output is closed ends at its next line.
    _output: std::io::Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(program());
        command.args(["server", "--port", "0", "--listen", "127.0.0.1"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().expect("it says where it listens").unwrap();
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(',').next()).unwrap().to_owned();
        Self { child, address, _output: lines }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rrul(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).current_dir(folder).output().unwrap()
}

/// What a command has printed, which must have ended with this code or that.
fn printed(output: &Output, codes: &[i32]) -> String {
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_server_answers_a_run_and_the_recording_is_shown() {
    let server = Server::start();
    let folder = Folder::new("run");
    std::fs::write(folder.0.join("short.toml"), PLAN).unwrap();
    let run = rrul(&folder.0, &["run", &server.address, "--plan", "short.toml", "-o", "one"]);
    // A run of three seconds beside other tests may have its doubts.
    assert!(printed(&run, &[0, 1]).contains("Under load"), "{run:?}");
    let shown = printed(&rrul(&folder.0, &["show", "one.rrul", "--json"]), &[0, 1]);
    let summary: Value = serde_json::from_str(&shown).unwrap();
    for direction in ["up", "down"] {
        let octets = summary["goodput"][direction]["octets"].as_u64().unwrap();
        assert!(octets > 1_000_000, "{direction}: {octets} bytes of 2 s at 20 Mbit/s");
    }
    assert!(summary["page_loads"].to_string().contains("rrul2013"), "{}", summary["page_loads"]);
    printed(&rrul(&folder.0, &["show", "one.rrul", "--full"]), &[0, 1]);
    as_a_tuning_session(&folder.0.join("one.rrul"));
    let session = rrul(&folder.0, &["show", "one.rrul"]);
    if session.status.code() == Some(2) {
        let said = String::from_utf8(session.stderr).unwrap();
        assert_eq!(said, "rrul: one.rrul: a tuning session; only the full program shows those\n");
    } else {
        assert!(printed(&session, &[1]).contains("tc eth0"), "{session:?}");
    }
    assert!(printed(&rrul(&folder.0, &["list", "plans"]), &[0]).contains("rrul "));
}

/// Makes the recording say that it is of a tuning session: one that ended before its first trial.
fn as_a_tuning_session(file: &Path) {
    let lines = String::from_utf8(zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap()).unwrap();
    let (header, rest) = lines.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    let shaper =
        ShaperDescription { driver: "tc".to_owned(), target: "tc eth0".to_owned(), ..ShaperDescription::default() };
    header["header"]["tuning"] = serde_json::to_value(TuningPlan::new(shaper)).unwrap();
    std::fs::write(file, zstd::encode_all(format!("{header}\n{rest}").as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn a_recording_of_flent_is_shown_or_refused_in_one_line() {
    const FLENT: &str =
        r#"{"x_values":[0,1],"results":{"TCP upload":[1,1]},"metadata":{"NAME":"tcp_upload","STEP_SIZE":1}}"#;
    let folder = Folder::new("flent");
    std::fs::write(folder.0.join("old.flent"), FLENT).unwrap();
    let shown = rrul(&folder.0, &["show", "old.flent", "--json"]);
    if shown.status.code() == Some(2) {
        let said = String::from_utf8(shown.stderr).unwrap();
        assert_eq!(
            said,
            "rrul: old.flent: this is no rrul recording; only the full program reads recordings of Flent\n"
        );
    } else {
        let summary: Value = serde_json::from_str(&printed(&shown, &[0, 1])).unwrap();
        assert_eq!(summary["plan"], "flent/tcp_upload");
    }
}

#[test]
fn a_command_is_in_the_help_and_works_or_says_in_one_line_that_this_build_lacks_it() {
    let folder = Folder::new("help");
    let help = printed(&rrul(&folder.0, &["--help"]), &[0]);
    let listed = |command: &str| help.lines().any(|line| line.split_whitespace().next() == Some(command));
    for command in ["server", "run", "show", "list"] {
        assert!(listed(command), "{command} is in every build: {help}");
    }
    for command in ["compare", "convert", "plot", "report", "lab", "batch", "demo", "tune", "sweep"] {
        if listed(command) {
            printed(&rrul(&folder.0, &[command, "--help"]), &[0]);
            continue;
        }
        let refused = rrul(&folder.0, &[command, "some.rrul", "--anything", "else"]);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("rrul: {command}: this build has no ")), "{said}");
        assert_eq!(said.matches('\n').count(), 1, "{said}");
    }
}

#[test]
fn a_file_with_a_damaged_key_is_refused_in_one_line_and_never_taken_for_a_token() {
    let folder = Folder::new("keys");
    let lacks = "this build has no client keys and tickets; use a token, or the full program";
    let client = ["run", "127.0.0.1:1", "--token-file", "key"];
    for (text, arguments, place, full) in [
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n", &client[..], "key", "no private key of Ed25519 in PEM form"),
        ("ed25519:AAAAAAAAAAAAAAAA\n", &["server", "--tokens", "key"], "key: line 1", "a public key is ed25519:"),
        ("issuer:AAAAAAAAAAAAAAAAA\n", &["server", "--tokens", "key"], "key: line 1", "a public key is ed25519:"),
    ] {
        let path = folder.0.join("key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let refused = rrul(&folder.0, arguments);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!((refused.status.code(), said.matches('\n').count()), (Some(2), 1), "{said}");
        let (start, lacks) = (format!("rrul: {place}: "), said.contains(lacks));
        assert!(said.starts_with(&start) && (lacks || said.contains(full)), "{said}");
    }
}

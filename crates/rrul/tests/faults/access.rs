//! Who may test: tokens of a server's list, and what becomes of who has none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rrul_proto::opening::{ClientOpening, Purpose, Status};
use rrul_proto::token::Token;

use crate::client;
use crate::program::{Folder, PROGRAM, Running, Server, end_of, rrul, run_short, wait_until};

const ALICE: &str = "6c7a1f0e5b9d4a83c2f1 name=alice";
const BOB: &str = "0f9e8d7c6b5a49382716 name=bob";

/// A folder with the short plan and files of tokens that only their owner may read.
fn folder() -> Folder {
    let folder = Folder::with_plan();
    for (name, text) in [("tokens", format!("# who may test\n{ALICE}\n{BOB}\n")), ("alice", ALICE.to_owned())] {
        write(&folder.file(name), &text);
    }
    write(&folder.file("stranger"), "00000000000000000000");
    folder
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn server(folder: &Folder) -> Server {
    Server::start(&["--tokens", folder.file("tokens").to_str().unwrap()])
}

#[test]
fn only_who_has_a_token_tests_and_others_read_one_line() {
    let folder = folder();
    let mut server = server(&folder);
    let short = ["--set", "load=1s", "--token-file"];
    let without = end_of(run_short(&folder, &server.name(), &[]));
    without.complains(&[&server.name(), "holders of a token alone", "--token-file FILE"]);
    let stranger = end_of(run_short(&folder, &server.name(), &[&short[..], &["stranger"]].concat()));
    stranger.complains(&[&server.name(), "its token is not known here"]);
    let mut by_variable = run_short(&folder, &server.name(), &short[..2]);
    by_variable.env("RRUL_TOKEN_FILE", folder.file("stranger"));
    end_of(by_variable).complains(&["its token is not known here"]);
    let ended = end_of(run_short(&folder, &server.name(), &[&short[..], &["alice"]].concat()));
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    // A client from before tokens were known.
    let (_, answer) = client::open(server.address(), ClientOpening::new(Purpose::Control, Token::NONE, 0));
    assert_eq!(answer.status, Status::Lacking);
    let log = server.log();
    assert!(log.contains("token of alice"), "{log}");
    assert!(log.contains("a client that knows nothing of tokens"), "{log}");
    assert!(!log.contains("6c7a1f0e5b9d4a83c2f1"), "{log}");
    server.assert_sound();
}

#[test]
fn a_token_that_is_removed_ends_its_test_and_opens_no_other_within_a_second() {
    let folder = folder();
    let mut server = server(&folder);
    let mut running = Running::start(run_short(&folder, &server.name(), &["--plain", "--token-file", "alice"]));
    running.wait_for_load();
    write(&folder.file("tokens"), BOB);
    let removed = Instant::now();
    wait_until("the end of the session", || server.log().contains("its token is not on the list any more"));
    let took = removed.elapsed();
    assert!(took < Duration::from_millis(1300), "{took:?}; a second, and what a busy machine adds");
    assert_eq!(running.end().code, Some(1));
    let again = Folder::with_plan();
    let alice = folder.file("alice");
    let ended = end_of(run_short(&again, &server.name(), &["--token-file", alice.to_str().unwrap()]));
    ended.complains(&["its token is not known here"]);
    server.assert_sound();
}

#[test]
fn a_secret_that_others_may_read_is_not_used() {
    let folder = folder();
    for (name, arguments) in [("tokens", ["server", "--tokens"]), ("alice", ["run", "--token-file"])] {
        fs::set_permissions(folder.file(name), Permissions::from_mode(0o640)).unwrap();
        let arguments = [&arguments[..], &[name, "192.0.2.1"][..if arguments[0] == "run" { 2 } else { 1 }]].concat();
        end_of(rrul(&folder, &arguments)).complains(&[name, "others may read this secret (mode 0640)", "chmod 600"]);
    }
}

#[test]
fn a_new_token_is_a_line_that_server_and_client_take() {
    let folder = Folder::with_plan();
    let made = end_of(rrul(&folder, &["key", "token", "carol"]));
    assert!(made.stdout.trim_end().ends_with(" name=carol"), "{made:#?}");
    write(&folder.file("tokens"), &made.stdout);
    let server = server(&folder);
    let ended = end_of(run_short(&folder, &server.name(), &["--set", "load=1s", "--token-file", "tokens"]));
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    assert!(server.log().contains("token of carol"), "{}", server.log());
}

/// A run with a home of its own, so that it remembers servers nowhere else.
fn at_home(folder: &Folder, server: &str, name: &str, more: &[&str]) -> Command {
    let mut command = rrul(folder, &["run", server, "--plan", "short.toml", "--set", "load=1s", "-o", name]);
    command.args(more).env("XDG_DATA_HOME", folder.path());
    command
}

#[test]
fn a_server_is_recognized_by_the_key_of_the_first_test() {
    let folder = Folder::with_plan();
    let made = end_of(rrul(&folder, &["key", "new", "one.key"]));
    let fingerprint = made.stdout.trim().to_owned();
    assert_eq!(end_of(rrul(&folder, &["key", "show", "one.key"])).stdout.trim(), fingerprint);
    let mode = fs::metadata(folder.file("one.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    end_of(rrul(&folder, &["key", "new", "one.key"])).complains(&["one.key", "never overwritten"]);
    end_of(rrul(&folder, &["key", "new", "other.key"]));
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    let server = Server::start(&["--key", &path("one.key")]);
    let (name, port) = (server.name(), server.port().to_string());
    let first = end_of(at_home(&folder, &name, "first", &[]));
    assert!(matches!(first.code, Some(0 | 1)), "{first:#?}");
    assert!(first.stderr.contains("first test of this server") && first.stderr.contains(&fingerprint), "{first:#?}");
    let second = end_of(at_home(&folder, &name, "second", &[]));
    assert!(matches!(second.code, Some(0 | 1)) && !second.stderr.contains("first test"), "{second:#?}");
    let shown = end_of(rrul(&folder, &["show", "--section", "measurement", "second.rrul"])).stdout;
    assert!(shown.contains("TLS 1.3"), "{shown}");
    let never = end_of(at_home(&folder, &name, "never", &["--encrypt", "never"]));
    never.complains(&[&name, "encrypted connections alone", "--encrypt never"]);
    let (_, answer) = client::open(server.address(), ClientOpening::new(Purpose::Control, Token::NONE, 0));
    assert_eq!(answer.status, Status::Lacking, "a client from before keys were known");
    drop(server);
    // Somebody else at the same place.
    let again = |key: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["server", "--port", &port, "--listen", "127.0.0.1", "--egress", "any"]).args(key);
        Server::spawned(command)
    };
    let impostor = again(&["--key", &path("other.key")]);
    let refused = end_of(at_home(&folder, &name, "third", &[]));
    refused.complains(&[&name, &fingerprint, "somebody may be in between", "remove line 1 of", "known_servers"]);
    drop(impostor);
    let plain = again(&[]);
    let refused = end_of(at_home(&folder, &name, "fourth", &[]));
    refused.complains(&[&name, &fingerprint, "this server does not encrypt", "--encrypt never"]);
    let pinned = end_of(at_home(&folder, &name, "fifth", &["--server-key", &fingerprint]));
    pinned.complains(&["this server does not encrypt"]);
    drop(plain);
    let own = again(&["--key", &path("one.key")]);
    let pinned =
        end_of(at_home(&folder, &name, "sixth", &["--server-key", &fingerprint.replace("SHA256:", "SHA256:A")[..50]]));
    pinned.complains(&[&name, "somebody may be in between", "--server-key"]);
    drop(own);
}

#[test]
fn encryption_that_is_demanded_and_not_offered_is_one_line() {
    let folder = Folder::with_plan();
    let server = Server::start(&[]);
    let ended = end_of(at_home(&folder, &server.name(), "out", &["--encrypt", "always"]));
    ended.complains(&[&server.name(), "this server does not encrypt", "--key"]);
}

#[test]
fn a_token_is_proven_over_an_encrypted_connection() {
    let folder = folder();
    end_of(rrul(&folder, &["key", "new", "server.key"]));
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    let mut server = Server::start(&["--key", &path("server.key"), "--tokens", &path("tokens")]);
    let with = end_of(at_home(&folder, &server.name(), "with", &["--token-file", "alice"]));
    assert!(matches!(with.code, Some(0 | 1)), "{with:#?}");
    let without = end_of(at_home(&folder, &server.name(), "without", &[]));
    without.complains(&["holders of a token alone"]);
    server.assert_sound();
}

#[test]
fn a_new_key_is_in_force_after_a_hangup_and_a_test_that_runs_goes_on() {
    let folder = Folder::with_plan();
    let new = |name: &str| end_of(rrul(&folder, &["key", "new", name])).stdout.trim().to_owned();
    let (one, other) = (new("server.key"), new("other.key"));
    let path = folder.file("server.key");
    let mut server = Server::start(&["--key", path.to_str().unwrap()]);
    let pinned = |name: &str, key: &str| at_home(&folder, &server.name(), name, &["--server-key", key]);
    let mut running = Running::start({
        let mut command = pinned("running", &one);
        command.args(["--plain", "--set", "load=3s"]);
        command
    });
    running.wait_for_load();
    fs::rename(folder.file("other.key"), &path).unwrap();
    server.signal("HUP");
    let sign = format!("options reloaded reason=\"key {other}\"");
    wait_until(&sign, || server.log().contains(&sign));
    end_of(pinned("old", &one)).complains(&["somebody may be in between", "--server-key"]);
    let ended = end_of(pinned("new", &other));
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    server.signal("HUP");
    let sign = "the options stay as they are";
    wait_until(sign, || server.log().contains(sign));
    let run = running.end();
    assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
    server.assert_sound();
}

#[test]
fn a_check_names_tokens_that_have_expired_and_a_list_that_others_may_read() {
    let folder = Folder::new();
    let check = || end_of(rrul(&folder, &["server", "--check", "--port", "0", "--tokens", "tokens"]));
    let tokens = folder.file("tokens");
    for (text, line) in [
        (format!("{ALICE}\n{BOB}\n"), "ok       tokens: tokens: 2 accepted\n"),
        (format!("{ALICE} expires=2020-01-01\n{BOB}\n"), "note     tokens: tokens: 1 expired (alice); remove"),
        (format!("{ALICE} expires=2020-01-01\n"), "problem  tokens: tokens: no token is accepted now"),
    ] {
        write(&tokens, &text);
        let run = check();
        assert!(run.stdout.contains(line), "{line} {run:#?}");
        assert_eq!(run.code, Some(i32::from(line.starts_with("problem"))), "{run:#?}");
    }
    fs::set_permissions(&tokens, Permissions::from_mode(0o644)).unwrap();
    let run = check();
    assert!(run.stdout.contains("problem  tokens: tokens: ") && run.code == Some(1), "{run:#?}");
}

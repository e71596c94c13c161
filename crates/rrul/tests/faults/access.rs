//! Who may test: tokens, keys and tickets of a server's list, and what becomes of who has none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rrul_engine::control_link::{Compression, client_key, read, write as send};
use rrul_proto::admission::access::{Credentials, SigningKey, Ticket, TicketTerms};
use rrul_proto::admission::quota_class::QuotaClass;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Offers, Purpose, Status};
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

/// Takes the line of a running test off the list: the test ends within about a second and no other begins, for these reasons.
fn take_away(folder: &Folder, server: &mut Server, running: Running, ended: &str, refused: &str) {
    write(&folder.file("tokens"), BOB);
    let removed = Instant::now();
    wait_until("the end of the session", || server.log().contains(ended));
    let took = removed.elapsed();
    assert!(took < Duration::from_millis(1300), "{took:?}; a second, and what a busy machine adds");
    assert_eq!(running.end().code, Some(1));
    let again = Folder::with_plan();
    let alice = folder.file("alice");
    let ended = end_of(run_short(&again, &server.name(), &["--token-file", alice.to_str().unwrap()]));
    ended.complains(&[refused]);
    server.assert_sound();
}

#[test]
fn a_token_that_is_removed_ends_its_test_and_opens_no_other_within_a_second() {
    let folder = folder();
    let mut server = server(&folder);
    let mut running = Running::start(run_short(&folder, &server.name(), &["--plain", "--token-file", "alice"]));
    running.wait_for_load();
    let (ended, refused) = ("its token is not on the list any more", "its token is not known here");
    take_away(&folder, &mut server, running, ended, refused);
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

/// Makes a key in this file, and returns its line for a server's list.
fn new_key(folder: &Folder, name: &str, more: &[&str]) -> String {
    let made = end_of(rrul(folder, &["key", "new", name]));
    assert!(made.stdout.starts_with("SHA256:"), "{made:#?}");
    let public = end_of(rrul(folder, &[&["key", "public", name], more].concat()));
    assert_eq!(public.stdout.lines().count(), 1, "{public:#?}");
    public.stdout.trim().to_owned()
}

/// A folder with keys of Alice, a stranger and the office, which has signed a ticket for Alice, and the line of the office.
fn with_ticket(terms: &[&str]) -> (Folder, String) {
    let folder = Folder::with_plan();
    let alice = new_key(&folder, "alice.key", &[]);
    new_key(&folder, "stranger.key", &[]);
    let office = new_key(&folder, "office.key", &["office", "--issuer"]);
    assert!(office.starts_with("issuer:") && office.ends_with(" name=office"), "{office}");
    let by_office =
        ["key", "ticket", "--issuer", "office.key", "--expires", "2099-12-31", "--name", "alice", "--holder"];
    let ticket = end_of(rrul(&folder, &[&by_office[..], &[alice.as_str()], terms].concat()));
    assert!(ticket.stdout.starts_with("ticket:"), "{ticket:#?}");
    let key = fs::read_to_string(folder.file("alice.key")).unwrap();
    write(&folder.file("alice"), &format!("{}{key}", ticket.stdout));
    write(&folder.file("tokens"), &office);
    (folder, office)
}

#[test]
fn the_key_of_a_client_opens_a_session_and_that_of_a_stranger_does_not() {
    let folder = Folder::with_plan();
    let line = new_key(&folder, "alice.key", &["alice"]);
    assert!(line.starts_with("ed25519:") && line.ends_with(" name=alice"), "{line}");
    new_key(&folder, "stranger.key", &[]);
    write(&folder.file("tokens"), &format!("# who may test\n{line}\n{BOB}\n"));
    let mut server = server(&folder);
    let run = |file: &str| end_of(run_short(&folder, &server.name(), &["--set", "load=1s", "--token-file", file]));
    run("stranger.key").complains(&[&server.name(), "its key is not known here", "--token-file FILE"]);
    let ended = run("alice.key");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    let log = server.log();
    assert!(log.contains("key of alice") && !log.contains("PRIVATE"), "{log}");
    server.assert_sound();
}

#[test]
fn a_key_that_is_revoked_ends_its_test_within_a_second() {
    let folder = Folder::with_plan();
    let line = new_key(&folder, "alice.key", &[]);
    write(&folder.file("tokens"), &line);
    let server = server(&folder);
    let mut running = Running::start(run_short(&folder, &server.name(), &["--plain", "--token-file", "alice.key"]));
    running.wait_for_load();
    write(&folder.file("tokens"), &format!("{line}\nrevoked:{line}\n"));
    let revoked = Instant::now();
    wait_until("the end of the session", || {
        server.log().contains("its key is not on the list any more, or was revoked")
    });
    assert!(revoked.elapsed() < Duration::from_millis(1300), "{:?}", revoked.elapsed());
    assert_eq!(running.end().code, Some(1));
}

#[test]
fn a_ticket_opens_a_session_until_its_issuer_leaves_the_list() {
    let (folder, _) = with_ticket(&[]);
    let mut server = server(&folder);
    let mut running = Running::start(run_short(&folder, &server.name(), &["--plain", "--token-file", "alice"]));
    running.wait_for_load();
    assert!(server.log().contains("ticket of alice"), "{}", server.log());
    let ended = "the issuer of its ticket is not on the list any more";
    take_away(&folder, &mut server, running, ended, "the issuer of its ticket is not known here");
}

#[test]
fn the_quota_of_a_ticket_refuses_its_next_test_also_after_a_restart() {
    let (folder, office) = with_ticket(&["--tests-per-hour", "40"]);
    // The issuer may grant no more than this.
    write(&folder.file("tokens"), &format!("{office} tests-per-hour=2\n{BOB}\n"));
    write(&folder.file("bob"), BOB);
    end_of(rrul(&folder, &["key", "new", "server.key"]));
    let path = |name: &str| folder.file(name).to_str().unwrap().to_owned();
    let (key, tokens, state) = (path("server.key"), path("tokens"), path("state.json"));
    let options = ["--key", key.as_str(), "--tokens", tokens.as_str(), "--state", state.as_str()];
    let mut server = Server::start(&options);
    let run = |server: &Server, name: &str, file: &str| {
        end_of(at_home(&folder, &server.name(), name, &["--token-file", file, "--encrypt", "always"]))
    };
    for name in ["one", "two"] {
        let ended = run(&server, name, "alice");
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    }
    let refusal = "2 tests an hour are granted to this token, key or ticket; the next in 6";
    run(&server, "three", "alice").complains(&[refusal, " min"]);
    let of_others = run(&server, "bob", "bob");
    assert!(matches!(of_others.code, Some(0 | 1)), "{of_others:#?}");
    server.signal("TERM");
    server.wait();
    let server = Server::start(&options);
    // At another port it is met for the first time, which is a line of its own.
    let ended = run(&server, "four", "alice");
    assert!(ended.code == Some(2) && ended.stderr.contains(refusal), "{ended:#?}");
}

#[test]
fn a_ticket_that_was_stolen_changed_or_has_expired_opens_nothing() {
    let (folder, _) = with_ticket(&[]);
    let server = server(&folder);
    let key = |name: &str| client_key(&fs::read_to_string(folder.file(name)).unwrap()).unwrap();
    let text = fs::read_to_string(folder.file("alice")).unwrap();
    let ticket: Ticket = text.lines().next().unwrap().parse().unwrap();
    let ask = |key: &SigningKey, ticket: &Ticket| -> ServerMessage {
        let (mut stream, _) = client::open(server.address(), ClientOpening::control(Offers::ACCESS));
        let mut hear = || read(&mut stream, Duration::from_secs(20), Compression::Allowed).unwrap();
        let ServerMessage::Challenge { challenge } = hear() else { panic!("no challenge") };
        let answer = Credentials::Key(key.clone(), Some(ticket.clone())).answer(&challenge, b"");
        send(&mut stream, &ClientMessage::Proof(answer), Compression::Never).unwrap();
        read(&mut stream, Duration::from_secs(20), Compression::Allowed).unwrap()
    };
    let refusal = |message: ServerMessage| match message {
        ServerMessage::Refused { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    let alice = key("alice.key");
    assert!(matches!(ask(&alice, &ticket), ServerMessage::Welcome { .. }), "or else this test shows nothing");
    let stolen = refusal(ask(&key("stranger.key"), &ticket));
    assert!(stolen.contains("its ticket is of another key"), "{stolen}");
    let mut changed = ticket.clone();
    changed.terms.expires += 1;
    let changed = refusal(ask(&alice, &changed));
    assert!(changed.contains("its ticket was not signed by its issuer"), "{changed}");
    let (holder, name, quota) = (alice.public(), String::new(), QuotaClass::default());
    let issue = |issuer: &str, expires| {
        Ticket::issue(&key(issuer), TicketTerms { holder, name: name.clone(), expires, quota }).unwrap()
    };
    let expired = refusal(ask(&alice, &issue("office.key", 1)));
    assert!(expired.contains("its ticket has expired"), "{expired}");
    let own = refusal(ask(&alice, &issue("alice.key", u64::MAX)));
    assert!(own.contains("the issuer of its ticket is not known here"), "{own}");
}

#[test]
fn what_a_ticket_cannot_be_made_from_is_one_line() {
    let (folder, office) = with_ticket(&[]);
    let holder = new_key(&folder, "bob.key", &[]);
    let ticket = |issuer: &str, holder: &str, expires: &str| {
        end_of(rrul(&folder, &["key", "ticket", "--issuer", issuer, "--holder", holder, "--expires", expires]))
    };
    ticket("office.key", &holder, "2020-01-01").complains(&["--expires 2020-01-01", "past"]);
    ticket("office.key", &holder, "soon").complains(&["--expires soon", "write a day as 2026-12-31"]);
    ticket("none.key", &holder, "2099-12-31").complains(&["none.key"]);
    ticket("tokens", &holder, "2099-12-31")
        .complains(&["tokens: no private key of Ed25519 in PEM form", "rrul key new"]);
    let wrong = ticket("office.key", &office, "2099-12-31");
    assert!(wrong.code == Some(2) && wrong.stderr.contains("as `rrul key public FILE` prints it"), "{wrong:#?}");
    fs::set_permissions(folder.file("office.key"), Permissions::from_mode(0o644)).unwrap();
    ticket("office.key", &holder, "2099-12-31").complains(&["office.key", "chmod 600"]);
    // A ticket in the file of another key is found before anything is sent.
    let text = fs::read_to_string(folder.file("alice")).unwrap();
    let stranger = fs::read_to_string(folder.file("stranger.key")).unwrap();
    write(&folder.file("thief"), &format!("{stranger}{}", text.lines().next().unwrap()));
    end_of(run_short(&folder, "192.0.2.1", &["--token-file", "thief"]))
        .complains(&["thief: the ticket is of another key", "ask its issuer"]);
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

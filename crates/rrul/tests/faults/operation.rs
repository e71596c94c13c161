//! A server as its operator runs it: options from a file, a log, an end without harm, and a unit of systemd.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS};
use rrul_proto::token::Token;
use serde_json::Value;

use crate::program::{Folder, PROGRAM, Running, Server, end_of, rrul, run_short, skipped, wait_until};
use crate::verdict::Verdict;

/// A run of `short.toml` whose load has begun.
fn loaded(server: &Server, folder: &Folder) -> Running {
    let mut running = Running::start(run_short(folder, &server.name(), &[]));
    running.wait_for_load();
    running
}

#[test]
fn a_server_that_drains_lets_tests_end_and_begins_no_other() {
    let server = Server::start(&[]);
    let (folder, other) = (Folder::with_plan(), Folder::with_plan());
    let running = loaded(&server, &folder);
    server.signal("TERM");
    wait_until("the drain", || server.log().contains("draining"));
    end_of(run_short(&other, &server.name(), &["--no-wait"])).complains(&["busy"]);
    let run = running.end();
    assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
    assert_eq!(Verdict::of(&folder.file("out.rrul")).summary["partial"], Value::Null);
    wait_until("the end of the server", || TcpStream::connect(server.address()).is_err());
}

#[test]
fn a_drain_ends_after_its_time() {
    let server = Server::start(&["--drain", "500ms"]);
    let folder = Folder::with_plan();
    let mut running = Running::start(run_short(&folder, &server.name(), &["--set", "load=30s"]));
    running.wait_for_load();
    let begun = Instant::now();
    server.signal("TERM");
    let run = running.end();
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    assert_eq!(run.code, Some(1), "{run:#?}");
}

#[test]
fn options_come_from_a_file() {
    let folder = Folder::with_plan();
    folder.write("server.toml", "max-length = \"2s\"\nprivate = true\n");
    let path = folder.file("server.toml");
    let server = Server::start(&["--config", path.to_str().unwrap()]);
    end_of(run_short(&folder, &server.name(), &[])).complains(&["refuses the test", "grants 2 s"]);
    folder.write("wrong.toml", "max-lenght = \"2s\"\n");
    end_of(rrul(&folder, &["server", "--config", "wrong.toml"])).complains(&[
        "wrong.toml",
        "unknown key \"max-lenght\"",
        "max-length",
    ]);
    end_of(rrul(&folder, &["server", "--config", "none.toml"])).complains(&["none.toml", "check the path"]);
}

#[test]
fn options_are_read_anew_while_a_test_goes_on() {
    let (folder, other) = (Folder::with_plan(), Folder::with_plan());
    folder.write("server.toml", "max-length = \"30s\"\n");
    let path = folder.file("server.toml");
    let mut server = Server::start(&["--config", path.to_str().unwrap()]);
    let running = loaded(&server, &folder);
    let reload = |text: &str, sign: &str| {
        folder.write("server.toml", text);
        let before = server.log().matches(sign).count();
        server.signal("HUP");
        wait_until(sign, || server.log().matches(sign).count() > before);
    };
    reload("max-length = \"2s\"\nstate = \"other.json\"\n", "options reloaded reason=\"state with a restart alone\"");
    let refused = || end_of(run_short(&other, &server.name(), &[])).complains(&["refuses the test", "grants 2 s"]);
    refused();
    reload("max-lenght = \"30s\"\n", "server.toml: unknown key \"max-lenght\"");
    refused();
    reload("tests-per-hour = 1\ncount-private = true\n", "options reloaded sessions=");
    let run = running.end();
    assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
    assert_eq!(Verdict::of(&folder.file("out.rrul")).summary["partial"], Value::Null);
    let first = end_of(run_short(&other, &server.name(), &["--set", "load=1s"]));
    assert!(matches!(first.code, Some(0 | 1)), "{first:#?}");
    end_of(rrul(&other, &["run", &server.name(), "--plan", "short.toml", "-o", "x"])).complains(&["1 tests an hour"]);
    server.assert_sound();
}

#[test]
fn a_log_of_json_is_an_object_in_each_line() {
    let server = Server::start(&["--log-format", "json"]);
    let folder = Folder::with_plan();
    end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    wait_until("the end of the session", || server.log().contains("session closed"));
    let log = server.log();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let words: Vec<&str> = events.iter().map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!(words, ["session opened", "session closed"], "{log}");
    assert!(events.iter().all(|event| event["client"].as_str().unwrap().starts_with("127.0.0.1:")), "{log}");
    assert_eq!((&events[1]["reason"], &events[0]["level"]), (&"done".into(), &"INFO".into()), "{log}");
    assert!(events.iter().all(|event| event["timestamp"].is_string() && event["sessions"].is_u64()), "{log}");
}

#[test]
fn a_stranger_that_opens_sessions_without_end_fills_no_log() {
    let server = Server::start(&[]);
    let begun = Instant::now();
    let mut opened = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(&ClientOpening::new(Purpose::Control, Token::NONE, 0).encode()).unwrap();
        // Its answer: a session, or that none is free.
        let _ = stream.read_exact(&mut [0; SERVER_OCTETS]);
        opened += 1;
    }
    let bytes = server.log().len() as f64;
    assert!(opened > 100, "{opened} connections");
    let most = 10_000.0 * begun.elapsed().as_secs_f64();
    assert!(bytes < most, "{bytes} bytes of log for {opened} connections in {:?}", begun.elapsed());
    assert!(server.log().lines().all(|line| line.len() <= 1000));
}

#[test]
fn the_service_manager_hears_of_the_beginning_and_the_end() {
    let folder = Folder::new();
    let manager = UnixDatagram::bind(folder.file("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0", "--listen", "127.0.0.1"]).env("NOTIFY_SOCKET", folder.file("notify"));
    let server = Server::spawned(command);
    let hear = || {
        let mut octets = [0; 200];
        let length = manager.recv(&mut octets).unwrap();
        String::from_utf8_lossy(&octets[..length]).trim().to_owned()
    };
    assert_eq!(hear(), "READY=1");
    server.signal("TERM");
    assert_eq!(hear(), "STOPPING=1");
}

/// Exposure of the unit at most, of 10, as `systemd-analyze security` computes it.
const EXPOSURE: f64 = 1.5;

#[test]
fn the_unit_for_systemd_is_well_confined() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/rrul-server.service");
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--offline=yes", "--no-pager"]).arg(&unit);
    let Ok(analyzed) = command.output() else {
        return skipped("the_unit_for_systemd_is_well_confined", "systemd-analyze is not installed");
    };
    let text = String::from_utf8_lossy(&analyzed.stdout).into_owned();
    let overall = text.lines().find_map(|line| line.split_once("Overall exposure level for rrul-server.service: "));
    let Some((_, rest)) = overall else {
        return skipped("the_unit_for_systemd_is_well_confined", "systemd-analyze is too old for --offline");
    };
    let exposure: f64 = rest.split_whitespace().next().unwrap().parse().unwrap();
    assert!(exposure <= EXPOSURE, "{exposure} of 10:\n{text}");
}

#[test]
fn a_network_has_its_tests_an_hour_also_after_a_restart() {
    let folder = Folder::with_plan();
    let state = folder.file("quota.json");
    let options = ["--tests-per-hour", "2", "--count-private", "--state", state.to_str().unwrap()];
    let run = |server: &Server, name: &str| {
        end_of(rrul(&folder, &["run", &server.name(), "--plan", "short.toml", "--set", "load=1s", "-o", name]))
    };
    let mut server = Server::start(&options);
    for name in ["one", "two"] {
        let ended = run(&server, name);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    }
    run(&server, "three").complains(&["2 tests an hour are granted to a network; the next in 6", " min"]);
    wait_until("the refusal in the log", || server.log().contains("refused"));
    server.signal("TERM");
    server.wait();
    let server = Server::start(&options);
    run(&server, "four").complains(&["2 tests an hour"]);
}

#[test]
fn data_beyond_the_day_ends_the_test() {
    let server = Server::start(&["--data-per-day", "3MB", "--count-private"]);
    let folder = Folder::with_plan();
    let begun = Instant::now();
    // 20 Mbit/s each way: 5 MB a second.
    let run = end_of(run_short(&folder, &server.name(), &["--set", "load=20s"]));
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    assert!(matches!(run.code, Some(1 | 2)), "{run:#?}");
    end_of(rrul(&folder, &["run", &server.name(), "--plan", "short.toml", "-o", "next"]))
        .complains(&["the data granted to a network"]);
}

#[test]
fn metrics_are_for_this_host_alone() {
    let folder = Folder::with_plan();
    let socket = folder.file("metrics");
    let server = Server::start(&["--metrics", socket.to_str().unwrap(), "--tests-per-hour", "1", "--count-private"]);
    let ask = || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask().starts_with("HTTP/1.1 200 OK\r\n"));
    let run = end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
    end_of(rrul(&folder, &["run", &server.name(), "--plan", "short.toml", "--set", "load=30s", "-o", "x"]))
        .complains(&["refuses"]);
    let answer = ask();
    let value = |name: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        line.unwrap_or_else(|| panic!("no {name} in {answer}"))
    };
    assert_eq!(value("rrul_sessions_opened_total"), 2);
    assert_eq!(value("rrul_refusals_total{cause=\"quota\"}"), 1);
    // 20 Mbit/s each way for a second.
    assert!((2_000_000..20_000_000).contains(&value("rrul_test_bytes_total")), "{answer}");
    for place in ["0.0.0.0:9785", "192.0.2.1:9785", "9785"] {
        end_of(rrul(&folder, &["server", "--port", "0", "--metrics", place]))
            .complains(&["--metrics", "127.0.0.1:9785"]);
    }
}

//! `rrul server --check`: what a host lacks, before a server runs on it.

use std::net::{TcpListener, UdpSocket};

use crate::program::{Folder, end_of, rrul};

#[test]
fn a_server_that_can_run_has_no_problem() {
    let folder = Folder::new();
    let state = folder.file("quota.json");
    let run = end_of(rrul(
        &folder,
        &["server", "--check", "--port", "0", "--listen", "127.0.0.1", "--state", state.to_str().unwrap()],
    ));
    assert_eq!(run.code, Some(0), "{run:#?}");
    for line in ["ok       port: TCP 127.0.0.1:0 is free", "ok       state: ", "note     firewall: "] {
        assert!(run.stdout.lines().any(|found| found.starts_with(line)), "{line}\n{}", run.stdout);
    }
    for what in ["open files", "real-time priority", "clock", "congestion control", "TCP buffers", "socket buffers"] {
        assert!(run.stdout.lines().any(|line| line[9..].starts_with(what)), "{what}\n{}", run.stdout);
    }
    assert!(!state.exists(), "nothing is left behind");
}

/// The files that systemd hands to the service are there only while it runs.
#[test]
fn secrets_of_a_service_that_does_not_run_are_no_problem() {
    let folder = Folder::new();
    let credential = |name: &str| format!("/run/credentials/rrul-no-such.service/{name}");
    let (key, tokens) = (credential("server.key"), credential("tokens"));
    let words = ["server", "--check", "--port", "0", "--listen", "127.0.0.1", "--key", &key, "--tokens", &tokens];
    let run = end_of(rrul(&folder, &words));
    assert_eq!(run.code, Some(0), "{run:#?}");
    for (what, file) in [("key", &key), ("tokens", &tokens)] {
        let line = format!("note     {what}: {file} is there while the service runs; start it and run this again");
        assert!(run.stdout.lines().any(|found| found == line), "{}", run.stdout);
    }
}

#[test]
fn each_problem_is_one_line() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let _also = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    folder.write("wrong.toml", "max-lenght = \"2s\"\n");
    folder.write("damaged.json", "{\"all\":");
    let port = port.to_string();
    let run = end_of(rrul(
        &folder,
        &[
            "server",
            "--check",
            "--config",
            "wrong.toml",
            "--listen",
            "127.0.0.1",
            "--port",
            &port,
            "--state",
            "damaged.json",
            "--metrics",
            "192.0.2.1:9785",
        ],
    ));
    assert_eq!(run.code, Some(1), "{run:#?}");
    let problems: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("problem  ")).collect();
    for (line, words) in [
        ("options: wrong.toml: ", "unknown key \"max-lenght\""),
        ("port: TCP: ", "another server runs there, choose another --port"),
        ("port: UDP: ", "another server runs there, choose another --port"),
        ("state: damaged.json: ", "--state"),
        ("metrics: 192.0.2.1:9785: ", "127.0.0.1:9785"),
    ] {
        assert!(problems.iter().any(|found| found.starts_with(line) && found.contains(words)), "{line} {problems:#?}");
    }
    assert_eq!(problems.len(), 5, "{problems:#?}");
    let nowhere = end_of(rrul(&folder, &["server", "--check", "--port", "0", "--state", "none/quota.json"]));
    assert_eq!(nowhere.code, Some(1), "{nowhere:#?}");
    assert!(nowhere.stdout.contains("problem  state: none/quota.json: No such file"), "{}", nowhere.stdout);
}

//! Tests of probes alone: one thread of the server serves all of them once they have begun.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rrul_engine::server::{EventKind, Server, ServerEvent, ServerOptions};
use rrul_proto::control::{ClientMessage, ServerMessage};

use crate::prober::Prober;
use crate::stranger::{PATIENCE, Stranger};

/// Set in the process that has a test for itself.
const ALONE: &str = "RRUL_TEST_ALONE";

/// A server, and why its sessions have ended.
fn watched() -> (Server, Receiver<String>) {
    let (sender, ended) = channel();
    let log = move |event: &ServerEvent| {
        if event.what == EventKind::SessionClosed {
            // The test may have ended.
            let _ = sender.send(event.reason.clone());
        }
    };
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let options = ServerOptions { addresses, port: 0, log: std::sync::Arc::new(log), ..ServerOptions::default() };
    (Server::start(options).unwrap(), ended)
}

/// A client whose probes are to come every so often.
fn prober(client: Stranger, server: SocketAddr, interval: &str) -> Prober {
    Prober::begin(client, server, interval, Duration::from_millis(100))
}

/// Stops a test; how many packets the server reports to have received, and how many readings of its clock.
fn fetch(prober: &mut Prober) -> (usize, usize) {
    prober.client.say(&ClientMessage::Stop);
    let (mut packets, mut readings) = (0, 0);
    loop {
        match prober.client.hear() {
            ServerMessage::Observed(frame) => {
                assert_eq!(frame.dropped, 0);
                packets += frame.tables.packet_received.len();
                readings += frame.tables.clock_sample.len();
            }
            ServerMessage::Finished { state } => {
                assert!(state.is_some());
                return (packets, readings);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Has these probe every 50 ms during this time, and waits for the last replies.
fn probe(probers: &mut [Prober], time: Duration, mut meanwhile: impl FnMut()) {
    let begun = Instant::now();
    let mut due = begun;
    while begun.elapsed() < time {
        probers.iter_mut().for_each(Prober::send);
        due += Duration::from_millis(50);
        while Instant::now() < due {
            probers.iter_mut().for_each(Prober::receive);
            meanwhile();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let waiting = Instant::now();
    while probers.iter().any(|prober| prober.answered < prober.sent) && waiting.elapsed() < Duration::from_secs(2) {
        probers.iter_mut().for_each(Prober::receive);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The end of a session is reported just before its place is given back.
fn all_freed(server: &Server) {
    let begun = Instant::now();
    while (server.sessions(), server.connections()) != (0, 0) {
        assert!(begun.elapsed() < PATIENCE, "{} sessions, {} connections", server.sessions(), server.connections());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The server's threads in this process, by name. The program's own first thread and those of the tests are not among them.
fn threads() -> BTreeMap<String, usize> {
    let names = ["accept", "reflector", "connection", "sampler", "start line", "reporter", "light tests"];
    let mut threads = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        // One that has ended meanwhile has no name.
        let name = std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default();
        if names.contains(&name.trim_end()) {
            *threads.entry(name.trim_end().to_owned()).or_default() += 1;
        }
    }
    threads
}

#[test]
fn many_tests_of_probes_share_a_thread_and_every_probe_is_answered() {
    if std::env::var_os(ALONE).is_none() {
        // Threads are counted: those of other tests must not be among them.
        let name = "light::many_tests_of_probes_share_a_thread_and_every_probe_is_answered";
        let program = std::env::current_exe().unwrap();
        let ended = Command::new(program).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
        return;
    }
    let (server, _ended) = watched();
    let address = server.addresses()[0];
    // A thread takes its name when it first runs.
    let names = ["accept", "light tests", "reflector"];
    let before: BTreeMap<String, usize> = names.map(|name| (name.to_owned(), 1)).into();
    let begun = Instant::now();
    while threads() != before {
        assert!(begun.elapsed() < PATIENCE, "{:?}", threads());
    }
    let mut probers: Vec<Prober> = (0..60).map(|_| prober(Stranger::new(&server), address, "50ms")).collect();
    assert_eq!(server.sessions(), 60);
    let mut most = 0;
    let mut settled = None;
    let begun = Instant::now();
    probe(&mut probers, Duration::from_secs(4), || {
        // The threads of the connections end once their tests have been handed over.
        if begun.elapsed() > Duration::from_secs(1) {
            let now = threads();
            most = most.max(now.values().sum());
            settled = Some(now);
        }
    });
    assert_eq!(settled.as_ref(), Some(&before), "threads of the server while 60 tests run");
    assert_eq!(most, before.values().sum::<usize>(), "at any time");
    for prober in &mut probers {
        assert_eq!(prober.answered, prober.sent, "replies");
        let (packets, readings) = fetch(prober);
        assert_eq!(packets, prober.sent as usize, "packets that the server reports");
        assert!((30..60).contains(&readings), "{readings} readings of the clock in 4 s");
        prober.client.say(&ClientMessage::Bye);
    }
    all_freed(&server);
}

#[test]
fn a_client_that_stops_reading_is_dropped_and_disturbs_no_other() {
    let (server, ended) = watched();
    let address = server.addresses()[0];
    let mut probers: Vec<Prober> = (0..8).map(|_| prober(Stranger::new(&server), address, "50ms")).collect();
    let mut deaf = prober(Stranger::with_little_room(address), address, "1ms");
    let begun = Instant::now();
    let mut dropped = None;
    probe(&mut probers, Duration::from_secs(19), || {
        if dropped.is_none() {
            deaf.send();
            deaf.receive();
            dropped = ended.try_recv().ok().map(|why| (why, begun.elapsed()));
        }
    });
    let (why, after) = dropped.expect("it is dropped");
    assert!(why != "done" && after < Duration::from_secs(18), "{why} after {after:?}");
    assert_eq!(server.sessions(), 8, "{why} after {after:?}");
    for prober in &mut probers {
        assert_eq!(prober.answered, prober.sent, "replies");
        assert_eq!(fetch(prober).0, prober.sent as usize, "packets that the server reports");
        prober.client.say(&ClientMessage::Bye);
        assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), "done");
    }
}

#[test]
fn a_client_that_vanishes_is_freed_after_fifteen_seconds() {
    let (server, ended) = watched();
    let mut client = Stranger::new(&server);
    client.say(&ClientMessage::Alive);
    let _silent = prober(client, server.addresses()[0], "50ms");
    let begun = Instant::now();
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), "no word for 15 s");
    let after = begun.elapsed().as_secs_f64();
    assert!((14.0..16.5).contains(&after), "freed after {after} s");
    all_freed(&server);
}

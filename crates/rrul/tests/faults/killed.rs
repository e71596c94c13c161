//! Programs that are stopped or killed in the middle of a test.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use rrul_engine::clock::RawTime;
use rrul_engine::control_link::{self, Compression};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ServerOpening, Status};

use crate::peer::{Peer, read_opening, stay_silent, welcome};
use crate::program::{Ended, Folder, PROGRAM, Running, Server, end_of, run_short, signal, wait_until};
use crate::verdict::{Verdict, recording};

/// Longer than a client takes to say something on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A run that is in the middle of eight seconds of load.
fn loaded(server: &Server, folder: &Folder) -> Running {
    let mut running = Running::start(run_short(folder, &server.name(), &["--set", "load=8s"]));
    running.wait_for_load();
    running
}

/// Asserts that the run has ended as one that was cut short: exit code 1, saved under its name, marked, summarized.
fn assert_partial(ended: &Ended, folder: &Folder, reason: &str) {
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(folder.recordings(), ["out.rrul"]);
    let partial = recording(&folder.file("out.rrul")).end.expect("it has an end").partial.expect("it is marked");
    assert!(partial.contains(reason), "{partial}");
    for words in ["The recording is incomplete: ", "Under load (BE, EF)", "rrul report out.rrul"] {
        assert!(ended.stdout.contains(words), "no \"{words}\" in: {ended:#?}");
    }
    assert!(Verdict::of(&folder.file("out.rrul")).doubts().contains(&"partial"));
}

#[test]
fn a_server_that_is_killed_ends_the_run_within_seconds_and_the_results_are_kept() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let running = loaded(&server, &folder);
    let killed = Instant::now();
    server.signal("KILL");
    let ended = running.end();
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?} after the kill", killed.elapsed());
    assert_partial(&ended, &folder, "connection to the server lost at ");
}

#[test]
fn a_server_that_ends_politely_ends_the_run_as_well() {
    let server = Server::start(&["--drain", "0s"]);
    let folder = Folder::with_plan();
    let running = loaded(&server, &folder);
    let ended = Instant::now();
    server.signal("TERM");
    let run = running.end();
    assert!(ended.elapsed() < Duration::from_secs(5), "{:?} after the signal", ended.elapsed());
    assert_partial(&run, &folder, "connection to the server lost at ");
}

#[test]
fn a_server_that_stands_still_does_not_hold_the_client_for_ever() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let mut running = Running::start(run_short(&folder, &server.name(), &["--set", "load=2s"]));
    running.wait_for_load();
    server.signal("STOP");
    let ended = running.end();
    // The test is 3 s, and the last observations are waited for 15 s; the rest is for a busy machine.
    assert!(ended.took < Duration::from_secs(23), "{:?}", ended.took);
    // Whichever notices first: the thread that reads what the server says, or the one that waits for all of it.
    assert_partial(&ended, &folder, "the server");
}

#[test]
fn control_c_ends_the_run_with_everything_until_then() {
    let mut server = Server::start(&[]);
    let folder = Folder::with_plan();
    let running = loaded(&server, &folder);
    let asked = Instant::now();
    running.signal("INT");
    let ended = running.end();
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?} after the signal", asked.elapsed());
    assert_partial(&ended, &folder, "stopped by the user at ");
    // Both ends' last observations are there.
    let recording = recording(&folder.file("out.rrul"));
    let end = recording.end.as_ref().unwrap().at.0;
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let last = last_observed(&recording, point);
        assert!(end - last < 1_500_000_000, "{point:?}: last observation at {last}, end at {end}");
    }
    server.assert_sound();
}

#[test]
fn control_c_saves_the_run_even_when_its_output_is_not_read() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    // As in `rrul run ... 2>&1 | tee log`, where Ctrl-C ends tee, too.
    let mut command = run_short(&folder, &server.name(), &["--set", "load=8s"]);
    let (reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(reader));
    while !lines.next().expect("the run goes on").unwrap().contains(": load ") {}
    drop(lines);
    signal(child.id(), "INT");
    wait_until("the end of the run", || child.try_wait().unwrap().is_some());
    assert_eq!(folder.recordings(), ["out.rrul"]);
    let partial = recording(&folder.file("out.rrul")).end.and_then(|end| end.partial).expect("it is marked");
    assert!(partial.contains("stopped by the user"), "{partial}");
}

#[test]
fn control_c_twice_ends_the_program_at_once_and_leaves_a_readable_file() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    let mut running = loaded(&server, &folder);
    let path = folder.file("out.rrul.part");
    wait_until("the first frames on disk", || recording(&path).frames.len() >= 2);
    // A server that stands still keeps the client waiting for its last observations.
    server.signal("STOP");
    running.signal("INT");
    running.wait_for("press again to quit at once");
    let asked = Instant::now();
    running.signal("INT");
    let ended = running.end();
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?} after the second signal", asked.elapsed());
    assert_eq!(ended.code, Some(130), "as shells name an end by SIGINT: {ended:#?}");
    assert_eq!(folder.recordings(), ["out.rrul.part"]);
    assert!(Verdict::of(&path).doubts().contains(&"partial"));
}

#[test]
fn control_c_while_connecting_leaves_nothing() {
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = Folder::with_plan();
    let running = Running::start(run_short(&folder, &peer.local_addr().unwrap().to_string(), &[]));
    let _taken = peer.accept().unwrap();
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.took < Duration::from_secs(9), "{:?}", ended.took);
    assert_eq!(folder.recordings(), [""; 0]);
}

#[test]
fn control_c_while_flows_are_being_set_up_leaves_nothing() {
    let (opened, told) = std::sync::mpsc::channel();
    // It grants the test, and then says nothing: streams are accepted by the kernel only.
    let peer = Peer::new(move |mut stream| {
        read_opening(&mut stream);
        stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
        welcome(&mut stream);
        let _: ClientMessage = control_link::read(&mut stream, PATIENCE, Compression::Never).unwrap();
        control_link::write(
            &mut stream,
            &ServerMessage::Opened { refused: Vec::new(), state: None, ends_load: true },
            Compression::Never,
        )
        .unwrap();
        opened.send(()).unwrap();
        stay_silent(&mut stream);
    });
    let folder = Folder::with_plan();
    let running = Running::start(run_short(&folder, &peer.name(), &[]));
    told.recv_timeout(PATIENCE).unwrap();
    let asked = Instant::now();
    running.signal("INT");
    let ended = running.end();
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?} after the signal", asked.elapsed());
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.ends_with("rrul: stopped before the test began\n"), "{ended:#?}");
    assert_eq!(folder.recordings(), [""; 0]);
}

/// When an end last observed something, nanoseconds after T0.
fn last_observed(recording: &Recording, point: ObservationPoint) -> i64 {
    let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
    rows.map(|row| row.at.0).max().unwrap_or(i64::MIN)
}

#[test]
fn a_client_that_is_killed_loses_two_seconds_at_most() {
    let mut server = Server::start(&[]);
    let folder = Folder::with_plan();
    let mut running = loaded(&server, &folder);
    let path = folder.file("out.rrul.part");
    // Into the load, so that something can be lost.
    running.wait_for(": load     5 s left");
    let killed = RawTime::now();
    running.signal("KILL");
    assert_eq!(running.end().signal, Some(9));
    assert_eq!(folder.recordings(), ["out.rrul.part"]);
    let recording = recording(&path);
    assert!(recording.end.is_none(), "nothing says that it was complete");
    let killed = killed.0 - recording.header.clocks.client_origin;
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let lost = killed - last_observed(&recording, point);
        assert!(lost < 2_000_000_000, "{point:?}: {lost} ns are lost");
    }
    let mut command = Command::new(PROGRAM);
    command.arg("show").arg(&path);
    let shown = end_of(command);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(1), ""), "{shown:#?}");
    assert!(
        shown.stdout.contains("The recording is incomplete: ") && shown.stdout.contains("Under load (BE, EF)"),
        "{shown:#?}"
    );
    wait_until("the end of the session at the server", || server.log().contains("session closed"));
    server.assert_sound();
}

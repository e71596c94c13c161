//! A server through many sessions: clients that vanish, and clients at the same time.

use std::fs;
use std::process::Command;

use rrul_proto::control::ClientMessage;

use crate::client::Client;
use crate::program::{Folder, PROGRAM, Running, Server, end_of, run_short, wait_until};
use crate::verdict::Verdict;

/// The resources of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holdings {
    /// VmRSS, KiB.
    pub(crate) memory: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: usize,
}

pub(crate) fn holdings(process: u32) -> Holdings {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
    };
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    Holdings { memory: number("VmRSS:"), threads: number("Threads:"), descriptors }
}

/// Opens a session, goes more or less far with it, and is gone.
pub(crate) fn vanish(server: &Server, round: usize) {
    let mut client = Client::new(server.address());
    if round % 2 == 1 {
        return;
    }
    let flows = client.open_test();
    let streams = client.open_streams(&flows);
    match round % 8 {
        0 => client.begin(),
        2 => client.say(&ClientMessage::Time { id: 1 }),
        _ => {}
    }
    // In one order or the other: streams first, or the control connection first.
    if round.is_multiple_of(4) {
        drop(streams);
        drop(client);
    } else {
        drop(client);
        drop(streams);
    }
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let mut server = Server::start(&[]);
    let idle = holdings(server.process());
    (0..200).for_each(|round| vanish(&server, round));
    // The bytes of the load are one file for all sessions, which the first has opened; and the thread that reflects opens one of
    // its own, on a busy machine after the server has said that it listens.
    let mut warm = holdings(server.process());
    wait_until("the end of every thread and connection of the first sessions", || {
        warm = holdings(server.process());
        warm.threads == idle.threads && warm.descriptors <= idle.descriptors + 2
    });
    (0..400).for_each(|round| vanish(&server, round));
    wait_until("a server at rest", || {
        let now = holdings(server.process());
        (now.threads, now.descriptors) == (warm.threads, warm.descriptors)
    });
    let after = holdings(server.process());
    // Heaps of threads grow as each new thread takes the next: by up to 5 MiB in the first 600 sessions and 0.1 MiB in the
    // next thousand. What every session left behind, were it only 10 KiB, would be 4 MiB.
    assert!(after.memory < warm.memory + 3 * 1024, "idle {idle:?}, warm {warm:?}, after {after:?}");
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, &server.name(), &[]));
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    server.assert_sound();
}

#[test]
fn two_clients_at_the_same_time_both_get_a_result_that_says_so() {
    let mut server = Server::start(&[]);
    let folders = [Folder::with_plan(), Folder::with_plan()];
    let runs: Vec<_> = folders.iter().map(|folder| Running::start(run_short(folder, &server.name(), &[]))).collect();
    for (run, folder) in runs.into_iter().zip(&folders) {
        let ended = run.end();
        Verdict::of(&folder.file("out.rrul")).assert_good_but(&ended, &["server_shared"]);
    }
    server.assert_sound();
}

#[test]
fn a_server_whose_log_is_not_read_goes_on_serving() {
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--port", "0", "--listen", "127.0.0.1"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut server = Server::logging_to(command, writer.into());
    drop(reader);
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, &server.name(), &[]));
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    server.assert_sound();
}

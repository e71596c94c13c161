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
fn two_hundred_clients_that_vanish_leave_nothing_behind() {
    let mut server = Server::start(&[]);
    let idle = holdings(server.process());
    (0..20).for_each(|round| vanish(&server, round));
    let ended = || holdings(server.process()).threads == idle.threads;
    wait_until("the end of every thread of the first sessions", ended);
    // The bytes of the load are one file for all sessions, which the first has opened.
    let warm = holdings(server.process());
    assert!(warm.descriptors <= idle.descriptors + 1, "idle {idle:?}, warm {warm:?}");
    (0..200).for_each(|round| vanish(&server, round));
    wait_until("a server at rest", || {
        let now = holdings(server.process());
        (now.threads, now.descriptors) == (warm.threads, warm.descriptors)
    });
    let after = holdings(server.process());
    // Heaps of threads grow a little as each new thread takes the next: about 1 MiB in 200 sessions and 2 MiB in 6000. What
    // every session left behind, were it only 20 KiB, would be twice that.
    assert!(after.memory < warm.memory + 2 * 1024, "idle {idle:?}, warm {warm:?}, after {after:?}");
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

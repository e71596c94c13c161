//! A server to which its host gives no more threads or descriptors: who comes then is refused as busy, and the server lives on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::privileges::program_for_all;
use crate::program::{Ended, Folder, Server, end_of, rrul, skipped, wait_until};
use crate::quota::Group;

/// A user of whom nothing else runs.
const NOBODY_ELSE: u32 = 64_123;

/// What bounds the tasks of a server. `RLIMIT_NPROC` does not bind root, and counts all that a user runs.
enum Limit {
    /// `TasksMax=` of a service.
    Group(Group),
    User,
}

impl Limit {
    fn new() -> Result<Self, String> {
        group_of_tasks().map(Self::Group).or_else(|reason| {
            let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
            let trial = || Command::new("prlimit").arg("--version").stdout(Stdio::null()).uid(NOBODY_ELSE).status();
            let can = is_root && trial().is_ok();
            can.then_some(Self::User).ok_or(format!("{reason}; and prlimit cannot be started as another user"))
        })
    }

    fn server(&self, folder: &Folder) -> Server {
        let mut command = program_for_all(folder);
        command.args(["server", "--port", "0", "--listen", "127.0.0.1", "--egress", "any"]);
        match self {
            Self::Group(group) => Server::spawned(group.command(&command)),
            Self::User => {
                command.uid(NOBODY_ELSE).gid(NOBODY_ELSE);
                Server::spawned(command)
            }
        }
    }

    fn set(&self, server: &Server, most: Option<usize>) {
        match self {
            Self::Group(group) => {
                let most = most.map_or_else(|| "max".to_owned(), |most| most.to_string());
                fs::write(group.0.join("pids.max"), most).unwrap();
            }
            Self::User => {
                let most = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
                limit(server, &format!("--nproc={most}:"));
            }
        }
    }
}

/// Makes a control group in the first hierarchy that limits tasks and can be written to; without a limit so far.
fn group_of_tasks() -> Result<Group, String> {
    let name = format!("rrul-tasks-{}", std::process::id());
    let mut reasons = Vec::new();
    for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"] {
        let folder = Path::new(root).join(&name);
        match fs::create_dir(&folder).map(|()| Group(folder)) {
            // Without the controller a folder of the second version has no such file, and one of a plain file system neither.
            Ok(group) if group.0.join("pids.max").exists() => return Ok(group),
            Ok(_) => reasons.push(format!("{root}: no controller of tasks")),
            Err(error) => reasons.push(format!("{root}: {error}")),
        }
    }
    Err(reasons.join("; "))
}

/// Changes a limit of a running server (prlimit(1)).
fn limit(server: &Server, option: &str) {
    let status = Command::new("prlimit").args(["--pid", &server.process().to_string(), option]).status().unwrap();
    assert!(status.success(), "prlimit {option}: {status}");
}

fn entries(server: &Server, folder: &str) -> usize {
    fs::read_dir(format!("/proc/{}/{folder}", server.process())).unwrap().count()
}

/// How many tasks (`task`) or descriptors (`fd`) the server has when no client is there: as many as half a second before.
fn at_rest(server: &Server, folder: &str) -> usize {
    let (mut before, mut since) = (0, Instant::now());
    wait_until("a server at rest", || {
        let now = entries(server, folder);
        if std::mem::replace(&mut before, now) != now {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_millis(500)
    });
    before
}

fn run(folder: &Folder, server: &Server, name: &str) -> Ended {
    let short = ["run", &server.name(), "--plan", "short.toml", "--set", "load=1s", "--no-wait", "-o", name];
    end_of(rrul(folder, &short))
}

#[test]
fn a_session_without_a_thread_is_refused_as_busy_and_the_next_one_is_served() {
    let test = "a_session_without_a_thread_is_refused_as_busy_and_the_next_one_is_served";
    let limit = match Limit::new() {
        Ok(limit) => limit,
        Err(reason) => return skipped(test, &reason),
    };
    let folder = Folder::with_plan();
    let mut server = limit.server(&folder);
    let tasks = at_rest(&server, "task");
    limit.set(&server, Some(tasks));
    run(&folder, &server, "none").complains(&["busy"]);
    wait_until("the reason in the log", || server.log().contains("no thread is left for this client"));
    server.assert_sound();
    // Some for the connection and a part of what a test needs beside it.
    for more in 1..4 {
        wait_until("the threads' end", || entries(&server, "task") <= tasks);
        limit.set(&server, Some(tasks + more));
        run(&folder, &server, "some").complains(&["busy", "no thread is left for this test"]);
    }
    server.assert_sound();
    limit.set(&server, None);
    let ended = run(&folder, &server, "enough");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    wait_until("the threads' end", || entries(&server, "task") <= tasks);
    server.assert_sound();
}

#[test]
fn a_server_without_a_descriptor_left_serves_on_when_it_has_some_again() {
    let test = "a_server_without_a_descriptor_left_serves_on_when_it_has_some_again";
    if Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped(test, "prlimit is not installed");
    }
    let folder = Folder::with_plan();
    let mut server = Server::start(&[]);
    // What the first session opens for all of them.
    run(&folder, &server, "first");
    let descriptors = at_rest(&server, "fd");
    // The soft limit alone, which may be raised again. Each descriptor has the lowest number that is free.
    let is_free = |number: &usize| !Path::new(&format!("/proc/{}/fd/{number}", server.process())).exists();
    let next = (0..=descriptors).find(is_free).unwrap();
    for more in 0..3 {
        limit(&server, &format!("--nofile={}:", next + more));
        let ended = run(&folder, &server, &format!("with-{more}"));
        assert!(matches!(ended.code, Some(1 | 2)), "{more} more: {ended:#?}");
        server.assert_sound();
    }
    limit(&server, "--nofile=1024:");
    let ended = run(&folder, &server, "enough");
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    wait_until("closed descriptors", || entries(&server, "fd") <= descriptors);
    server.assert_sound();
}

//! The same SQL on Ballista: a scheduler and two executors, each a process of its own.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rrul_archive::questions::QUESTIONS;

use crate::engines::assert_same;
use crate::folder::Folder;

/// Within this an answer or an error must be there after an executor has died.
const LIMIT: Duration = Duration::from_mins(1);

/// A process that ends with the value.
struct Started {
    child: Child,
    first_line: String,
    _output: BufReader<ChildStdout>,
}

impl Started {
    /// A process whose first line says that it is ready.
    fn new(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        output.read_line(&mut first_line).unwrap();
        assert!(!first_line.is_empty(), "{command:?} has ended");
        Self { child, first_line: first_line.trim().to_owned(), _output: output }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler with two executors of one core each.
pub(crate) struct Cluster {
    _scheduler: Started,
    pub(crate) address: String,
    executors: Vec<(Started, PathBuf)>,
}

impl Cluster {
    pub(crate) fn start(folder: &Folder) -> Self {
        let scheduler = Started::new(&mut folder.command(&["archive", "scheduler", "--listen", "127.0.0.1:0"]));
        let address = scheduler.first_line.strip_prefix("scheduler: ").unwrap().to_owned();
        let executors = ["one", "two"].map(|name| {
            // A port that was free just now.
            let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
            let work = folder.0.join(format!("work-{name}"));
            std::fs::create_dir(&work).unwrap();
            let mut command = folder.command(&["archive", "executor", &address, "--listen", &listen, "--cores", "1"]);
            (Started::new(command.env("TMPDIR", &work)), work)
        });
        Self { _scheduler: scheduler, address, executors: executors.into() }
    }

    /// Whether this executor has written rows for the next task.
    fn has_worked(&self, executor: usize) -> bool {
        let mut folders = vec![self.executors[executor].1.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) => return true,
                    Err(_) => {}
                }
            }
        }
        false
    }
}

#[test]
fn two_executors_give_the_same_rows() {
    let folder = Folder::with_runs("cluster", 7, 400);
    let cluster = Cluster::start(&folder);
    for question in QUESTIONS {
        let ours = folder.answer(question.name, &[]);
        assert!(!ours["rows"].as_array().unwrap().is_empty(), "{}", question.name);
        let theirs = folder.answer(question.name, &["--engine", &cluster.address]);
        assert_same(question.name, &cluster.address, &ours, &theirs);
    }
    assert!(cluster.has_worked(0) && cluster.has_worked(1), "one executor did nothing");
    // Days work there too.
    let day = ["--from", "2026-01-09", "--to", "2026-01-09"];
    let rows = folder.number("SELECT COUNT(*) AS amount FROM runs", &day);
    let options = [&day[..], &["--engine", &cluster.address]].concat();
    assert_eq!(folder.number("SELECT COUNT(*) AS amount FROM runs", &options), rows);
    // A mistake is found before anyone is asked.
    let mistaken = ["archive", "query", "runs", "SELECT ips FROM runs", "--engine", &cluster.address];
    let (_, errors) = folder.ends(2, &mistaken);
    assert!(errors.contains("SQL, line 1, column 8: "), "{errors}");
}

/// Pairs of rows of the same run: a question that takes seconds.
const SLOW: &str = "SELECT SUM(a.n * b.n) AS amount FROM delays a JOIN delays b ON a.run_key = b.run_key AND a.phase = b.phase \
    JOIN runs r ON r.run_key = a.run_key WHERE a.n + b.bin > 0";

/// Asks the slow question, does this while both executors work, and returns the exit code and what was printed.
fn interrupted(folder: &Folder, cluster: &mut Cluster, kill: &[usize]) -> (Option<i32>, String, String) {
    let arguments = ["archive", "query", "runs", SLOW, "--format", "csv", "--engine", &cluster.address];
    let mut asking = folder.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !(cluster.has_worked(0) && cluster.has_worked(1)) {
        assert!(began.elapsed() < LIMIT, "the executors do not begin");
        assert!(asking.try_wait().unwrap().is_none(), "the question is too quick to be interrupted");
        std::thread::sleep(Duration::from_millis(20));
    }
    for executor in kill {
        cluster.executors[*executor].0.child.kill().unwrap();
    }
    assert!(asking.try_wait().unwrap().is_none(), "the question is too quick to be interrupted");
    let killed = Instant::now();
    while asking.try_wait().unwrap().is_none() {
        if killed.elapsed() > LIMIT {
            asking.kill().unwrap();
            panic!("neither answer nor error {LIMIT:?} after an executor was killed");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = asking.wait_with_output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    eprintln!("{:.1} s after the kill: {:?}", killed.elapsed().as_secs_f64(), output.status.code());
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn an_executor_killed_in_mid_query_gives_the_right_answer_or_an_error() {
    let folder = Folder::with_runs("killed", 7, 40);
    let right = folder.ends(0, &["archive", "query", "runs", SLOW, "--format", "csv"]).0;
    let mut cluster = Cluster::start(&folder);
    let (code, printed, errors) = interrupted(&folder, &mut cluster, &[0]);
    match code {
        Some(0) => assert_eq!(printed, right),
        code => assert!(code == Some(2) && printed.is_empty() && errors.lines().count() == 1, "{code:?}: {errors}"),
    }
    // The other one goes on.
    let options = ["archive", "query", "runs", SLOW, "--format", "csv", "--engine", &cluster.address];
    assert_eq!(folder.ends(0, &options).0, right);
}

#[test]
fn without_executors_and_without_a_scheduler_a_question_is_an_error() {
    let folder = Folder::with_runs("all-killed", 7, 40);
    let mut cluster = Cluster::start(&folder);
    let (code, printed, errors) = interrupted(&folder, &mut cluster, &[0, 1]);
    assert!(code == Some(2) && printed.is_empty() && errors.lines().count() == 1, "{code:?}: {errors}");
    let address = cluster.address.clone();
    drop(cluster);
    let (_, errors) = folder.ends(2, &["archive", "query", "runs", "bleached_ef", "--engine", &address]);
    assert!(errors.contains(&address) && errors.lines().count() == 1, "{errors}");
}

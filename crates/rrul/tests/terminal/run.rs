//! `rrul run` of a short test in a pseudo-terminal, against a server of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::pseudo_terminal::{HANGS, Terminal};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rrul");

/// One paced stream each way and one probe flow, with as long a load as a test wants.
pub(crate) fn plan(load: &str) -> String {
    format!(
        "title = \"a short test\"
phases = {{ idle = \"1s\", load = \"{load}\", after = \"500ms\" }}
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
pacing_rate = \"20Mbit/s\"
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
each.class = [\"BE\", \"EF\"]
"
    )
}

/// A folder of its own for a test, gone with the value.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rrul-terminal-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server on a free port of 127.0.0.1, killed with the value.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// A server whose words nobody can hear ends.
    _said: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["server", "--port", "0", "--listen", "127.0.0.1"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(',').next());
        Self { child, address: address.expect("the server listens").to_owned(), _said: said }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run in a terminal.
pub(crate) struct Run {
    pub(crate) terminal: Terminal,
    pub(crate) child: Child,
    pub(crate) folder: Folder,
    _server: Server,
}

impl Run {
    /// Starts a run of so much load in a session of its own, whose terminal this is.
    pub(crate) fn start(terminal: Terminal, load: &str, more: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_by(&[], terminal, load, more, variables)
    }

    /// As [`Run::start`], by a command that starts another.
    pub(crate) fn start_by(
        by: &[&str],
        terminal: Terminal,
        load: &str,
        more: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let (server, folder) = (Server::start(), Folder::new());
        fs::write(folder.0.join("short.toml"), plan(load)).unwrap();
        let mut command = Command::new("setsid");
        // Who runs the tests in the background of a shell has them ignore some signals.
        command.args(["--ctty", "env", "--default-signal=QUIT"]).args(by);
        command.args([PROGRAM, "run", &server.address, "--plan", "short.toml", "-o", "out"]).args(more);
        command.current_dir(&folder.0).env_remove("NO_COLOR").env_remove("LC_ALL").env_remove("COLORTERM");
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").envs(variables.iter().copied());
        let child = command.stdin(terminal.end()).stdout(terminal.end()).stderr(terminal.end()).spawn().unwrap();
        Self { terminal, child, folder, _server: server }
    }

    /// Waits until the load is on the screen.
    pub(crate) fn wait_for_load(&self) {
        self.terminal.wait_until("rates of the load", || {
            let rates = self.terminal.lines().iter().map(|line| line.matches("Mbit/s").count()).max();
            self.terminal.has("load, ") && rates >= Some(2)
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        let mut status = None;
        let deadline = Instant::now() + HANGS;
        while status.is_none() {
            status = self.child.try_wait().unwrap();
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.terminal.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(10));
        }
        status.unwrap()
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.folder.0.join("out.rrul")
    }

    /// Asserts that the run was stopped politely: its summary below what was there, its recording kept, exit code 1.
    pub(crate) fn assert_stopped(&mut self) {
        let status = self.end();
        assert_eq!(status.code(), Some(1), "{}", self.terminal.said());
        self.terminal.assert_sane();
        let deadline = Instant::now() + HANGS;
        while !self.terminal.said().contains("recording: out.rrul") {
            assert!(Instant::now() < deadline, "no summary: {}", self.terminal.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.terminal.said();
        assert!(said.contains("stopped by the user") && said.contains("Goodput under load"), "{said}");
        assert!(self.recording().exists());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

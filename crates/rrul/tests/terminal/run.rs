//! `rrul run` of a short test in a pseudo-terminal, against a server of its own.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Folder, PROGRAM, Server};
use crate::pseudo_terminal::{HANGS, Terminal};

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
        let (server, folder) = (Server::start(&[]), Folder::new());
        folder.write("short.toml", plan(load));
        let mut command = Command::new("setsid");
        // Who runs the tests in the background of a shell has them ignore some signals.
        command.args(["--ctty", "env", "--default-signal=QUIT"]).args(by);
        command.args([PROGRAM, "run", &server.name(), "--plan", "short.toml", "-o", "out"]).args(more);
        command.current_dir(folder.path()).env_remove("NO_COLOR").env_remove("LC_ALL").env_remove("COLORTERM");
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
        self.folder.file("out.rrul")
    }

    /// Asserts that the run was stopped politely: its summary below the earlier content, its recording kept, exit code
    /// 1.
    pub(crate) fn assert_stopped(&mut self) {
        let status = self.end();
        assert_eq!(status.code(), Some(1), "{}", self.terminal.said());
        self.terminal.assert_sane();
        let deadline = Instant::now() + HANGS;
        while !self.terminal.said().contains("rrul report out.rrul") {
            assert!(Instant::now() < deadline, "no summary: {}", self.terminal.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.terminal.said();
        assert!(said.contains("stopped by the user") && said.contains("Under load (BE, EF)"), "{said}");
        assert!(self.recording().exists());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

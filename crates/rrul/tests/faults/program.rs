//! The program as a user starts it, with everything that it says and leaves behind.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rrul");

/// Longer than anything here takes on a busy machine; what is not over by then hangs.
const HANGS: Duration = Duration::from_mins(1);

/// Between two looks at a condition that is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// A short test: 4 s, one paced stream each way and one probe flow.
pub(crate) const SHORT: &str = "
title = \"a short test\"
phases = { idle = \"500ms\", load = \"3s\", after = \"500ms\" }
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
pacing_rate = \"20Mbit/s\"
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
class = \"EF\"
";

/// A folder of its own for a test, open to every user, gone with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("rrul-faults-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        Self(path)
    }

    /// A folder that contains [`SHORT`] as `short.toml`.
    pub(crate) fn with_plan() -> Self {
        let folder = Self::new();
        folder.write("short.toml", SHORT);
        folder
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).unwrap();
    }

    /// The names of all recordings in it, whole or not.
    pub(crate) fn recordings(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.contains(".rrul")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `rrul` with these arguments, to be run in this folder.
pub(crate) fn rrul(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(folder.path());
    command
}

/// `rrul run` of `short.toml` in this folder against this server, recorded to `out.rrul`.
pub(crate) fn run_short(folder: &Folder, server: &str, more: &[&str]) -> Command {
    let mut command = rrul(folder, &["run", server, "--plan", "short.toml", "-o", "out"]);
    command.args(more);
    command
}

/// A command that is running, with its output in files.
pub(crate) struct Running {
    child: Child,
    folder: Folder,
    started: Instant,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Running {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let folder = Folder::new();
        let output = |name: &str| Stdio::from(File::create(folder.file(name)).unwrap());
        command.stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr"));
        Self { child: command.spawn().unwrap(), folder, started: Instant::now() }
    }

    /// What it has said on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.file("stderr")).unwrap()).into_owned()
    }

    /// Waits until it has said this on stderr.
    pub(crate) fn wait_for(&mut self, words: &str) {
        wait_until(&format!("\"{words}\" on stderr"), || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended ({ended:?}) before \"{words}\": {}", self.stderr());
            self.stderr().contains(words)
        });
    }

    /// Waits until the load is running: a progress line of the load phase has been printed.
    pub(crate) fn wait_for_load(&mut self) {
        self.wait_for(": load ");
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as INT.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Sends a signal to it and to the programs that it has started, as a terminal does; for a command that leads a
    /// process group.
    pub(crate) fn signal_group(&self, name: &str) {
        send(name, &format!("-{}", self.child.id()));
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        wait_until("the end of the program", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let took = self.started.elapsed();
        let status: ExitStatus = status.unwrap();
        let read = |name: &str| String::from_utf8_lossy(&fs::read(self.folder.file(name)).unwrap()).into_owned();
        let ended = Ended {
            code: status.code(),
            signal: status.signal(),
            stdout: read("stdout"),
            stderr: read("stderr"),
            took,
        };
        assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The one line that a program says which cannot do what it was asked: exit code 2, and nothing else on stderr.
    pub(crate) fn complaint(&self) -> &str {
        assert_eq!(self.code, Some(2), "{self:#?}");
        let line = self.stderr.strip_suffix('\n').unwrap_or(&self.stderr);
        assert!(line.starts_with("rrul: ") && !line.contains('\n'), "not one line: {self:#?}");
        line
    }

    /// Asserts the one line of [`Ended::complaint`] and that it has all of these words.
    pub(crate) fn complains(&self, words: &[&str]) {
        let line = self.complaint();
        for word in words {
            assert!(line.contains(word), "expected \"{word}\" in: {line}");
        }
    }
}

/// Everything that `rrul show --full` prints of a recording.
pub(crate) fn shown_in_full(path: &Path) -> Ended {
    let mut command = Command::new(PROGRAM);
    command.arg("show").arg("--full").arg(path);
    end_of(command)
}

/// Runs a command to its end.
pub(crate) fn end_of(command: Command) -> Ended {
    Running::start(command).end()
}

/// Waits for a condition, and fails when it does not come.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {} s in vain for {what}", HANGS.as_secs());
        std::thread::sleep(LOOK);
    }
}

/// Sends a signal by its name. The shell has this built in, wherever kill(1) is.
pub(crate) fn signal(process: u32, name: &str) {
    send(name, &process.to_string());
}

fn send(name: &str, target: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -s {name} -- {target}")]).status().unwrap();
    assert!(status.success(), "kill -s {name} -- {target}: {status}");
}

/// A running `rrul server`, killed with the value.
pub(crate) struct Server {
    child: Child,
    addresses: Vec<SocketAddr>,
    folder: Folder,
}

impl Server {
    /// A server on a free port of 127.0.0.1.
    pub(crate) fn start(more: &[&str]) -> Self {
        Self::listening(&["127.0.0.1"], more)
    }

    /// A server on a free port of these addresses.
    pub(crate) fn listening(addresses: &[&str], more: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        // What is tested here is not whose turn it is.
        command.args(["server", "--port", "0", "--egress", "any"]).args(more);
        for address in addresses {
            command.args(["--listen", address]);
        }
        Self::spawned(command)
    }

    /// The server that this command starts, once it listens.
    pub(crate) fn spawned(command: Command) -> Self {
        let folder = Folder::new();
        let log = File::create(folder.file("log")).unwrap();
        Self::started(command, log.into(), folder)
    }

    /// As [`Server::spawned`], with its log somewhere else.
    pub(crate) fn logging_to(command: Command, log: Stdio) -> Self {
        let folder = Folder::new();
        folder.write("log", "");
        Self::started(command, log, folder)
    }

    /// The server of this command as a service manager starts it (sd_listen_fds(3)): with a listener as descriptor 3, and as 4 a
    /// UDP socket, where one is given.
    pub(crate) fn activated(command: &Command, listener: OwnedFd, datagram: Option<OwnedFd>) -> Self {
        let folder = Folder::new();
        let mut child = activated(command, listener, datagram, &folder.file("log"));
        let child = child.stdout(Stdio::piped()).spawn().unwrap();
        Self::of_child(child, folder)
    }

    fn started(mut command: Command, log: Stdio, folder: Folder) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        Self::of_child(child, folder)
    }

    fn of_child(mut child: Child, folder: Folder) -> Self {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut addresses = Vec::new();
        while let Some(Ok(line)) = lines.next() {
            match line.strip_prefix("listening on ").and_then(|rest| rest.strip_suffix(", TCP and UDP")) {
                Some(address) => addresses.push(address.parse().unwrap()),
                None => break,
            }
        }
        let server = Self { child, addresses, folder };
        assert!(!server.addresses.is_empty(), "the server did not come up: {}", server.log());
        server
    }

    /// Its first address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Its port, the same for all addresses.
    pub(crate) fn port(&self) -> u16 {
        self.address().port()
    }

    /// Its first address as a user types it.
    pub(crate) fn name(&self) -> String {
        self.address().to_string()
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.process(), name);
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) {
        self.child.wait().unwrap();
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.file("log")).unwrap()).into_owned()
    }

    /// Asserts that it is alive and no thread of it has panicked.
    pub(crate) fn assert_sound(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "the server has ended ({ended:?}): {}", self.log());
        assert!(!self.log().contains("panicked"), "{}", self.log());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This command as a service manager starts it, with its log in this file. The shell has its process number, which stays the
/// program's, and gives each socket its place.
pub(crate) fn activated(command: &Command, listener: OwnedFd, datagram: Option<OwnedFd>, log: &Path) -> Command {
    let mut started = Command::new("sh");
    let script = "exec 3<&0 4<&2 </dev/null 2>\"$0\"; export LISTEN_PID=$$; exec \"$@\"";
    started.arg("-c").arg(script).arg(log).arg(command.get_program()).args(command.get_args());
    started.env("LISTEN_FDS", if datagram.is_some() { "2" } else { "1" }).stdin(listener);
    started.stderr(datagram.map_or_else(Stdio::null, Stdio::from));
    started
}

/// Notes, as CONTRIBUTING.md asks, that a test cannot run on this machine.
pub(crate) fn skipped(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RRUL_SKIPPED") {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

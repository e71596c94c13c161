//! The host whose shaper is set: this one, or one reached by the system's ssh.
//!
//! One connection serves all commands (ControlMaster), and its own session is a watch: a shell that restores the shaper when
//! the connection ends, or when it hears nothing for [`SILENCE`].

use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::restoration::{Restoration, SSH_OPTIONS};
use super::shaper::ShaperError;
use super::shaper_address::SshDestination;
use super::shell::{self, Finished, quote};

/// How long the watch on another host hears nothing before it restores the shaper.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// How often the watch is sent a line.
const BEAT: Duration = Duration::from_secs(5);

/// How long a command may take, and connecting.
const LIMIT: Duration = Duration::from_secs(20);

/// How long the end of a connection is waited for.
const ENDING: Duration = Duration::from_secs(5);

/// What the name of a connection's folder begins with, and its socket.
const FOLDER: &str = "rrul-ssh-";
const SOCKET: &str = "c";

/// The exit code of ssh when the connection failed.
const SSH_FAILED: i32 = 255;

/// The watch: it knows what to restore after `arm`. It restores twice, as a command of its session may still be at work the
/// first time. A shell of another session that still watches is respected; for one that restores, it waits.
pub(super) const WATCH: &str = r#"trap "" HUP INT QUIT TERM PIPE
p=${XDG_RUNTIME_DIR:-/var/run}/rrul-tune.pid
i=0
while o=$(cat "$p" 2>/dev/null) && kill -0 "$o" 2>/dev/null; do
  if [ $i = 5 ]; then echo "busy $o"; exit 0; fi
  i=$((i + 1)); sleep 1
done
{ echo $$ >"$p"; } 2>/dev/null || p=
r=
echo ready
while read -t 30 -r word rest; do
  case $word in
    arm) r=$rest; echo armed;;
    disarm) r=; echo disarmed;;
    end) r=; break;;
  esac
done
o=
if [ -n "$r" ]; then for w in 3 2 4 8 0; do
  if ( eval "$r" ) >/dev/null 2>&1 </dev/null; then [ -z "$o" ] || break; o=once; fi
  sleep $w
done; fi
[ -z "$p" ] || rm -f "$p""#;

/// The host whose shaper is set.
pub(crate) struct Host {
    connection: Option<Connection>,
}

impl Host {
    /// This host.
    pub(crate) fn here() -> Self {
        Self { connection: None }
    }

    /// Connects to another host. `ssh` is the program.
    pub(crate) fn connect(destination: &SshDestination, ssh: &str) -> Result<Self, ShaperError> {
        Ok(Self { connection: Some(Connection::open(destination, ssh)?) })
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        self.connection.as_ref().map_or_else(|| "this host".to_owned(), |connection| connection.destination.to_string())
    }

    /// How ssh reaches it; `None` is this host.
    pub(crate) fn destination(&self) -> Option<SshDestination> {
        self.connection.as_ref().map(|connection| connection.destination.clone())
    }

    /// Runs commands of a POSIX shell to their end. Errors name them as `what`.
    pub(crate) fn run(&mut self, what: &str, script: &str) -> Result<Finished, ShaperError> {
        let place = self.name();
        let Some(connection) = &mut self.connection else {
            return shell::finish(&mut shell::shell(script), &place, what, LIMIT);
        };
        let finished = shell::finish(&mut connection.command(script), &place, what, LIMIT)?;
        if finished.code == Some(SSH_FAILED) {
            return Err(connection.lost(finished.complaint()));
        }
        Ok(finished)
    }

    /// Makes another host restore the shaper when this process is gone or cannot be reached.
    pub(crate) fn arm(&mut self, restoration: &Restoration) -> Result<(), ShaperError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.order(&format!("arm {}", restoration.script), "armed")?;
        connection.armed = true;
        Ok(())
    }

    /// Ends [`Self::arm`].
    pub(crate) fn disarm(&mut self) -> Result<(), ShaperError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.armed = false;
        connection.order("disarm", "disarmed")
    }
}

/// A connection to another host.
struct Connection {
    destination: SshDestination,
    ssh: String,
    /// The private folder of the socket by which commands share the connection.
    folder: PathBuf,
    watch: Child,
    /// `None` only while being dropped.
    input: Option<Arc<Mutex<ChildStdin>>>,
    lines: Receiver<String>,
    /// Ends the thread that sends a line now and then.
    stop: Option<Sender<()>>,
    beating: Option<JoinHandle<()>>,
    /// The watch would restore the shaper now.
    armed: bool,
}

impl Connection {
    fn open(destination: &SshDestination, ssh: &str) -> Result<Self, ShaperError> {
        let folder = private_folder()?;
        let try_shell = "echo | $s -c 'read -t 1 -r x' 2>/dev/null";
        let watch_there = format!(
            "for s in sh bash 'busybox sh'; do if {try_shell}; then exec $s -c {}; fi; done; echo unfit",
            quote(WATCH)
        );
        let mut command = Command::new(ssh);
        for option in SSH_OPTIONS {
            command.args(["-o", option]);
        }
        command.args(["-o", "ControlMaster=yes", "-o"]).arg(control_path(&folder));
        command.arg(destination.as_str()).arg(format!("sh -c {}", quote(&watch_there)));
        // Ctrl-C is for this process, which restores the shaper by this connection.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let unreachable = |message: String| ShaperError::Connect { place: destination.to_string(), message };
        let mut watch = command.spawn().map_err(|error| {
            let _ = fs::remove_dir_all(&folder);
            unreachable(format!("{ssh}: {error}"))
        })?;
        let complaints = watch.stderr.take().map(complaints);
        let lines = watch.stdout.take().map_or_else(|| channel().1, lines);
        let input = watch.stdin.take().map(|pipe| Arc::new(Mutex::new(pipe)));
        let mut connection = Self {
            destination: destination.clone(),
            ssh: ssh.to_owned(),
            folder,
            watch,
            input,
            lines,
            stop: None,
            beating: None,
            armed: false,
        };
        let end = Instant::now() + LIMIT;
        loop {
            match connection.lines.recv_timeout(end.saturating_duration_since(Instant::now())).as_deref() {
                Ok("ready") => break,
                Ok("unfit") => {
                    let reason = "its shells cannot watch over the shaper; install bash or busybox there".to_owned();
                    return Err(ShaperError::Refused { place: destination.to_string(), reason });
                }
                Ok(line) => {
                    // Other lines are of its start-up files.
                    if let Some(process) = line.strip_prefix("busy ").and_then(|number| number.parse().ok()) {
                        return Err(ShaperError::Busy { place: destination.to_string(), process });
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(unreachable(format!("no answer within {} s", LIMIT.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let said = complaints.and_then(|said| said.recv_timeout(ENDING).ok()).unwrap_or_default();
                    return Err(unreachable(format!("{said}; try it by hand: ssh {destination}")));
                }
            }
        }
        connection.beat();
        Ok(connection)
    }

    /// Sends the watch a line now and then.
    fn beat(&mut self) {
        let Some(input) = self.input.clone() else { return };
        let (stop, stopped) = channel();
        self.stop = Some(stop);
        self.beating = Some(thread::spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // If this fails the connection is gone, and the next command reports it.
                let _ = locked(&input).write_all(b"beat\n");
            }
        }));
    }

    /// A command by this connection and no other.
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.ssh);
        command.args(["-o", "BatchMode=yes", "-o", "RequestTTY=no", "-o", "ControlMaster=no", "-o"]);
        command.arg(control_path(&self.folder));
        // Without the shared connection a new one would begin, without a watch.
        command.args(["-o", "ProxyCommand=false"]);
        command.arg(self.destination.as_str()).arg(format!("sh -c {}", quote(script)));
        command
    }

    /// Sends the watch a line, and waits for its answer.
    fn order(&mut self, order: &str, expected: &str) -> Result<(), ShaperError> {
        let sent = self.input.as_ref().map(|input| locked(input).write_all(format!("{order}\n").as_bytes()));
        let answer = match sent {
            Some(Ok(())) => self.lines.recv_timeout(LIMIT).unwrap_or_default(),
            _ => String::new(),
        };
        if answer == expected { Ok(()) } else { Err(self.lost(format!("it answered \"{answer}\""))) }
    }

    fn lost(&self, message: String) -> ShaperError {
        let place = self.destination.to_string();
        if self.armed { ShaperError::Lost { place, within: SILENCE } } else { ShaperError::Connect { place, message } }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.armed
            && let Some(input) = &self.input
        {
            let _ = locked(input).write_all(b"end\n");
        }
        drop(self.stop.take());
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        // Now the pipe is closed: a watch that is armed restores the shaper.
        drop(self.input.take());
        let end = Instant::now() + ENDING;
        while matches!(self.watch.try_wait(), Ok(None)) {
            if Instant::now() >= end {
                let _ = self.watch.kill();
                let _ = self.watch.wait();
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn locked(input: &Mutex<ChildStdin>) -> MutexGuard<'_, ChildStdin> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}

fn control_path(folder: &Path) -> String {
    format!("ControlPath={}/{SOCKET}", folder.display())
}

/// A new folder that only this user can look into. Its path is short: sockets have at most 107 bytes.
fn private_folder() -> Result<PathBuf, ShaperError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    remove_abandoned();
    let folder = std::env::temp_dir().join(format!("{FOLDER}{}-{number}", std::process::id()));
    // Left by a process of this number that was killed.
    let _ = fs::remove_dir_all(&folder);
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|source| ShaperError::System { what: "cannot make a folder for the socket of ssh", source })?;
    Ok(folder)
}

/// Removes the folders of sessions that were killed.
fn remove_abandoned() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let process = name.strip_prefix(FOLDER).and_then(|rest| rest.split('-').next());
        let is_gone = |process: &str| !Path::new("/proc").join(process).exists();
        // The process may be one of another container: then its connection answers.
        if process.is_some_and(is_gone) && UnixStream::connect(path.join(SOCKET)).is_err() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// The lines of an output, read on a thread of its own.
fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The last line of an output, once it has ended.
fn complaints(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let last = BufReader::new(output).lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()).last();
        let _ = sender.send(last.unwrap_or_else(|| "the connection ended".to_owned()));
    });
    receiver
}

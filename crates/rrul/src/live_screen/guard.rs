//! The guard: a second process that sets the terminal back when the first was killed and could not.
//!
//! It is this same program, started before the test is. It has one end of a pipe whose other end only the first process
//! has: when that is closed after the terminal was taken and before it was given back, the first process is gone. In a
//! session of its own no signal of the terminal reaches it, and it may set the terminal although it is in no
//! foreground.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::setsid;
use rustix::termios::tcgetattr;

use super::settings::{LEAVE, set_back};

/// What the hidden command is called.
pub(crate) const COMMAND: &str = "guard-terminal";

/// Its name among processes, so that who ends all of `rrul` by name does not end it first.
const NAME: &std::ffi::CStr = c"terminal-guard";

/// The terminal has been taken.
const TAKEN: u8 = b't';
/// The terminal is as it was.
const GIVEN_BACK: u8 = b'.';

/// The guard of a terminal, while it watches.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts it; it has noted how the terminal is set when this returns. `None` when there can be none.
    pub(super) fn start(terminal: impl AsFd) -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let terminal = terminal.as_fd().try_clone_to_owned().ok()?;
        let mut command = Command::new(program);
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal);
        let mut child = command.spawn().ok()?;
        let pipe = child.stdin.take()?;
        let mut ready = [0];
        let noted = child.stdout.take().is_some_and(|mut output| output.read_exact(&mut ready).is_ok());
        let mut guard = Self { child, pipe };
        if !noted {
            let _ = guard.child.wait();
            return None;
        }
        Some(guard)
    }

    /// Announces that the terminal is about to be taken; false when it has died.
    pub(super) fn is_told(&mut self) -> bool {
        self.pipe.write_all(&[TAKEN]).is_ok()
    }

    /// The terminal is as it was: the guard has nothing to do.
    pub(super) fn dismiss(mut self) {
        let _ = self.pipe.write_all(&[GIVEN_BACK]);
        drop(self.pipe);
        let _ = self.child.wait();
    }

    /// Leaves setting back to the guard, which may have to wait for the terminal.
    pub(super) fn leave_to_it(self) {
        drop(self.pipe);
    }
}

/// What the hidden command does.
pub(crate) fn watch() {
    let terminal = std::io::stderr();
    let _ = setsid();
    let _ = rustix::thread::set_name(NAME);
    let Ok(before) = tcgetattr(&terminal) else { return };
    let mut said = std::io::stdout();
    if said.write_all(b".").and_then(|()| said.flush()).is_err() {
        return;
    }
    let mut told = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut told);
    if told.last() != Some(&TAKEN) {
        return;
    }
    let _ = set_back(&terminal, &before);
    let _ = terminal.lock().write_all(LEAVE.as_bytes());
}

//! The guard: a second process that restores the shaper when the first was killed and could not.
//!
//! It is a shell with one end of a pipe whose other end only this process has. When that is closed without a word, this
//! process is gone. It is in a process group of its own and ignores polite signals, so what ends this program does not end
//! it. It has the journal's lock until it is done. It restores twice: a command of the killed session may still have been at
//! work, and changes the shaper after the first time.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};

use super::journal::Journal;
use super::restoration::Restoration;
use super::shaper::ShaperError;
use super::shell;

/// Nothing is to be restored any more.
const DONE: &str = "done";
/// The guard watches.
const READY: &str = "ready";

/// A guard while it watches. Dropping it without [`Guard::dismiss`] makes it restore the shaper.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts it; it watches when this returns.
    pub(crate) fn start(restoration: &Restoration, journal: &Journal, ssh: &str) -> Result<Self, ShaperError> {
        let what = "cannot start the process that restores the shaper if this one is killed";
        let failed = |source| ShaperError::System { what, source };
        let restore = restoration.local_script(ssh);
        let entry = shell::quote(&journal.path().to_string_lossy());
        // Its standard output is the lock, which must not be written to.
        let script = format!(
            "trap '' HUP INT QUIT TERM PIPE; echo {READY} >&2; exec 2>/dev/null; read -r word; \
             [ \"$word\" = {DONE} ] && exit 0; restored=; \
             for wait in 3 2 4 8 0; do if ( {restore} ) >/dev/null </dev/null; then \
             [ -z \"$restored\" ] || {{ rm -f {entry}; exit 0; }}; restored=once; fi; sleep $wait; done"
        );
        let mut command = shell::shell(&script);
        command.process_group(0).stdin(Stdio::piped()).stdout(journal.share_lock()?).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = child.stderr.take() {
            // An early end reads as an empty line.
            let _ = BufReader::new(output).read_line(&mut line);
        }
        match child.stdin.take() {
            Some(pipe) if line.trim_end() == READY => Ok(Self { child, pipe }),
            _ => {
                let _ = child.wait();
                Err(failed(std::io::Error::other(format!("it printed \"{}\"", line.trim_end()))))
            }
        }
    }

    /// Whether it still watches.
    pub(crate) fn watches(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it: nothing is to be restored.
    pub(crate) fn dismiss(mut self) {
        let _ = self.pipe.write_all(format!("{DONE}\n").as_bytes());
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

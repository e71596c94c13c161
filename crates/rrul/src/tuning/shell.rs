//! Programs and shell commands that end within a time limit.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::shaper::ShaperError;

/// How often a program is looked at, at first and at most.
const LOOKING: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// How long the output of a program that has ended is waited for: what it has started may keep it open.
const LAST_OUTPUT: Duration = Duration::from_millis(300);

/// Most of an output that is repeated in an error.
const QUOTED: usize = 300;

/// The program that runs shell commands.
const SHELL: &str = "/bin/sh";

/// Returns the text as one word of a POSIX shell.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a shell on this host that runs `script`.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(script);
    command
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Returns what it printed, or the error of a program that failed.
    pub(crate) fn success(self, place: &str, what: &str) -> Result<String, ShaperError> {
        if self.code == Some(0) {
            return Ok(self.stdout);
        }
        let message = self.complaint();
        Err(ShaperError::Command { place: place.to_owned(), command: what.to_owned(), message })
    }

    /// Returns the last line that it printed, or how it ended.
    pub(crate) fn complaint(&self) -> String {
        let last =
            |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
        let line = last(&self.stderr).or_else(|| last(&self.stdout));
        let ending = || self.code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit code {code}"));
        line.map_or_else(ending, |line| line.chars().take(QUOTED).collect())
    }
}

/// Runs a program to its end, in a process group of its own: Ctrl-C does not stop it half-way.
///
/// # Errors
/// [`ShaperError::TimedOut`] after `limit`; the program is then killed, with all that it started in its group.
pub(crate) fn finish(command: &mut Command, place: &str, what: &str, limit: Duration) -> Result<Finished, ShaperError> {
    let failed = |error: &io::Error| ShaperError::Command {
        place: place.to_owned(),
        command: what.to_owned(),
        message: error.to_string(),
    };
    let command = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env("LC_ALL", "C").spawn().map_err(|error| failed(&error))?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let end = Instant::now() + limit;
    let mut pause = LOOKING.0;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(&error))? {
            break status;
        }
        if Instant::now() >= end {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait();
            return Err(ShaperError::TimedOut { place: place.to_owned(), command: what.to_owned(), limit });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LOOKING.1);
    };
    let text = |output: Option<Receiver<String>>| {
        output.and_then(|output| output.recv_timeout(LAST_OUTPUT).ok()).unwrap_or_default()
    };
    Ok(Finished { code: status.code(), stdout: text(stdout), stderr: text(stderr) })
}

/// Reads everything on a thread of its own.
fn collect(mut output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = output.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> Result<Finished, ShaperError> {
        finish(&mut shell(script), "here", script, limit)
    }

    #[test]
    fn a_quoted_text_is_one_word_of_the_shell() {
        for text in ["", "eth0", "a b", "it's", "$(reboot)", "a;b`c`\"d\\", "*"] {
            let printed = run(&format!("printf %s {}", quote(text)), Duration::from_secs(10)).unwrap();
            assert_eq!(printed.stdout, text);
        }
    }

    #[test]
    fn a_program_that_fails_is_reported_by_its_last_line() {
        let failed = run("echo one >&2; echo two >&2; exit 3", Duration::from_secs(10)).unwrap();
        assert_eq!((failed.code, failed.complaint().as_str()), (Some(3), "two"));
        let said = failed.success("a host", "tc").unwrap_err().to_string();
        assert_eq!(said, "a host: `tc` failed: two");
        assert_eq!(run("exit 4", Duration::from_secs(10)).unwrap().complaint(), "exit code 4");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_what_it_started() {
        let began = Instant::now();
        let error = run("sleep 100 & sleep 100", Duration::from_millis(200)).unwrap_err();
        assert!(matches!(error, ShaperError::TimedOut { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}

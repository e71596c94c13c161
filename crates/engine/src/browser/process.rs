//! A browser's process with its pipes, and the process group of all its children.

#![allow(unsafe_code, reason = "prctl between fork and exec, kill of a process group")]

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rrul_model::units::Delay;

use super::profile::Profile;
use crate::clock::RawTime;
use crate::processor_time;

/// The protocol goes through descriptors 3 and 4. The shell moves them there, and is then the browser itself.
const SHELL: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// How long processes that have been killed may take to be gone.
const DYING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);

/// Processor time, of all processes since the first began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ProcessorTime {
    pub(crate) user: Delay,
    pub(crate) system: Delay,
}

/// The process, and with it its group.
pub(crate) struct Process {
    child: Child,
    group: i32,
    folder: PathBuf,
    spent: ProcessorTime,
}

impl Process {
    /// Starts a program in a process group of its own, with its output in the profile's folder.
    ///
    /// It is killed when the calling thread ends, as it does when this program is killed.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        profile: &Profile,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SHELL, "sh"]).arg(program).args(arguments).current_dir(profile.folder());
        // Nothing of the user's is read or written: certificates, settings and caches lie under these.
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
            command.env(variable, profile.folder());
        }
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(profile.output()?).process_group(0);
        let end_with_parent = || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
                .map_err(io::Error::from)
        };
        // SAFETY: the closure makes one system call; it neither allocates nor takes a lock.
        unsafe { command.pre_exec(end_with_parent) };
        let mut child = command.spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let group = child.id().cast_signed();
        let folder = profile.folder().to_owned();
        let process = Self { child, group, folder, spent: ProcessorTime::default() };
        let (Some(to), Some(from)) = (to, from) else { return Err(io::ErrorKind::BrokenPipe.into()) };
        Ok((process, to, from))
    }

    /// Processor time of the whole group until now: of processes that are, and of those that their parents have seen end.
    pub(crate) fn processor_time(&mut self) -> ProcessorTime {
        let mut now = ProcessorTime::default();
        for member in members(self.group) {
            now.user = now.user + member.user;
            now.system = now.system + member.system;
        }
        // Of a process whose parent ended first nothing is left; its time has been spent all the same.
        self.spent.user = self.spent.user.max(now.user);
        self.spent.system = self.spent.system.max(now.system);
        self.spent
    }

    pub(super) fn end_in_words(&mut self) -> String {
        // The pipe closes a moment before the process can be seen to have ended.
        let until = RawTime::now().plus(500_000_000);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if RawTime::now() < until => std::thread::sleep(LOOK),
                Ok(None) => return "it closed its pipe".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // While the child has not been waited for, its number, and with it the group's, belongs to no other process. Of
        // a child that has, the number is free once the group is empty, and then no process is left to kill.
        let seen = matches!(self.child.try_wait(), Ok(Some(_)));
        if !seen || members(self.group).next().is_some() {
            kill(-self.group);
        }
        // Helpers that left the group can still be identified.
        strays(&self.folder).for_each(kill);
        let until = RawTime::now().plus(i64::try_from(DYING.as_nanos()).unwrap_or(0));
        let mut ended = seen;
        while RawTime::now() < until {
            ended = ended || !matches!(self.child.try_wait(), Ok(None));
            if ended && members(self.group).next().is_none() && strays(&self.folder).next().is_none() {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn kill(process: i32) {
    // SAFETY: plain integers; a process or group that is gone is an error without effect.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// The processes, alive, that were started with this folder as their home.
fn strays(folder: &Path) -> impl Iterator<Item = i32> {
    let mut home = b"HOME=".to_vec();
    home.extend_from_slice(folder.as_os_str().as_encoded_bytes());
    // Those of other users cannot be read, and those that have ended have none.
    processes().filter(move |process| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|octet| *octet == 0).any(|variable| variable == home)
    })
}

/// The numbers of all processes.
fn processes() -> impl Iterator<Item = i32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether this program runs as root, in its user namespace or outside.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// One process, from /proc/PID/stat.
struct Member {
    group: i32,
    alive: bool,
    user: Delay,
    system: Delay,
}

/// The processes of a group that have not ended.
fn members(group: i32) -> impl Iterator<Item = Member> {
    let texts = processes().filter_map(|process| fs::read_to_string(format!("/proc/{process}/stat")).ok());
    texts
        .filter_map(|text| Member::from_stat(&text, processor_time::ticks_per_second()))
        .filter(move |member| member.group == group && member.alive)
}

impl Member {
    /// proc(5); the name in parentheses may hold blanks and parentheses.
    fn from_stat(text: &str, ticks_per_second: u64) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        // The third field of the file is the first here.
        let field = |number: usize| fields.get(number - 3).copied();
        let ticks = |number: usize| field(number)?.parse::<u64>().ok();
        let time = |own: usize, children: usize| {
            let sum = ticks(own)?.saturating_add(ticks(children)?);
            let nanoseconds = u128::from(sum) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
            Some(Delay(i64::try_from(nanoseconds).unwrap_or(i64::MAX)))
        };
        Some(Self {
            group: field(5)?.parse().ok()?,
            alive: !matches!(field(3)?, "Z" | "X"),
            user: time(14, 16)?,
            system: time(15, 17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_with_the_time_of_the_children_that_it_has_seen_end() {
        let text = "77 (a) b (c) S 1 70 60 0 -1 4194560 9 8 7 6 150 50 25 75 20 0 1 0 99 100 5";
        let member = Member::from_stat(text, 100).unwrap();
        assert_eq!((member.group, member.alive), (70, true));
        assert_eq!((member.user, member.system), (Delay(1_750_000_000), Delay(1_250_000_000)));
        assert!(Member::from_stat("77 (a) Z 1 70", 100).is_none(), "what is cut off says nothing");
    }
}

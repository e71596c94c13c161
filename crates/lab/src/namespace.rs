//! Network namespaces without a name: they live as long as a thread or process in them, and no longer.
#![allow(unsafe_code, reason = "unshare of a user namespace; what runs between fork and exec")]

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Signal, getegid, geteuid, getppid, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::error::Error;

/// Moves the calling thread, and the threads it will spawn, into a fresh network namespace.
pub(crate) fn enter_new_network() -> Result<(), Error> {
    let remedy = "; run as root, or call rrul_lab::enter_user_namespace() before any thread is started";
    // SAFETY: no descriptor table is unshared; the calling thread alone changes.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
        .map_err(|error| Error::system("cannot create a network namespace", remedy, error))
}

/// Makes the calling process root of a user namespace of its own, so that a lab can be brought up without being root.
///
/// To be called early: the kernel refuses it to a process that has more than one thread. Only the calling user and group
/// are mapped (both to 0), files are still accessed as that user, and /dev/net/tun must be open to that user for
/// [`crate::available`] to agree afterwards. Root needs none of this.
pub fn enter_user_namespace() -> Result<(), Error> {
    let (user, group) = (geteuid(), getegid());
    let remedy = "; run as root, call this before any thread is started, or allow user namespaces \
                  (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone; Ubuntu 24.04 and later: \
                  kernel.apparmor_restrict_unprivileged_userns=0)";
    // SAFETY: likewise; the kernel itself refuses NEWUSER to a process with several threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }
        .map_err(|error| Error::system("cannot create a user namespace", remedy, error))?;
    // user_namespaces(7): a group map may be written without privilege only after setgroups is denied.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))
}

/// Moves the calling thread into the network namespace at `path`, such as [`crate::Host::namespace_path`] gives, and
/// first into the user namespace beside it where that is another one.
///
/// Takes root, or the user who brought the lab up; the latter in a process of one thread.
pub fn join(path: &Path) -> Result<(), Error> {
    let user = path.with_file_name("user");
    let identity = |path: &Path| fs::metadata(path).map(|file| file.ino());
    let own = identity(Path::new("/proc/self/ns/user")).map_err(Error::io("cannot read /proc/self/ns/user"))?;
    if identity(&user).is_ok_and(|theirs| theirs != own) {
        enter(&user, LinkNameSpaceType::User)?;
    }
    enter(path, LinkNameSpaceType::Network)
}

fn enter(path: &Path, kind: LinkNameSpaceType) -> Result<(), Error> {
    let what = format!("cannot join the namespace {}", path.display());
    let namespace = fs::File::open(path).map_err(Error::io(what.clone()))?;
    let remedy = "; run as root, or as the user who brought the lab up";
    move_into_link_name_space(namespace.as_fd(), Some(kind)).map_err(|error| Error::system(what, remedy, error))
}

/// Lets the process that `command` starts be killed when the thread that spawns it ends, however that ends.
pub fn die_with_spawning_thread(command: &mut Command) {
    let parent = std::process::id();
    let die = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        match getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned()) {
            Some(now) if now == parent => Ok(()),
            // The lab died between fork and prctl: the signal will never come.
            _ => Err(io::Error::from(Errno::SRCH)),
        }
    };
    // SAFETY: the closure allocates nothing and takes no lock, as is required between fork and exec.
    unsafe { command.pre_exec(die) };
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

fn write(path: &str, text: &str) -> Result<(), Error> {
    let remedy = "; run as root, or allow user namespaces (Ubuntu 24.04 and later: sysctl \
                  kernel.apparmor_restrict_unprivileged_userns=0)";
    fs::write(path, text).map_err(|error| Error::system(format!("cannot write \"{text}\" to {path}"), remedy, error))
}

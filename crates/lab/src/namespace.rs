//! Network namespaces without a name: they live as long as a thread or process in them, and no longer.
#![allow(unsafe_code, reason = "unshare, setns and prctl have no safe form in std")]

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::Error;

/// Moves the calling thread, and the threads it will spawn, into a fresh network namespace.
pub(crate) fn enter_new_network() -> Result<(), Error> {
    // SAFETY: unshare takes flags only and changes the calling thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        let remedy = "; run as root, or call rrul_lab::enter_user_namespace() before any thread is started";
        return Err(Error::last_os("cannot create a network namespace", remedy));
    }
    Ok(())
}

/// Makes the calling process root of a user namespace of its own, so that a lab can be brought up without being root.
///
/// To be called early: the kernel refuses it to a process that has more than one thread. Only the calling user and group
/// are mapped (both to 0), files are still accessed as that user, and /dev/net/tun must be open to that user for
/// [`crate::available`] to agree afterwards. Root needs none of this.
pub fn enter_user_namespace() -> Result<(), Error> {
    // SAFETY: these two take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: unshare takes flags only; the kernel itself refuses CLONE_NEWUSER to a process with several threads.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) } != 0 {
        let remedy = "; run as root, call this before any thread is started, or allow user namespaces \
                      (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)";
        return Err(Error::last_os("cannot create a user namespace", remedy));
    }
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
        enter(&user, libc::CLONE_NEWUSER)?;
    }
    enter(path, libc::CLONE_NEWNET)
}

fn enter(path: &Path, kind: libc::c_int) -> Result<(), Error> {
    let what = format!("cannot join the namespace {}", path.display());
    let namespace = fs::File::open(path).map_err(Error::io(what.clone()))?;
    // SAFETY: the file is open for the length of the call; a file of another kind is refused by the kernel.
    if unsafe { libc::setns(namespace.as_raw_fd(), kind) } != 0 {
        return Err(Error::last_os(what, "; run as root, or as the user who brought the lab up"));
    }
    Ok(())
}

/// Lets the process that `command` starts be killed when the thread that spawns it ends, however that ends.
pub fn die_with_spawning_thread(command: &mut Command) {
    let parent = std::process::id();
    let die = move || {
        // SAFETY: prctl and getppid are async-signal-safe system calls; PR_SET_PDEATHSIG takes one number.
        let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        // SAFETY: getppid takes nothing and cannot fail.
        let orphaned = unsafe { libc::getppid() } as u32 != parent;
        match (set, orphaned) {
            (0, false) => Ok(()),
            // The lab died between fork and prctl: the signal will never come.
            (0, true) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure allocates nothing and takes no lock, as is required between fork and exec.
    unsafe { command.pre_exec(die) };
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_number() -> u32 {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::gettid() as u32 }
}

fn write(path: &str, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(format!("cannot write \"{text}\" to {path}")))
}

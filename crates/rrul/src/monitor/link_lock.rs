//! Who may load an interface of this host: a monitor alone, or tests that people start. A lock that ends with its process
//! (flock(2)).
//!
//! A monitor takes the lock for itself while it loads the line. Tests that people start share it: their servers have them
//! wait for one another.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_engine::client::{RunError, RunOptions, addresses_under_test};
use rrul_engine::environment::InterfaceMeter;
use rrul_model::flow::{AddressFamily, Component};

use crate::live_screen::terminal;

/// Where every user of this host may lock.
const PLACE: &str = "/run/lock";

/// Between two attempts to get the lock.
const LOOK: Duration = Duration::from_millis(200);

/// The lock of an interface, held until it is dropped.
#[derive(Debug)]
pub(crate) struct LinkLock(#[expect(dead_code, reason = "closing the file ends the lock")] File);

impl LinkLock {
    /// Takes the lock of this interface for a monitor; `None` when another process has it or shares it.
    ///
    /// # Errors
    /// When the lock has no place.
    pub(crate) fn take(interface: &str) -> io::Result<Option<Self>> {
        locked(open(&place_of(interface))?, File::try_lock)
    }

    /// Shares the lock of this interface with others that do; `None` when a monitor has it.
    fn share(interface: &str) -> io::Result<Option<Self>> {
        locked(open(&place_of(interface))?, File::try_lock_shared)
    }
}

/// Shares the line to a server, and waits while a monitor of this host loads it. `None` where the test
/// loads nothing, the lock has no place, or no interface leads to the server: the test itself reports that.
///
/// # Errors
/// When the server has no address, when the user stops, and when a monitor loads the line and the test is not to wait.
pub(crate) fn share_line(options: &RunOptions, stop: &AtomicBool) -> Result<Option<LinkLock>, RunError> {
    if !options.plan.flows(&AddressFamily::ALL).iter().any(|flow| flow.component == Component::Load) {
        return Ok(None);
    }
    let addresses = addresses_under_test(&options.server, options.port, options.families)?;
    let Ok(meter) = InterfaceMeter::towards(&addresses) else { return Ok(None) };
    let interface = meter.names();
    let mut told = false;
    while let Ok(lock) = LinkLock::share(interface) {
        if lock.is_some() {
            return Ok(lock);
        }
        let reason = format!("a monitor of this host runs a test over {interface}");
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Stopped);
        }
        if !options.wait {
            return Err(RunError::Busy { server: options.server.clone(), reason, waits: false });
        }
        if !std::mem::replace(&mut told, true) {
            terminal::say(&format!("rrul: waiting: {reason}"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

/// The file of an interface. Each network namespace has interfaces of its own.
fn place_of(interface: &str) -> PathBuf {
    let place = Path::new(PLACE);
    let place = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
    let namespace = std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |metadata| metadata.ino());
    place.join(format!("rrul-{namespace}-{}.lock", interface.replace('/', "_")))
}

fn open(path: &Path) -> io::Result<File> {
    // For a lock the file needs no right to write: it may be another user's.
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            File::options().write(true).create(true).truncate(false).open(path)
        }
        opened => opened,
    }
}

fn locked(file: File, lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<Option<LinkLock>> {
    match lock(&file) {
        Ok(()) => Ok(Some(LinkLock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_has_an_interface_alone_and_tests_of_people_share_it() {
        let interface = format!("none{}", std::process::id());
        let take = || LinkLock::take(&interface).unwrap();
        let share = || LinkLock::share(&interface).unwrap();
        let monitor = take();
        assert!(monitor.is_some() && take().is_none() && share().is_none());
        drop(monitor);
        let (one, two) = (share(), share());
        assert!(one.is_some() && two.is_some() && take().is_none());
        drop((one, two));
        assert!(take().is_some());
        std::fs::remove_file(place_of(&interface)).unwrap();
    }
}

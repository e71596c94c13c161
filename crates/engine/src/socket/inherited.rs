//! Sockets that the service manager has opened for this process (sd_listen_fds(3)).

#![allow(unsafe_code, reason = "descriptors that come by their numbers")]

use std::fmt;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::Socket;

/// A socket of the service manager. Whether it is of any use is for its taker to find out.
#[derive(Debug)]
pub struct InheritedSocket {
    pub(crate) socket: Socket,
    descriptor: RawFd,
    /// As the service manager calls it: the unit, if that names nothing else.
    name: String,
}

impl fmt::Display for InheritedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "descriptor {} ({})", self.descriptor, self.name)
    }
}

#[cfg(test)]
impl InheritedSocket {
    /// A socket as if it had come from a service manager.
    pub(crate) fn from_test(socket: impl Into<Socket>, descriptor: RawFd) -> Self {
        Self { socket: socket.into(), descriptor, name: "rrul-server.socket".to_owned() }
    }
}

/// Takes the sockets that the service manager has opened for this process; none when it has opened none, or they were taken before.
///
/// # Errors
/// When the environment speaks of sockets (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES) and they are not there.
pub fn take_inherited() -> io::Result<Vec<InheritedSocket>> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let own = |(descriptor, name)| {
        // SAFETY: the descriptor is open, which was looked up just now. The service manager has opened it for this process and no
        // other part of it (LISTEN_PID), and it is taken once.
        let socket = Socket::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        InheritedSocket { socket, descriptor, name }
    };
    Ok(sd_notify::listen_fds_with_names()?.map(own).collect())
}

//! Waiting for sockets, to the nanosecond (ppoll).

#![allow(unsafe_code, reason = "ppoll")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A set of sockets to wait for, built once and reused.
#[derive(Debug, Default)]
pub struct WaitSet {
    entries: Vec<libc::pollfd>,
}

impl WaitSet {
    /// The set of these sockets. They must stay open while it is used; a closed one counts as ready.
    pub fn new<'a, S: AsFd + 'a>(sockets: impl IntoIterator<Item = &'a S>) -> Self {
        let entry = |socket: &S| libc::pollfd { fd: socket.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        Self { entries: sockets.into_iter().map(entry).collect() }
    }

    /// Waits until a socket has something to read, an error or a stamp, or `timeout` has passed.
    ///
    /// # Errors
    /// As ppoll(2); an interruption is no error, only an early return.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        poll(&mut self.entries, timeout)
    }

    /// Whether the socket at this place in the set was ready when the last wait ended.
    pub fn ready(&self, place: usize) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.revents != 0)
    }
}

/// Waits until the socket takes more octets, has failed, or `timeout` has passed.
///
/// # Errors
/// As ppoll(2).
pub fn writable(socket: &impl AsFd, timeout: Duration) -> io::Result<()> {
    poll(&mut [libc::pollfd { fd: socket.as_fd().as_raw_fd(), events: libc::POLLOUT, revents: 0 }], timeout)
}

fn poll(entries: &mut [libc::pollfd], timeout: Duration) -> io::Result<()> {
    let timeout =
        libc::timespec { tv_sec: timeout.as_secs().min(3600) as libc::time_t, tv_nsec: timeout.subsec_nanos().into() };
    // SAFETY: the entries and the timeout are valid for the call; no signal mask is given.
    let ready = unsafe {
        libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
    };
    if ready >= 0 {
        return Ok(());
    }
    for entry in entries.iter_mut() {
        entry.revents = 0;
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        error => Err(error),
    }
}

/// Waits once for a few sockets; whether any was ready.
///
/// # Errors
/// As ppoll(2).
pub fn readable<S: AsFd>(sockets: &[&S], timeout: Duration) -> io::Result<bool> {
    let mut set = WaitSet::new(sockets.iter().copied());
    set.wait(timeout)?;
    Ok((0..sockets.len()).any(|place| set.ready(place)))
}

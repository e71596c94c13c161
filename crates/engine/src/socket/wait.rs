//! Waiting for sockets, to the nanosecond (ppoll).

#![allow(unsafe_code, reason = "ppoll")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A set of sockets to wait for, built once and reused, or filled anew before each wait.
#[derive(Debug, Default)]
pub struct WaitSet {
    entries: Vec<libc::pollfd>,
}

impl WaitSet {
    /// The set of these sockets. They must stay open while it is used; a closed one counts as ready.
    pub fn new<'a, S: AsFd + 'a>(sockets: impl IntoIterator<Item = &'a S>) -> Self {
        Self { entries: sockets.into_iter().map(|socket| entry(socket, libc::POLLIN)).collect() }
    }

    /// Takes every socket out, and keeps the room.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds a socket at the next place, to wait until it has something to read.
    pub fn add_readable(&mut self, socket: &impl AsFd) {
        self.entries.push(entry(socket, libc::POLLIN));
    }

    /// Adds a socket at the next place, to wait until it takes bytes or has failed: the end of a handshake.
    pub fn add_writable(&mut self, socket: &impl AsFd) {
        self.entries.push(entry(socket, libc::POLLOUT));
    }

    /// Waits until a socket has something to read, an error or a stamp, or `timeout` has passed.
    ///
    /// # Errors
    /// As ppoll(2); an interruption is no error, only an early return.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        poll(&mut self.entries, timeout)
    }

    /// Waits as [`WaitSet::wait`] does, for a loop that goes on whatever happens.
    pub fn wait_or_pause(&mut self, timeout: Duration) {
        // A wait that fails would fail again at once: without this sleep the thread would hold its core for good.
        if self.wait(timeout).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the socket at this place in the set was ready when the last wait ended.
    pub fn ready(&self, place: usize) -> bool {
        self.entries.get(place).is_some_and(|entry| entry.revents != 0)
    }
}

/// Waits until the socket takes more bytes, has failed, or `timeout` has passed.
///
/// # Errors
/// As ppoll(2).
pub fn writable(socket: &impl AsFd, timeout: Duration) -> io::Result<()> {
    poll(&mut [entry(socket, libc::POLLOUT)], timeout)
}

/// Returns whether a call on a socket failed only because it would have to wait, or was interrupted.
pub fn is_not_ready(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn entry(socket: &impl AsFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: socket.as_fd().as_raw_fd(), events, revents: 0 }
}

fn poll(entries: &mut [libc::pollfd], timeout: Duration) -> io::Result<()> {
    let timeout = libc::timespec { tv_sec: timeout.as_secs().min(3600) as _, tv_nsec: timeout.subsec_nanos().into() };
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

//! Tests of probes alone on their way from the threads of their connections to the one that serves them all.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::leased_control::LeasedControl;
use super::session::OpenSession;
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;

/// A test whose T0 is agreed, for which the server does no more than to answer packets.
pub(super) struct LightTest {
    pub(super) control: LeasedControl,
    pub(super) open: OpenSession,
    pub(super) end: Arc<Endpoint>,
    pub(super) clock: TestClock,
    /// T0 on the session clock.
    pub(super) origin: i64,
}

/// Where they wait until that thread takes them, and what wakes it.
pub(super) struct LightHandover {
    waiting: Mutex<Vec<LightTest>>,
    bell: OwnedFd,
}

impl AsFd for LightHandover {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl LightHandover {
    /// An empty one.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::default(), bell })
    }

    /// Takes a test over from the thread of its connection.
    pub(super) fn take(&self, test: LightTest) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(test);
        self.ring();
    }

    /// Wakes the thread that serves them.
    pub(super) fn ring(&self) {
        // It fails when the bell has rung very often, which wakes the thread as well.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Returns the tests that wait, and silences the bell.
    pub(super) fn fetch(&self) -> Vec<LightTest> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

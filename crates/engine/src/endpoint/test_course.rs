//! How far a test has come: agreed, running, stopped. Every thread of one end looks here.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rrul_model::phase::LoadEnd;
use rrul_model::time::TestTime;

use crate::clock::test_clock::TestClock;

/// How long a blocking call may last before its thread looks whether the test has been stopped.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// How often either end makes frames of what it has observed. With the time that handing them on takes, a kill loses less than a second.
pub(crate) const FRAME_INTERVAL: Duration = Duration::from_millis(800);

/// The course of one end's test.
#[derive(Debug)]
pub struct TestCourse {
    /// Nanoseconds of test time.
    length: AtomicI64,
    /// When the load ended early, nanoseconds of test time; `i64::MAX` while it has not.
    load_ended: AtomicI64,
    /// When it was to end.
    load_end_planned: AtomicI64,
    gate: Mutex<Option<Begun>>,
    opened: Condvar,
    ending: AtomicBool,
    stopped: AtomicBool,
}

/// What was agreed when the test began.
#[derive(Debug, Clone, Copy)]
struct Begun {
    clock: TestClock,
    server_origin: i64,
}

impl TestCourse {
    /// One that has not begun, of a test whose phases end at `length`.
    pub fn new(length: TestTime) -> Self {
        Self {
            length: AtomicI64::new(length.0),
            load_ended: AtomicI64::new(i64::MAX),
            load_end_planned: AtomicI64::new(i64::MAX),
            gate: Mutex::new(None),
            opened: Condvar::new(),
            ending: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        }
    }

    /// T0 is agreed, on this host's clock and on the server's session clock; every thread that waits goes on.
    pub fn begin(&self, clock: TestClock, server_origin: i64) {
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(Begun { clock, server_origin });
        self.opened.notify_all();
    }

    /// When the last phase ends.
    pub fn length(&self) -> TestTime {
        TestTime(self.length.load(Ordering::Relaxed))
    }

    /// The last phase ends earlier than it could.
    pub fn shorten(&self, length: TestTime) {
        self.length.fetch_min(length.0, Ordering::Relaxed);
    }

    /// The load ends earlier than planned, and so does all that follows it.
    pub fn end_load(&self, end: LoadEnd) {
        self.load_end_planned.store(end.planned.0, Ordering::Relaxed);
        self.load_ended.store(end.at.0, Ordering::Release);
        self.length.store(end.moved(self.length()).0, Ordering::Relaxed);
    }

    /// When what was planned to end at `planned` ends.
    pub fn ends(&self, planned: TestTime) -> TestTime {
        let at = TestTime(self.load_ended.load(Ordering::Acquire));
        LoadEnd { at, planned: TestTime(self.load_end_planned.load(Ordering::Relaxed)) }.moved(planned)
    }

    /// When a flow that asks, and is answered, ends: with the last phase at the latest. Other streams go on until their planned
    /// end, as the server does not learn that the last phase ends early, and takes their earlier end for a failure.
    pub fn asks_until(&self, planned: TestTime) -> TestTime {
        self.ends(planned).min(self.length())
    }

    /// T0 on the server's session clock, once it is agreed.
    pub fn server_origin(&self) -> Option<i64> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner).map(|begun| begun.server_origin)
    }

    /// From now on a stream that the other end closes has not failed.
    pub fn expect_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Whether the test is about to end before its time, or has.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed) || self.is_stopped()
    }

    /// Ends everything at once; threads notice within [`PATIENCE`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        drop(self.gate.lock());
        self.opened.notify_all();
    }

    /// Whether the test has been stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Waits until T0 is agreed; `None` when the test is stopped before that.
    pub fn wait_for_begin(&self) -> Option<TestClock> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while gate.is_none() && !self.is_stopped() {
            gate = self.opened.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        if self.is_stopped() { None } else { gate.map(|begun| begun.clock) }
    }

    /// The test's clock, once T0 is agreed.
    pub fn clock(&self) -> Option<TestClock> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner).map(|begun| begun.clock)
    }

    /// Sleeps until `due`; `false` as soon as that can no longer come before what was planned to end at `planned` ends, or
    /// the test is stopped.
    pub fn sleep_within(&self, clock: TestClock, due: TestTime, planned: TestTime) -> bool {
        loop {
            let next = due.min(clock.now() + PATIENCE);
            if due >= self.ends(planned) || !self.sleep_until(clock, next) {
                return false;
            }
            if next >= due {
                return true;
            }
        }
    }

    /// Sleeps until `due`, looking now and then whether the test has been stopped; whether it is still on.
    pub fn sleep_until(&self, clock: TestClock, due: TestTime) -> bool {
        loop {
            if self.is_stopped() {
                return false;
            }
            let Ok(left) = u64::try_from(due.0.saturating_sub(clock.now().0)) else { return true };
            if left == 0 {
                return true;
            }
            std::thread::sleep(Duration::from_nanos(left).min(PATIENCE));
        }
    }
}

//! One end of a test: what its threads share.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::time::{TestTime, Window};

use crate::clock::{RawTime, TestClock};
use crate::host_health::HostHealth;
use crate::observer::Observer;
use crate::sampler::Sampler;
use crate::start_line::StartLine;

/// How long a blocking call may last before its thread looks whether the test has been stopped.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// What the threads of one end share, from the first connection to the last frame.
#[derive(Debug)]
pub struct TestEnd {
    /// Where observations go.
    pub observer: Observer,
    /// Reads counters while the test runs.
    pub sampler: Sampler,
    /// What the sampler reads of this host.
    pub health: HostHealth,
    /// Where bulk senders wait for their start.
    pub start_line: StartLine,
    /// Nanoseconds of test time.
    length: AtomicI64,
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

impl TestEnd {
    /// An end that has not begun, of a test whose phases end at `length`.
    pub fn new(point: ObservationPoint, sample_interval: Duration, length: TestTime) -> Self {
        Self {
            observer: Observer::new(point),
            sampler: Sampler::new(sample_interval),
            health: HostHealth::default(),
            start_line: StartLine::default(),
            length: AtomicI64::new(length.0),
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

    /// The last phase ends earlier than it could: probes and traces send nothing that is due later.
    pub fn shorten(&self, length: TestTime) {
        self.length.fetch_min(length.0, Ordering::Relaxed);
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
        self.start_line.release_all();
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

    /// Has the segments of the control connection counted, from now on: its octets travel on the link under test. Where
    /// there is no descriptor left for that, they are not.
    pub fn watch_control(&self, control: &TcpStream) {
        if let Ok(control) = control.try_clone() {
            let always = Window { from: TestTime(i64::MIN), to: TestTime(i64::MAX) };
            self.sampler.watch_slowly(FlowId::CONTROL, always, &Arc::new(control));
        }
    }

    /// Notes what happened to a flow, now.
    pub fn event(&self, flow: FlowId, event: FlowEventKind, detail: impl Into<String>) {
        self.observer.event(RawTime::now(), flow, event, detail);
    }

    /// Notes that a flow has failed. The rest of the test goes on.
    pub fn failed(&self, spec: &FlowSpec, reason: impl Into<String>) {
        self.event(spec.id, FlowEventKind::Failed, reason);
    }
}

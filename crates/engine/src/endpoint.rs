//! One end of a test: what its threads share.

pub mod sampler;
pub mod shared_sampler;
pub mod start_line;
pub mod test_course;

use std::net::TcpStream;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::time::{TestTime, Window};

use crate::clock::RawTime;
use crate::endpoint::sampler::Sampler;
use crate::endpoint::start_line::StartLine;
use crate::endpoint::test_course::TestCourse;
use crate::host_health::HostHealth;
use crate::observer::Observer;

/// What the threads of one end share, from the first connection to the last frame.
#[derive(Debug)]
pub struct Endpoint {
    pub observer: Observer,
    /// Reads counters while the test runs.
    pub sampler: Sampler,
    /// What the sampler reads of this host.
    pub health: HostHealth,
    /// Where bulk senders wait for their start.
    pub start_line: StartLine,
    course: TestCourse,
}

impl Deref for Endpoint {
    type Target = TestCourse;

    fn deref(&self) -> &TestCourse {
        &self.course
    }
}

impl Endpoint {
    /// An end that has not begun, of a test whose phases end at `length`.
    pub fn new(point: ObservationPoint, sample_interval: Duration, length: TestTime) -> Self {
        Self::observed_by(Observer::new(point), sample_interval, length)
    }

    /// The same, with an observer of its own.
    pub fn observed_by(observer: Observer, sample_interval: Duration, length: TestTime) -> Self {
        Self {
            observer,
            sampler: Sampler::new(sample_interval),
            health: HostHealth::default(),
            start_line: StartLine::default(),
            course: TestCourse::new(length),
        }
    }

    /// Ends everything at once; threads notice within [`PATIENCE`](crate::endpoint::test_course::PATIENCE).
    pub fn stop(&self) {
        self.course.stop();
        self.start_line.release_all();
    }

    /// How often counters are read.
    pub(crate) fn sample_interval(&self) -> Duration {
        self.sampler.interval()
    }

    /// Has the sampler read counters until `until`. A thread of its own runs it.
    pub fn sample(&self, until: TestTime) {
        self.sampler.run(&self.course, &self.observer, &self.health, until);
    }

    /// Sends the first bytes of all streams that are due together. A thread of its own runs it.
    pub fn start_streams(&self) {
        self.start_line.run(&self.course, &self.observer);
    }

    /// Waits until a stream's first bytes have been sent, by the start line or, late, here; whether the test goes on.
    pub fn wait_for_start(&self, flow: FlowId, due: TestTime, stream: &Arc<TcpStream>) -> bool {
        self.start_line.wait(&self.course, &self.observer, flow, due, stream)
    }

    /// Notes the last of a flow's counters.
    pub fn finish_sampling(&self, flow: FlowId) {
        self.sampler.finish(&self.course, &self.observer, flow);
    }

    /// Has the segments of the control connection counted, from now on: its bytes travel on the link under test.
    /// Without a free descriptor, they are not.
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

//! The start line: all bulk flows that are due at one instant start together.
//!
//! Waking one thread a flow spreads their starts by what the scheduler takes for each. Here one thread, at real-time
//! priority where that is allowed, hands the first bytes of every flow to the kernel in one go, and the flows' own
//! threads carry on.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use rrul_model::flow::FlowId;
use rrul_model::observation::FlowEventKind;
use rrul_model::random::Random;
use rrul_model::time::TestTime;

use crate::clock::{RawTime, sleep_until};
use crate::endpoint::test_course::{PATIENCE, TestCourse};
use crate::observer::Observer;
use crate::scheduling;
use crate::socket::stream;

/// Bytes that the start line sends for a flow: one segment, so that each costs little.
const FIRST_OCTETS: usize = 1400;

/// From how long before the start the thread waits awake, as waking takes time.
const AWAKE: i64 = 150_000;

/// Where bulk senders wait.
#[derive(Debug, Default)]
pub struct StartLine {
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    runners: Vec<Runner>,
    /// The groups are formed; a later stream starts alone.
    closed: bool,
}

#[derive(Debug)]
struct Runner {
    flow: FlowId,
    due: TestTime,
    stream: Arc<TcpStream>,
    started: Arc<AtomicBool>,
    thread: Thread,
}

impl StartLine {
    /// Takes the calling thread's flow to the line and waits until it has been started; `false` when the test is
    /// stopped before.
    pub fn wait(
        &self,
        course: &TestCourse,
        observer: &Observer,
        flow: FlowId,
        due: TestTime,
        stream: &Arc<TcpStream>,
    ) -> bool {
        let started = Arc::new(AtomicBool::new(false));
        let runner = Runner {
            flow,
            due,
            stream: Arc::clone(stream),
            started: Arc::clone(&started),
            thread: std::thread::current(),
        };
        {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            if line.closed {
                drop(line);
                let going_on = course.wait_for_begin().is_some_and(|clock| course.sleep_until(clock, due));
                if going_on {
                    observer.event(RawTime::now(), flow, FlowEventKind::FirstSent, "");
                }
                return going_on;
            }
            line.runners.push(runner);
        }
        while !started.load(Ordering::Acquire) {
            if course.is_stopped() {
                return false;
            }
            std::thread::park_timeout(PATIENCE);
        }
        !course.is_stopped()
    }

    /// Lets everyone go without a start, as the test is stopped.
    pub fn release_all(&self) {
        for runner in self.close() {
            runner.thread.unpark();
        }
    }

    fn close(&self) -> Vec<Runner> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.closed = true;
        std::mem::take(&mut line.runners)
    }

    /// Starts every group in its turn. Runs on a thread of its own, after T0 is agreed and everyone is at the line.
    pub fn run(&self, course: &TestCourse, observer: &Observer) {
        let Some(clock) = course.wait_for_begin() else { return };
        // Without permission the starts are spread a little more; the spread is measured and shown.
        let _ = scheduling::run_as_probe();
        let mut octets = [0; FIRST_OCTETS];
        Random(1).fill(&mut octets);
        let mut groups: BTreeMap<TestTime, Vec<Runner>> = BTreeMap::new();
        for runner in self.close() {
            groups.entry(runner.due).or_default().push(runner);
        }
        for (due, runners) in groups {
            let due = clock.raw(due);
            if course.sleep_until(clock, clock.at(due.plus(-AWAKE))) {
                sleep_awake_until(due);
                let mut starts = Vec::with_capacity(runners.len());
                for runner in &runners {
                    starts.push((RawTime::now(), stream::send_now(&runner.stream, &octets)));
                }
                for (runner, (at, sent)) in runners.iter().zip(starts) {
                    // A start that failed shows again at the flow's own first send, which reports it.
                    if sent.is_ok() {
                        observer.event(at, runner.flow, FlowEventKind::FirstSent, "");
                    }
                }
            }
            for runner in runners {
                runner.started.store(true, Ordering::Release);
                runner.thread.unpark();
            }
        }
    }
}

fn sleep_awake_until(due: RawTime) {
    sleep_until(due.plus(-AWAKE));
    while RawTime::now() < due {
        std::hint::spin_loop();
    }
}

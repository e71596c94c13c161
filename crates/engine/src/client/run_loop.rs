//! Leading a test from T0 to its end: frames of both ends are handed on until all is there.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rrul_model::environment::HostState;
use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::LoadEnd;
use rrul_model::recording::Frame;
use rrul_model::time::{TestTime, Window};
use rrul_proto::control::{ClientMessage, ServerMessage};
use socket2::SockRef;

use super::control_client::{ANSWER_TIME, Heartbeat, send};
use super::drain_watch::DrainWatch;
use super::options::RunObserver;
use super::report_budget::ReportBudget;
use super::server_silence::{GIVEN_UP, ServerSilence};
use crate::clock::test_clock::TestClock;
use crate::control_link::{self, Compression, ControlStream, LinkError};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::{FRAME_INTERVAL, PATIENCE};
use crate::flow_types::WAITING;

/// How long after the last phase both ends go on observing: for what is still on its way.
const SETTLING: Duration = Duration::from_millis(300);

/// How long flows may take beyond that until each is done: the waiting time of probes, and a little.
const ENDING: Duration = WAITING.saturating_add(Duration::from_millis(500));

/// From the request to end the load to its end: time for the message to reach the server beside the load.
const LOAD_END_LEAD: Duration = Duration::from_secs(1);

/// How long a stopped server is waited for.
const STOPPING: Duration = Duration::from_secs(3);

/// Bytes of observations, expanded, that a server may send in a second of the test, and beside that. The densest plan
/// makes a fifth of it; a server that sends more means harm.
const OCTETS_PER_SECOND: u64 = 16 << 20;
const OCTETS_BESIDE: u64 = 64 << 20;

/// What the thread that listens to the server passes on.
enum FromServer {
    Frame(Box<Frame>),
    Finished(Option<Box<HostState>>),
    Gone(LinkError),
}

/// How a test ended.
pub(super) struct Ending {
    /// Why it is not complete; `None` when it is.
    pub(super) partial: Option<String>,
    /// When the phases ended, where that was before the last one's longest time.
    pub(super) phases_ended: Option<TestTime>,
    /// When the load ended, where that was before its planned end.
    pub(super) load_ended: Option<TestTime>,
    /// The server host after the test, if reported.
    pub(super) server: Option<Box<HostState>>,
}

/// A load that the caller may end before its planned end.
pub(super) struct OpenLoad<'a> {
    /// Set by the caller.
    pub(super) ended: &'a AtomicBool,
    /// When the load takes place; `None` for a plan without one.
    pub(super) window: Option<Window>,
    /// Whether the server can end it; one that cannot is stopped.
    pub(super) server_ends_it: bool,
}

/// From T0 to the end.
#[expect(clippy::too_many_arguments, reason = "called once, with all that the setup brought forth")]
pub(super) fn measure(
    mut control: ControlStream,
    heartbeat: Heartbeat,
    end: &Arc<Endpoint>,
    clock: TestClock,
    audience: &mut dyn RunObserver,
    stop: &AtomicBool,
    flows: &[JoinHandle<()>],
    watch: Option<DrainWatch>,
    open_load: OpenLoad<'_>,
    reports: ReportBudget,
) -> Ending {
    let (sender, received) = channel();
    let listening = control.try_clone();
    end.watch_control(control.socket());
    let silence = open_load.window.map(|_| {
        // The kernel sees this connection alone.
        let longest = Duration::from_nanos(end.length().0.max(0).cast_unsigned()) + GIVEN_UP;
        let _ = SockRef::from(control.socket()).set_tcp_user_timeout(Some(longest));
        ServerSilence::new(clock.now())
    });
    std::thread::scope(|scope| {
        // Its clock samples show how long the test was listened to, so it goes on until the end.
        scope.spawn(|| end.sample(end.length() + ENDING + ANSWER_TIME));
        scope.spawn(|| end.start_streams());
        match listening {
            Ok(stream) => drop(scope.spawn(move || listen_to_server(stream, end, clock, reports, &sender))),
            Err(error) => drop(sender.send(FromServer::Gone(error.into()))),
        }
        let mut leader = Leader {
            control: &mut control,
            heartbeat,
            end,
            clock,
            audience,
            stop,
            received: &received,
            flows,
            watch,
            silence,
            open_load,
            load_ended: None,
            phases_ended: None,
            server: None,
        };
        let partial = leader.lead();
        let (phases_ended, load_ended, server) = (leader.phases_ended, leader.load_ended, leader.server);
        end.finish_sampling(FlowId::CONTROL);
        end.stop();
        // Ends the listening thread, too.
        control.shutdown();
        Ending { partial, phases_ended, load_ended, server }
    })
}

fn listen_to_server(
    mut stream: ControlStream,
    end: &Endpoint,
    clock: TestClock,
    mut reports: ReportBudget,
    sender: &Sender<FromServer>,
) {
    let length = u64::try_from(end.length().0).unwrap_or(0) / 1_000_000_000;
    let mut left = OCTETS_BESIDE + length * OCTETS_PER_SECOND;
    loop {
        let ahead = end.length().since(clock.now()).0.max(0).cast_unsigned();
        let patience = Duration::from_nanos(ahead) + ANSWER_TIME;
        let (news, last) = match control_link::read_counted(&mut stream, patience, Compression::Allowed) {
            Ok((_, octets)) if octets > left => {
                (FromServer::Gone(unbelievable("more observations than possible")), true)
            }
            Ok((ServerMessage::Observed(frame), octets)) => {
                left -= octets;
                match frame.point {
                    ObservationPoint::Server if !reports.take(&frame) => {
                        (FromServer::Gone(unbelievable("more observations than the flows of this test make")), true)
                    }
                    ObservationPoint::Server => (FromServer::Frame(frame), false),
                    ObservationPoint::Client => (FromServer::Gone(unbelievable("observations of this client")), true),
                }
            }
            Ok((ServerMessage::Finished { state }, _)) => (FromServer::Finished(state), true),
            Ok(_) => (FromServer::Gone(unbelievable("a message out of order")), true),
            Err(error) => (FromServer::Gone(error), true),
        };
        if sender.send(news).is_err() || last {
            return;
        }
    }
}

fn unbelievable(what: &str) -> LinkError {
    io::Error::new(io::ErrorKind::InvalidData, format!("it sent {what}")).into()
}

fn lost(when: TestTime, why: &impl std::fmt::Display) -> String {
    format!("connection to the server lost at {when}: {why}")
}

struct Leader<'a> {
    control: &'a mut ControlStream,
    heartbeat: Heartbeat,
    end: &'a Endpoint,
    clock: TestClock,
    audience: &'a mut dyn RunObserver,
    stop: &'a AtomicBool,
    received: &'a Receiver<FromServer>,
    flows: &'a [JoinHandle<()>],
    /// Sees when the line is idle again, until it is.
    watch: Option<DrainWatch>,
    /// Whether the server is still there, where the load may starve the control connection.
    silence: Option<ServerSilence>,
    open_load: OpenLoad<'a>,
    /// When the load was ended before its planned end.
    load_ended: Option<TestTime>,
    /// When phase `after` was ended before its longest time.
    phases_ended: Option<TestTime>,
    /// The server host after the test, once reported.
    server: Option<Box<HostState>>,
}

impl Leader<'_> {
    /// Hands on frames of both ends until all is there, the user stops, or the server is gone.
    fn lead(&mut self) -> Option<String> {
        let mut next_frame = TestTime::ZERO + FRAME_INTERVAL;
        let mut partial: Option<String> = None;
        let mut finished = false;
        let mut deadline: Option<Instant> = None;
        loop {
            match self.received.recv_timeout(PATIENCE) {
                Ok(FromServer::Frame(frame)) => {
                    self.hand_on(*frame);
                    // What waited while the load starved the control connection may take a while.
                    if partial.is_none() && deadline.is_some() {
                        deadline = Some(Instant::now() + ANSWER_TIME);
                    }
                }
                Ok(FromServer::Finished(state)) => {
                    finished = true;
                    self.server = state;
                }
                Ok(FromServer::Gone(error)) => {
                    let when = self.clock.now();
                    return Some(partial.unwrap_or_else(|| lost(when, &error)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The listening thread has ended with its last word.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PATIENCE),
            }
            self.heartbeat.beat(self.control);
            let now = self.clock.now();
            self.audience.tick(now);
            if now >= next_frame {
                self.end.observer.collect(self.clock).into_iter().for_each(|frame| self.hand_on(frame));
                next_frame = now + FRAME_INTERVAL;
                self.end_when_drained(now);
            }
            if self.silence.as_ref().is_some_and(|silence| silence.is_lost(now)) {
                let silent = format!("nothing has come from it for {} s", GIVEN_UP.as_secs());
                return Some(partial.unwrap_or_else(|| lost(now, &silent)));
            }
            let stopped = || self.stop.load(Ordering::Relaxed).then(|| format!("stopped by the user at {now}"));
            let stopped = if partial.is_some() { None } else { stopped().or_else(|| self.end_load(now)) };
            let length = self.end.length();
            if stopped.is_some() {
                partial = stopped;
                // The server ends the streams; what that does to them here is no failure.
                self.end.expect_end();
                if send(self.control, &ClientMessage::Stop).is_err() {
                    return partial;
                }
                deadline = Some(Instant::now() + STOPPING);
            }
            if finished && partial.is_none() && now < length {
                partial = Some(format!("the server ended the test at {now}"));
            }
            let settled = partial.is_some()
                || now >= length + SETTLING && self.flows.iter().all(JoinHandle::is_finished)
                || now >= length + ENDING;
            if settled && deadline.is_none() {
                // The server records what arrives until the client announces that it waits for nothing more. Then it ends streams
                // that would go on: what that does to them here is no failure.
                self.end.expect_end();
                let _ = send(self.control, &ClientMessage::Stop);
                deadline = Some(Instant::now() + ANSWER_TIME);
            }
            if finished && settled {
                // The server has sent everything; that it does not hear the goodbye changes nothing.
                let _ = send(self.control, &ClientMessage::Bye);
                return partial;
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return partial.or_else(|| Some("the server's last observations did not arrive".to_owned()));
            }
        }
    }

    fn hand_on(&mut self, frame: Frame) {
        if let Some(watch) = &mut self.watch {
            watch.read(&frame);
        }
        if let Some(silence) = &mut self.silence {
            silence.read(&frame, self.clock.now());
        }
        self.audience.frame(frame);
    }

    /// Ends the load where the caller wants that, and has phase `after` follow; why the test ends instead, where the server
    /// cannot do so.
    fn end_load(&mut self, now: TestTime) -> Option<String> {
        let OpenLoad { ended, window, server_ends_it } = self.open_load;
        let window = window.filter(|_| self.load_ended.is_none() && ended.load(Ordering::Relaxed))?;
        let end = LoadEnd { at: (now + LOAD_END_LEAD).max(window.from), planned: window.to };
        if end.at >= end.planned {
            return None;
        }
        if !server_ends_it {
            return Some(format!("the load ended at {now}; the server is too old to go on without it: update it"));
        }
        self.load_ended = Some(end.at);
        self.end.end_load(end);
        if let Some(watch) = &mut self.watch {
            watch.load_ended(end);
        }
        // A server that is lost shows in what it sends.
        let _ = send(self.control, &ClientMessage::EndLoad(end));
        None
    }

    /// Ends phase `after` once the line is as idle as before the load.
    fn end_when_drained(&mut self, now: TestTime) {
        if now < self.end.length() && self.watch.as_mut().is_some_and(|watch| watch.is_drained(now)) {
            self.watch = None;
            self.end.shorten(now);
            self.phases_ended = Some(now);
        }
    }
}

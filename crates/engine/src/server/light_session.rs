//! A session whose test is of probes alone, on the thread that serves all of these: nothing here waits.

use std::net::SocketAddr;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::time::TestTime;
use rrul_proto::admission::session_lease::SILENCE_TIME;
use rrul_proto::arrival_log::LoggedArrival;
use rrul_proto::control::{ClientMessage, ServerMessage};
use socket2::SockRef;

use super::conversation::{self, SETTLING};
use super::leased_control::LOOKING;
use super::light_handover::LightTest;
use super::reporting::{self, LISTENING, Reports, frame_interval};
use super::shared::Shared;
use super::traffic::TrafficMeter;
use crate::clock::RawTime;
use crate::control_link::{LinkError, Mailbox};
use crate::endpoint::shared_sampler::{RowsTaken, SharedSampler};
use crate::host_health::HostHealth;
use crate::tcp_info;

/// Payload of the longest message that is in order while a test runs, bytes, with room for a client's own names of things.
const LONGEST_MESSAGE: usize = 1024;

/// Bytes that the kernel keeps for a client that does not read.
const SEND_BUFFER: usize = 32 << 10;

/// One of them.
pub(super) struct LightSession<'a> {
    test: LightTest,
    mailbox: Mailbox,
    reports: Reports<'a>,
    rows: RowsTaken,
    stage: Stage,
    load_ended: bool,
    /// Until when the client's messages are left in the kernel, where it has sent too many.
    deaf_until: Option<RawTime>,
    /// When the lease is looked at.
    look_due: RawTime,
}

/// What is to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A frame, at this time; the last one at `until` at the latest.
    Reporting { due: TestTime, until: TestTime },
    /// The state of the host.
    Finishing,
    /// Nothing: the client fetches what was sent.
    Finished,
}

impl<'a> LightSession<'a> {
    /// Takes a session over.
    ///
    /// # Errors
    /// When the kernel does not let its connection go on without waiting.
    pub(super) fn new(test: LightTest, sampler: &SharedSampler<'_>, shared: &'a Shared) -> Result<Self, LinkError> {
        let stream = &test.control.stream;
        stream.stop_waiting()?;
        // A kernel that keeps more has its own bounds.
        let _ = SockRef::from(stream.socket()).set_send_buffer_size(SEND_BUFFER);
        let meter = TrafficMeter::new(&shared.traffic);
        let reports = Reports::new(test.clock, test.origin, meter);
        test.end.begin(test.clock, test.origin);
        let now = RawTime::now();
        let until = test.end.length() + LISTENING;
        let due = (test.clock.at(now) + frame_interval(&test.end)).min(until);
        Ok(Self {
            mailbox: Mailbox::new(LONGEST_MESSAGE, SILENCE_TIME),
            reports,
            rows: sampler.join(test.end.sample_interval()),
            stage: Stage::Reporting { due, until },
            load_ended: false,
            deaf_until: None,
            look_due: now,
            test,
        })
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.test.open.session.peer()
    }

    /// Counts what it has moved since its last report.
    pub(super) fn count_rest(&self, shared: &Shared) {
        let control = &self.test.control;
        shared.count_rest(&control.session, control.own_quota());
    }

    /// What its test watches of this host.
    pub(super) fn health(&self) -> &HostHealth {
        &self.test.end.health
    }

    /// Its connection.
    pub(super) fn socket(&self) -> &std::net::TcpStream {
        self.test.control.stream.socket()
    }

    /// Whether the client's messages are left in the kernel for now.
    pub(super) fn is_deaf(&self, now: RawTime) -> bool {
        self.deaf_until.is_some_and(|until| now < until)
    }

    /// Whether something waits until the kernel takes more.
    pub(super) fn is_sending(&self) -> bool {
        self.mailbox.is_waiting()
    }

    /// Whether the state of the host is to be read for it, which takes a while.
    pub(super) fn is_finishing(&self) -> bool {
        self.stage == Stage::Finishing
    }

    /// When the next thing is due if nothing comes.
    pub(super) fn due(&self, now: RawTime) -> RawTime {
        let due = self.deaf_until.map_or(self.look_due, |until| until.min(self.look_due));
        match self.stage {
            Stage::Reporting { .. } if self.test.end.is_stopped() => now,
            Stage::Reporting { due: frame, .. } => due.min(self.test.clock.raw(frame)),
            Stage::Finishing | Stage::Finished => due,
        }
    }

    /// Does what is due; whether the session goes on.
    pub(super) fn go_on(
        &mut self,
        now: RawTime,
        (sampler, arrivals): (&SharedSampler<'_>, &mut Vec<LoggedArrival>),
        shared: &Shared,
    ) -> Result<bool, LinkError> {
        if now >= self.look_due {
            self.look_due = now.plus(nanoseconds(LOOKING));
            self.test.control.look()?;
            if self.mailbox.is_waiting() {
                self.mailbox.flush(&self.test.control.stream)?;
            }
        }
        // A pause may be over, and an incomplete message may have taken too long.
        if !self.hear(now)? {
            return Ok(false);
        }
        if let Stage::Reporting { due, until } = self.stage {
            let stopped = self.test.end.is_stopped();
            if stopped || now >= self.test.clock.raw(due) {
                self.report((sampler, arrivals), shared)?;
                let next = (due + frame_interval(&self.test.end)).min(until);
                self.stage =
                    if stopped || due >= until { Stage::Finishing } else { Stage::Reporting { due: next, until } };
            }
        }
        Ok(true)
    }

    /// Hears what the client has said; whether the session goes on.
    pub(super) fn hear(&mut self, now: RawTime) -> Result<bool, LinkError> {
        if self.is_deaf(now) {
            return Ok(true);
        }
        self.deaf_until = None;
        while self.deaf_until.is_none() {
            let LightTest { control, end, .. } = &mut self.test;
            let Some(message) = self.mailbox.next::<ClientMessage>(&control.stream)? else { break };
            let pause = control.heard(&message, now);
            self.deaf_until = (!pause.is_zero()).then(|| now.plus(nanoseconds(pause)));
            if !conversation::heed(control, end, &message, &mut self.load_ended)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends what waits, as the kernel takes more.
    pub(super) fn flush(&mut self) -> Result<(), LinkError> {
        self.mailbox.flush(&self.test.control.stream)
    }

    fn report(
        &mut self,
        (sampler, arrivals): (&SharedSampler<'_>, &mut Vec<LoggedArrival>),
        shared: &Shared,
    ) -> Result<(), LinkError> {
        let LightTest { control, end, clock, .. } = &self.test;
        let session = &control.session;
        {
            let mut reflector = session.reflector();
            arrivals.extend(reflector.arrivals.drain());
            end.observer.dropped(reflector.arrivals.take_dropped());
        }
        let sampled = sampler.take(&mut self.rows, *clock, &end.health, end.length() + SETTLING);
        let connection = tcp_info::read(control.stream.socket(), FlowId::CONTROL, clock.now()).map(Into::into);
        let own = control.own_quota();
        let may_go_on = |octets| shared.count_octets(session.peer(), own, octets);
        let noted = sampled.chain(connection);
        for frame in self.reports.collect((session, end), arrivals.drain(..), noted, may_go_on) {
            self.mailbox.post(&control.stream, &ServerMessage::Observed(Box::new(frame)))?;
        }
        Ok(())
    }

    /// Reads the state of the host and sends it: the last that is sent.
    pub(super) fn finish(&mut self, shared: &Shared) -> Result<(), LinkError> {
        self.stage = Stage::Finished;
        let LightTest { control, .. } = &self.test;
        let mailbox = &mut self.mailbox;
        let say = |message: &ServerMessage| mailbox.post(&control.stream, message);
        let state = shared.host_state(&control.session.ways, control.has_token());
        reporting::send_with_state(say, state, |state| ServerMessage::Finished { state })
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

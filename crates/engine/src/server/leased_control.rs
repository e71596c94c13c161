//! The control connection of a session, listened to for as long as the session's lease lasts.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rrul_model::time::TestTime;
use rrul_proto::admission::load_queue::Place;
use rrul_proto::admission::message_pace::MessagePace;
use rrul_proto::admission::quota_class::OwnQuota;
use rrul_proto::admission::session_lease::{Expiry, Grant, HEARTBEAT_INTERVAL, SILENCE_TIME, SessionLease};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::{FETCHING_TIME, FRAME_OCTETS};
use socket2::SockRef;

use super::access::HeldAccess;
use super::load_turns::{LoadTurns, TestNumber, Turn};
use super::reporting::send;
use super::session::Session;
use crate::clock::RawTime;
use crate::control_link::{ControlStream, LinkError, Mailbox};
use crate::endpoint::Endpoint;

/// How often the lease is looked at.
pub(super) const LOOKING: Duration = Duration::from_millis(500);

/// How often a client that waits in line is looked for, and its place.
const WAITING: Duration = Duration::from_millis(100);

/// A control connection with its lease.
pub(super) struct LeasedControl {
    pub(super) stream: ControlStream,
    pub(super) session: Arc<Session>,
    turns: Arc<LoadTurns>,
    access: Option<HeldAccess>,
    lease: SessionLease,
    pace: MessagePace,
    mailbox: Mailbox,
    /// How much has come of a client that loads, and when that is looked at again.
    signs: u64,
    signs_due: RawTime,
    /// The test that loads, until it has given way.
    loading: Option<(TestNumber, Arc<Endpoint>)>,
    has_given_way: bool,
}

impl LeasedControl {
    /// The connection of a session that has been welcomed.
    pub(super) fn new(
        stream: ControlStream,
        session: &Arc<Session>,
        turns: &Arc<LoadTurns>,
        access: Option<HeldAccess>,
    ) -> Self {
        let now = RawTime::now().0;
        let (lease, pace) = (SessionLease::new(now), MessagePace::new(now));
        let (session, turns) = (Arc::clone(session), Arc::clone(turns));
        let mailbox = Mailbox::new(FRAME_OCTETS, SILENCE_TIME);
        Self {
            stream,
            session,
            turns,
            access,
            lease,
            pace,
            mailbox,
            signs: 0,
            signs_due: RawTime(now),
            loading: None,
            has_given_way: false,
        }
    }

    /// Whether the session was opened with a token, key or ticket.
    pub(super) fn has_token(&self) -> bool {
        self.access.is_some()
    }

    /// What its client may use in place of what its network may.
    pub(super) fn own_quota(&self) -> Option<OwnQuota> {
        self.access.as_ref().and_then(HeldAccess::own_quota)
    }

    /// Its test loads from now on, and may have to give way.
    pub(super) fn loads(&mut self, test: TestNumber, end: &Arc<Endpoint>) {
        self.loading = Some((test, Arc::clone(end)));
        if self.lease.minds_silence() {
            // The load may starve this connection alone. The lease sees the client's other traffic, and the kernel does not.
            let longest = Duration::from_nanos(end.length().0.max(0).cast_unsigned()) + FETCHING_TIME;
            let _ = SockRef::from(self.stream.socket()).set_tcp_user_timeout(Some(longest));
        }
    }

    /// Ends the connection, whatever still waits to be sent.
    pub(super) fn hang_up(&self) {
        // The kernel keeps what a vanished client does not acknowledge no longer than before the load.
        let _ = SockRef::from(self.stream.socket()).set_tcp_user_timeout(Some(SILENCE_TIME));
        self.stream.shutdown();
    }

    /// Whether its test has ended so that another network has its turn.
    pub(super) fn has_given_way(&self) -> bool {
        self.has_given_way
    }

    pub(super) fn say(&mut self, message: &ServerMessage) -> Result<(), LinkError> {
        send(&self.stream, message)
    }

    /// Waits for the client's next message until the lease ends. Messages that come too fast are left in the kernel for a while.
    pub(super) fn hear(&mut self) -> Result<ClientMessage, LinkError> {
        loop {
            if let Some(message) = self.hear_within(LOOKING)? {
                return Ok(message);
            }
        }
    }

    /// The same, for at most this time; `None` when no whole message has come. A part of one keeps the lease from nothing.
    fn hear_within(&mut self, patience: Duration) -> Result<Option<ClientMessage>, LinkError> {
        self.stream.readable(patience)?;
        self.look()?;
        let Some(message) = self.mailbox.next(&self.stream)? else { return Ok(None) };
        std::thread::sleep(self.heard(&message, RawTime::now()));
        Ok(Some(message))
    }

    /// A message has been read; how long the next is left in the kernel.
    pub(super) fn heard(&mut self, message: &ClientMessage, now: RawTime) -> Duration {
        self.session.heard(now, message);
        self.lease.heard(now.0);
        self.pace.read(now.0)
    }

    /// Waits until it is this test's turn, and says how far that is; `false` when the client waits no longer.
    pub(super) fn wait_for(&mut self, turn: &Turn) -> Result<bool, LinkError> {
        self.lease.waits();
        let mut said: Option<(u32, Instant)> = None;
        while let Some(Place { position, wait: retry_after }) = turn.place() {
            if said.is_none_or(|(place, at)| place != position || at.elapsed() >= HEARTBEAT_INTERVAL) {
                self.say(&ServerMessage::Queued { position, retry_after })?;
                said = Some((position, Instant::now()));
            }
            match self.hear_within(WAITING)? {
                None | Some(ClientMessage::Alive) => {}
                Some(ClientMessage::Bye) => return Ok(false),
                Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "a message out of turn").into()),
            }
        }
        self.lease.turn_came(RawTime::now().0);
        Ok(true)
    }

    /// Whether the lease lasts, and the client may be here.
    pub(super) fn look(&mut self) -> Result<(), LinkError> {
        if let Some(why) = self.access.as_ref().and_then(HeldAccess::withdrawn) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why).into());
        }
        if let Some((_, end)) = self.loading.take_if(|(test, _)| self.turns.gives_way(*test)) {
            self.has_given_way = true;
            end.stop();
            self.finished();
        }
        let raw = RawTime::now();
        let now = raw.0;
        self.look_for_signs(raw);
        self.lease.moved(self.session.moved(), now);
        self.lease.expired(now, self.turns.is_wanted()).map_or(Ok(()), |why| Err(expired(why)))
    }

    /// Where the load itself starves the control connection, what else arrives says that the client is there.
    fn look_for_signs(&mut self, raw: RawTime) {
        if self.loading.is_none() || raw < self.signs_due {
            return;
        }
        self.signs_due = raw.plus(LOOKING.as_nanos() as i64);
        let signs = self.session.moved.signs_of_life();
        if signs > self.signs {
            self.signs = signs;
            self.session.is_there(raw);
            self.lease.heard(raw.0);
        }
    }

    /// The test is granted.
    pub(super) fn granted(&mut self, grant: Grant) {
        self.lease.granted(RawTime::now().0, grant);
    }

    /// The load ends sooner than planned.
    pub(super) fn load_ends(&mut self, at: TestTime) {
        self.lease.load_ends(Duration::from_nanos(at.0.max(0).cast_unsigned()));
    }

    /// The client has named T0.
    pub(super) fn begins(&mut self, origin: RawTime) {
        self.lease.begins(origin.0);
    }

    /// What is left is to fetch the results.
    pub(super) fn finished(&mut self) {
        self.lease.finished(RawTime::now().0);
    }
}

fn expired(why: Expiry) -> LinkError {
    io::Error::new(io::ErrorKind::TimedOut, why.to_string()).into()
}

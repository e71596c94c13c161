//! The control connection of a session, listened to for as long as the session's lease lasts.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rrul_proto::admission::message_pace::MessagePace;
use rrul_proto::admission::session_lease::{Expiry, Grant, SILENCE_TIME, SessionLease};
use rrul_proto::control::{ClientMessage, ServerMessage};

use super::reporting::send;
use super::session::Session;
use crate::clock::RawTime;
use crate::control_link::{self, Compression, LinkError};
use crate::socket::wait;

/// How often the lease is looked at.
const LOOKING: Duration = Duration::from_millis(500);

/// A control connection with its lease.
pub(super) struct LeasedControl {
    pub(super) stream: TcpStream,
    pub(super) session: Arc<Session>,
    lease: SessionLease,
    pace: MessagePace,
}

impl LeasedControl {
    /// The connection of a session that has been welcomed.
    pub(super) fn new(stream: TcpStream, session: &Arc<Session>) -> Self {
        let now = RawTime::now().0;
        let (lease, pace) = (SessionLease::new(now), MessagePace::new(now));
        Self { stream, session: Arc::clone(session), lease, pace }
    }

    pub(super) fn say(&mut self, message: &ServerMessage) -> Result<(), LinkError> {
        send(&mut self.stream, message)
    }

    /// Waits for the client's next message until the lease ends. Messages that come too fast are left in the kernel for a while.
    pub(super) fn hear(&mut self) -> Result<ClientMessage, LinkError> {
        while !wait::readable(&[&self.stream], LOOKING)? {
            self.look()?;
        }
        self.look()?;
        let message = control_link::read(&mut self.stream, SILENCE_TIME, Compression::Never)?;
        let now = RawTime::now();
        self.session.heard(now, &message);
        self.lease.heard(now.0);
        std::thread::sleep(self.pace.read(now.0));
        Ok(message)
    }

    /// Whether the lease lasts.
    fn look(&self) -> Result<(), LinkError> {
        self.lease.expired(RawTime::now().0, false).map_or(Ok(()), |why| Err(expired(why)))
    }

    /// The test of this length is granted.
    pub(super) fn granted(&mut self, length: Duration) {
        let grant = Grant { length, octets: None, load: None, heartbeat: self.session.says_alive() };
        self.lease.granted(RawTime::now().0, grant);
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

//! Talking to the server over the control connection, with an ear for the user who wants to stop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_proto::admission::session_lease::HEARTBEAT_INTERVAL;
use rrul_proto::control::{ClientMessage, ServerMessage};

use crate::control_link::{self, Compression, ControlStream, LinkError};
use crate::endpoint::test_course::PATIENCE;

/// How long an answer of the server may take: it may have to pass a full queue.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(15);

pub(super) fn send(stream: &mut ControlStream, message: &ClientMessage) -> Result<(), LinkError> {
    control_link::write(stream, message, Compression::Never)
}

/// Says now and then that the client is there, to a server that hears it.
pub(super) struct Heartbeat {
    heard: bool,
    said: Option<Instant>,
}

impl Heartbeat {
    /// To a server that hears it, or not.
    pub(super) fn new(heard: bool) -> Self {
        Self { heard, said: None }
    }

    /// Whether the server hears it.
    pub(super) fn is_heard(&self) -> bool {
        self.heard
    }

    /// Says so if it is time. A server that is lost shows in what it sends.
    pub(super) fn beat(&mut self, control: &mut ControlStream) {
        let is_due = self.said.is_none_or(|said| said.elapsed() >= HEARTBEAT_INTERVAL);
        if self.heard && is_due {
            self.said = Some(Instant::now());
            let _ = send(control, &ClientMessage::Alive);
        }
    }
}

/// Waits for the server's next message until the user stops the test.
pub(super) fn listen(stream: &mut ControlStream, stop: &AtomicBool) -> Result<ServerMessage, LinkError> {
    let deadline = Instant::now() + ANSWER_TIME;
    while !stream.readable(PATIENCE)? {
        if stop.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "stopped by the user").into());
        }
        if Instant::now() > deadline {
            return Err(LinkError::Silent(ANSWER_TIME.as_secs()));
        }
    }
    control_link::read(stream, ANSWER_TIME, Compression::Allowed)
}

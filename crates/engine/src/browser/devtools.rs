//! The conversation with a browser: commands and events as JSON, each ended by a byte of zero, over two pipes
//! (Chrome DevTools Protocol, `--remote-debugging-pipe`).

use std::io::{self, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::BrowserError;
use crate::clock::RawTime;
use crate::socket::wait::WaitSet;

/// Bytes of one message. What a page puts into an address or a header comes through here; more means harm.
const MOST_OCTETS: usize = 64 << 20;

/// Bytes read at one go.
const CHUNK: usize = 64 << 10;

/// What the browser says: an answer with the number of its command, or an event.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    /// Of the command that it answers.
    pub(crate) id: Option<u64>,
    /// The event's name; empty for an answer.
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) result: Value,
    /// In place of an answer.
    pub(crate) error: Option<Value>,
    /// The page, frame or worker that it comes from; empty for the browser itself.
    #[serde(rename = "sessionId")]
    pub(crate) session: String,
    #[serde(skip)]
    pub(crate) read: RawTime,
}

impl Default for Message {
    fn default() -> Self {
        let (id, method, params, result, error, session) = Default::default();
        Self { id, method, params, result, error, session, read: RawTime::now() }
    }
}

/// Both pipes.
pub(super) struct DevTools {
    to: ChildStdin,
    from: ChildStdout,
    waiting: WaitSet,
    /// What was read, and how much of it has been searched for the end of a message.
    buffer: Vec<u8>,
    searched: usize,
    last: u64,
}

impl DevTools {
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        let waiting = WaitSet::new([&from]);
        Self { to, from, waiting, buffer: Vec::new(), searched: 0, last: 0 }
    }

    /// Sends a command; its number.
    pub(super) fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<u64, BrowserError> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut octets = command.to_string().into_bytes();
        octets.push(0);
        // A pipe that has room for anything takes what is below a page whole; a browser that hangs must not hold us.
        let mut room = WaitSet::default();
        room.add_writable(&self.to);
        room.wait(super::ANSWERING).map_err(|error| gone(&error))?;
        if !room.ready(0) {
            return Err(BrowserError::Silent(super::ANSWERING));
        }
        self.to.write_all(&octets).map_err(|error| gone(&error))?;
        Ok(self.last)
    }

    /// The next message; `None` when none came within `patience`.
    pub(super) fn receive(&mut self, patience: Duration) -> Result<Option<Message>, BrowserError> {
        if let Some(message) = self.message()? {
            return Ok(Some(message));
        }
        self.waiting.wait(patience).map_err(|error| gone(&error))?;
        if !self.waiting.ready(0) {
            return Ok(None);
        }
        let before = self.buffer.len();
        self.buffer.resize(before + CHUNK, 0);
        let count = self.from.read(&mut self.buffer[before..]);
        self.buffer.truncate(before + count.as_ref().copied().unwrap_or(0));
        match count {
            Ok(0) => Err(gone(&io::ErrorKind::UnexpectedEof.into())),
            Ok(_) if self.buffer.len() > MOST_OCTETS => {
                Err(BrowserError::Unreadable("a message without end".to_owned()))
            }
            Ok(_) => self.message(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(gone(&error)),
        }
    }

    /// Takes one message out of what was read.
    fn message(&mut self) -> Result<Option<Message>, BrowserError> {
        let Some(length) = self.buffer[self.searched..].iter().position(|octet| *octet == 0) else {
            self.searched = self.buffer.len();
            return Ok(None);
        };
        let length = self.searched + length;
        let message = serde_json::from_slice(&self.buffer[..length]);
        self.buffer.drain(..=length);
        self.searched = 0;
        message.map(Some).map_err(|error| BrowserError::Unreadable(error.to_string()))
    }
}

fn gone(error: &io::Error) -> BrowserError {
    BrowserError::Gone(error.to_string())
}

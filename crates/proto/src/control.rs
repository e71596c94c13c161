//! Control messages and their framing.
//!
//! A message is one JSON object behind its length. Few are sent, so they are kept legible; what they say is checked
//! into the types of the model before anything acts on it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use rrul_model::environment::{Environment, HostState};
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::phase::LoadEnd;
use rrul_model::recording::Frame;

use crate::admission::access::{AccessAnswer, Challenge};
use crate::limits::{FRAME_OCTETS, Limits};
use crate::token::Token;

/// Set in the length of a frame whose payload is compressed with zstd.
const COMPRESSED: u32 = 1 << 31;

/// Octets in front of every payload.
pub const FRAME_HEADER_OCTETS: usize = 4;

/// What the client says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientMessage {
    /// The test that it wants to run.
    Open {
        flows: Vec<FlowSpec>,
        /// How long the phases take together.
        length: Duration,
        /// How often counters are read.
        sample_interval: Duration,
    },
    /// The answer to [`ServerMessage::Challenge`]; empty when the client has nothing to prove.
    Proof(AccessAnswer),
    /// The client wants to load the path. Only for servers that announced it in [`ServerMessage::Welcome`].
    Turn {
        /// How long the phases take together.
        length: Duration,
        /// Bits per second of its load in either direction at most; absent for as much as the path takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<u64>,
        /// Whether it waits in line; it is refused otherwise when others are ahead.
        wait: bool,
    },
    /// What is your clock? Answered at once by [`ServerMessage::Time`].
    Time { id: u32 },
    /// Everything is connected; the test begins.
    Begin {
        /// T0 on the server's session clock, nanoseconds.
        origin: i64,
    },
    /// The client is there: said every [`HEARTBEAT_INTERVAL`] to a server that announced it in [`ServerMessage::Welcome`].
    ///
    /// [`HEARTBEAT_INTERVAL`]: crate::admission::session_lease::HEARTBEAT_INTERVAL
    Alive,
    /// The load ends now, and what was to follow it follows. Only for servers that announced it in
    /// [`ServerMessage::Opened`].
    EndLoad(LoadEnd),
    /// The user has stopped the test; send what has been observed.
    Stop,
    /// All has been fetched; the session ends.
    Bye,
}

/// What the server says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage {
    /// Prove that you have a token or a key. It comes before [`ServerMessage::Welcome`] where the server has a list of them.
    Challenge { challenge: Challenge },
    Welcome {
        /// What binds streams and test packets to it.
        token: Token,
        environment: Box<Environment>,
        limits: Limits,
        /// Whether this server hears [`ClientMessage::Alive`] and [`ClientMessage::Turn`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hears_alive: bool,
        /// Whether test packets are sealed, in both directions: the control connection is encrypted, and the client offers it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        seals: bool,
    },
    /// The answer to [`ClientMessage::Open`].
    Opened {
        /// Flows that this server cannot serve, with the reason; the others stand.
        refused: Vec<RefusedFlow>,
        /// The server host before the test: the way to the client and what packets pass on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<HostState>>,
        /// Whether this server knows [`ClientMessage::EndLoad`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends_load: bool,
    },
    /// Nothing of what was asked for is granted.
    Refused {
        reason: String,
        /// In how long the same may be granted, where only other tests are in the way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<Duration>,
    },
    /// The client waits in line; said when its place changes, and every [`HEARTBEAT_INTERVAL`].
    ///
    /// [`HEARTBEAT_INTERVAL`]: crate::admission::session_lease::HEARTBEAT_INTERVAL
    Queued {
        /// 1 is the next.
        position: u32,
        /// How long it waits at most when every test takes its whole length.
        retry_after: Duration,
    },
    /// It is the client's turn: it may open its test.
    Turn,
    /// The answer to [`ClientMessage::Time`], on the server's session clock, nanoseconds.
    Time { id: u32, received: i64, sent: i64 },
    /// What the server has observed, about once a second.
    Observed(Box<Frame>),
    /// All that was observed has been sent.
    Finished {
        /// The server host after the test; none when it has not begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<HostState>>,
    },
}

/// A flow that the server will not serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedFlow {
    pub flow: FlowId,
    pub reason: String,
}

/// Why a frame or message cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("a control frame of {0} octets, at most {FRAME_OCTETS} are allowed")]
    TooLong(usize),
    #[error("not a control message: {0}")]
    Message(#[from] serde_json::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Octets of payload that follow.
    pub length: usize,
    /// Whether the payload is compressed.
    pub compressed: bool,
}

impl FrameHeader {
    /// The octets in front of a payload.
    ///
    /// # Errors
    /// When the payload is too long.
    pub fn encode(self) -> Result<[u8; FRAME_HEADER_OCTETS], ControlError> {
        if self.length > FRAME_OCTETS {
            return Err(ControlError::TooLong(self.length));
        }
        let flag = if self.compressed { COMPRESSED } else { 0 };
        Ok((self.length as u32 | flag).to_be_bytes())
    }

    /// Reads the octets.
    ///
    /// # Errors
    /// When the length announced is too long: the connection is to be closed, nothing more is read.
    pub fn decode(octets: [u8; FRAME_HEADER_OCTETS]) -> Result<Self, ControlError> {
        let word = u32::from_be_bytes(octets);
        let length = (word & !COMPRESSED) as usize;
        if length > FRAME_OCTETS {
            return Err(ControlError::TooLong(length));
        }
        Ok(Self { length, compressed: word & COMPRESSED != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::time::TestTime;

    #[test]
    fn a_frame_header_reads_back_and_refuses_too_much() {
        for header in
            [FrameHeader { length: 0, compressed: false }, FrameHeader { length: FRAME_OCTETS, compressed: true }]
        {
            assert_eq!(FrameHeader::decode(header.encode().unwrap()).unwrap(), header);
        }
        assert!(FrameHeader::decode([0x7f, 0xff, 0xff, 0xff]).is_err());
        assert!(FrameHeader { length: FRAME_OCTETS + 1, compressed: false }.encode().is_err());
    }

    #[test]
    fn messages_have_the_form_that_the_protocol_names() {
        let begin = serde_json::to_string(&ClientMessage::Begin { origin: -5 }).unwrap();
        assert_eq!(begin, r#"{"begin":{"origin":-5}}"#);
        let ended = ClientMessage::EndLoad(LoadEnd { at: TestTime(5), planned: TestTime(9) });
        assert_eq!(serde_json::to_string(&ended).unwrap(), r#"{"end_load":{"at":5,"planned":9}}"#);
        assert_eq!(serde_json::to_string(&ClientMessage::Bye).unwrap(), r#""bye""#);
        assert!(serde_json::from_str::<ClientMessage>(r#"{"format_disk":{}}"#).is_err());
    }
}

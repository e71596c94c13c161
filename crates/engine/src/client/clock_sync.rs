//! Placing T0 on the server's clock: a few quick questions, of which the fastest answer counts.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rrul_proto::control::{ClientMessage, ServerMessage};

use super::control_client::{listen, send};
use crate::clock::RawTime;
use crate::control_link::{ControlStream, LinkError};

const QUESTIONS: u32 = 20;

/// More than any session clock shows, nanoseconds: a day.
const LONGEST_SESSION: i64 = 86_400_000_000_000;

/// Between two questions, so that they do not all meet the same burst.
const PAUSE: Duration = Duration::from_millis(5);

/// Where the server's session clock stood at an instant of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matched {
    /// When it was last read.
    pub(super) read_at: RawTime,
    /// The smallest round trip, nanoseconds; the match is off by at most half of it.
    pub(super) round_trip: i64,
    /// Session clock less raw clock.
    distance: i64,
}

impl Matched {
    /// The session clock at this instant.
    pub(super) fn server_time(&self, at: RawTime) -> i64 {
        at.0.saturating_add(self.distance)
    }
}

/// Asks the server for its time. The answer of the smallest round trip has waited least, on either way.
pub(super) fn match_clocks(control: &mut ControlStream, stop: &AtomicBool) -> Result<Matched, LinkError> {
    let mut best: Option<Matched> = None;
    let mut read_at = RawTime::now();
    for id in 0..QUESTIONS {
        let asked = RawTime::now();
        send(control, &ClientMessage::Time { id })?;
        let ServerMessage::Time { id: answered, received, sent } = listen(control, stop)? else {
            return Err(unbelievable("another message for the time"));
        };
        read_at = RawTime::now();
        let held = sent.checked_sub(received).unwrap_or(-1);
        let elapsed = read_at.since(asked);
        if answered != id || !(0..=elapsed).contains(&held) || !(0..=LONGEST_SESSION).contains(&sent) {
            return Err(unbelievable("an impossible time"));
        }
        let round_trip = elapsed - held;
        let distance = i64::midpoint(received, sent) - i64::midpoint(asked.0, read_at.0);
        if best.is_none_or(|best| round_trip < best.round_trip) {
            best = Some(Matched { read_at, round_trip, distance });
        }
        std::thread::sleep(PAUSE);
    }
    best.map(|best| Matched { read_at, ..best }).ok_or(LinkError::Closed)
}

fn unbelievable(what: &str) -> LinkError {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server sent {what}")).into()
}

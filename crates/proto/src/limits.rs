//! What a server grants, whatever a client asks for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use rrul_model::flow::FlowSpec;

/// Longest control frame, octets. Both ends close a connection that announces more.
pub const FRAME_OCTETS: usize = 64 * 1024;

/// Longest observation frame after decompression, octets.
pub const EXPANDED_OCTETS: usize = 8 * 1024 * 1024;

/// How long a new connection may take to say what it wants.
pub const OPENING_TIME: Duration = Duration::from_secs(5);

/// How long after the last phase a session may still fetch what it has measured.
pub const FETCHING_TIME: Duration = Duration::from_secs(30);

/// The caps of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions at one time.
    pub sessions: u32,
    /// Connections, of sessions or not yet, at one time.
    pub connections: u32,
    /// Flows in one session.
    pub flows: u32,
    /// Length of a test.
    pub length: Duration,
    /// Test packets of one session that are answered in one second.
    pub packets_per_second: u32,
    /// Octets in one test packet.
    pub packet_octets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 32,
            connections: 1024,
            flows: 256,
            length: Duration::from_mins(10),
            packets_per_second: 8000,
            packet_octets: 1472,
        }
    }
}

impl Limits {
    /// Why these flows are more than this server grants; `None` when they are not.
    pub fn refusal(&self, flows: &[FlowSpec], length: Duration) -> Option<String> {
        if flows.len() > self.flows as usize {
            return Some(format!("{} flows asked for, this server grants {}", flows.len(), self.flows));
        }
        if length > self.length {
            return Some(format!(
                "a test of {} s asked for, this server grants {} s",
                length.as_secs(),
                self.length.as_secs()
            ));
        }
        let mut ids: Vec<_> = flows.iter().map(|flow| flow.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() != flows.len() {
            return Some("two flows have the same number".to_owned());
        }
        let outside = |flow: &&FlowSpec| flow.window.to.nanoseconds() > length.as_nanos() as i64;
        flows.iter().find(outside).map(|flow| format!("{} runs beyond the end of the test", flow.name))
    }
}

/// Grants so many packets a second, with a burst of a quarter second; time is passed in.
#[derive(Debug, Clone)]
pub struct RateCap {
    per_second: u64,
    nanopackets: u64,
    last: i64,
}

impl RateCap {
    const PACKET: u64 = 1_000_000_000;

    /// A full bucket for this many packets a second.
    pub fn new(per_second: u32) -> Self {
        let per_second = u64::from(per_second);
        Self { per_second, nanopackets: per_second * Self::PACKET / 4, last: i64::MIN }
    }

    /// Whether one more packet is granted at `now` (nanoseconds of any monotonic clock).
    pub fn grant(&mut self, now: i64) -> bool {
        if self.last != i64::MIN {
            let passed = u64::try_from(now.saturating_sub(self.last)).unwrap_or(0).min(Self::PACKET);
            self.nanopackets = (self.nanopackets + passed * self.per_second).min(self.per_second * Self::PACKET / 4);
        }
        self.last = self.last.max(now);
        match self.nanopackets.checked_sub(Self::PACKET) {
            Some(left) => {
                self.nanopackets = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_cap_grants_its_rate_and_no_more() {
        let mut cap = RateCap::new(1000);
        let granted = (0..10_000_i64).filter(|step| cap.grant(step * 100_000)).count();
        // One second at 10 000 packets offered: the rate, and the burst of a quarter second.
        assert!((1240..=1260).contains(&granted), "{granted}");
    }

    #[test]
    fn a_clock_that_jumps_back_grants_nothing_extra() {
        let mut cap = RateCap::new(4);
        assert!(cap.grant(1_000_000_000));
        assert!(!cap.grant(0));
        assert!(!cap.grant(1_000_000_001));
    }
}

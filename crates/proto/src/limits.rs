//! What a server grants, whatever a client asks for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use rrul_model::flow::{FlowSpec, Parameter};
use rrul_model::turns::TURNS;

/// Longest control frame, octets. Both ends close a connection that announces more.
pub const FRAME_OCTETS: usize = 64 * 1024;

/// Longest observation frame after decompression, octets.
pub const EXPANDED_OCTETS: usize = 8 * 1024 * 1024;

/// How long a new connection may take to say what it wants.
pub const OPENING_TIME: Duration = Duration::from_secs(5);

/// How long a session may take from its opening to T0, and how far from the server's clock a T0 may lie when it is
/// announced. Without it a client that opens a session and never begins would hold its place for ever.
pub const PREPARING_TIME: Duration = Duration::from_mins(1);

/// Shortest interval at which a server reads its counters, whatever is asked for: a reading of many streams takes part
/// of a millisecond, and a client must not be able to keep the server busy with readings.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// Longest name or value in a flow that a client describes, octets.
pub const STRING_OCTETS: usize = 64;

/// Longest list of turns in a flow, octets: a test of ten minutes has many.
pub const TURNS_OCTETS: usize = 4096;

/// Bits per second in either direction up to which a test does not load the path: probes alone.
pub const LIGHT_BITS_PER_SECOND: u64 = 1_000_000;

/// Events of one flow that a server notes; later ones are left out.
pub const EVENTS_OF_A_FLOW: u32 = 16;

/// Octets of observations that wait while a load starves the control connection: minutes of the largest test.
pub const OBSERVATIONS_WAITING: usize = 4 << 20;

/// How long after the last phase a session may still fetch what it has measured.
pub const FETCHING_TIME: Duration = Duration::from_secs(30);

/// The caps of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub sessions: u32,
    /// Connections, of sessions or not yet, at one time.
    pub connections: u32,
    pub flows: u32,
    pub length: Duration,
    /// Test packets of one session that are answered in one second.
    pub packets_per_second: u32,
    /// Octets in one test packet.
    pub packet_octets: u32,
    /// Connections of one session's flows that open many (`tcp_connect`, `short_flow`) that are answered in one second.
    pub connections_per_second: u32,
    /// Bits per second of all floods (`udp_flood`) of one session together, headers included; 0 allows none.
    pub flood_bits_per_second: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 1024,
            connections: 4096,
            flows: 256,
            length: Duration::from_mins(10),
            packets_per_second: 8192,
            packet_octets: 1472,
            connections_per_second: 100,
            flood_bits_per_second: 0,
        }
    }
}

impl Limits {
    /// Why a test of this length is refused.
    pub fn too_long(&self, length: Duration) -> String {
        format!("a test of {} s asked for, this server grants {} s", length.as_secs(), self.length.as_secs())
    }

    /// Why these flows are more than this server grants; `None` when they are not.
    pub fn refusal(&self, flows: &[FlowSpec], length: Duration) -> Option<String> {
        if flows.is_empty() {
            return Some("a test without a flow".to_owned());
        }
        if flows.len() > self.flows as usize {
            return Some(format!("{} flows asked for, this server grants {}", flows.len(), self.flows));
        }
        // Before any of them is repeated in a message.
        if let Some(octets) = flows.iter().find_map(too_long) {
            return Some(format!("a name or value of {octets} bytes in a flow, this server takes {STRING_OCTETS}"));
        }
        if length > self.length {
            return Some(self.too_long(length));
        }
        let mut ids: Vec<_> = flows.iter().map(|flow| flow.id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() != flows.len() {
            return Some("two flows have the same number".to_owned());
        }
        let end = i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
        let outside = |flow: &&FlowSpec| {
            let (from, to) = (flow.window.from.nanoseconds(), flow.window.to.nanoseconds());
            !(0 <= from && from < to && to <= end)
        };
        flows.iter().find(outside).map(|flow| format!("{} does not run within the test", flow.name))
    }
}

/// How long a string of this flow is that is too long; `None` when none is.
fn too_long(flow: &FlowSpec) -> Option<usize> {
    let names = [&flow.name, &flow.flow_type].into_iter().chain(flow.parameters.0.keys());
    let values = flow.parameters.0.iter().filter_map(|(name, value)| match value {
        Parameter::Text(text) if name == TURNS => Some((text.len(), TURNS_OCTETS)),
        Parameter::Text(text) => Some((text.len(), STRING_OCTETS)),
        _ => None,
    });
    let lengths = names.map(|name| (name.len(), STRING_OCTETS)).chain(values);
    lengths.filter(|(length, most)| length > most).map(|(length, _)| length).next()
}

/// What comes late arrives all at once: as much as is sent in the longest time that a path delays packets, seconds.
const LATE_SECONDS: f64 = 10.0;
/// A path may double every packet.
const DECLARED_MARGIN: f64 = 2.0;

/// Grants so many packets a second, and a burst of some; time is passed in.
#[derive(Debug, Clone)]
pub struct RateCap {
    /// Parts of a packet, of which [`Self::PACKET`] are one.
    per_nanosecond: u64,
    burst: u128,
    left: u128,
    last: i64,
}

impl RateCap {
    const PACKET: u128 = 1_000_000_000_000_000_000;

    /// A full bucket for this many packets a second, a quarter second of them but at least one; 0 grants none.
    pub fn new(per_second: u32) -> Self {
        let quarter = u128::from(per_second) * Self::PACKET / 4;
        // A bucket that cannot hold one whole packet would never grant any.
        let burst = if per_second == 0 { 0 } else { quarter.max(Self::PACKET) };
        Self { per_nanosecond: u64::from(per_second) * 1_000_000_000, burst, left: burst, last: i64::MIN }
    }

    /// A full bucket for twice as many packets a second as a flow has declared, with room for those that come late and for so many beside.
    pub fn declared(per_second: f64, beside: u32) -> Self {
        let burst = ((per_second * LATE_SECONDS + f64::from(beside)) * Self::PACKET as f64) as u128;
        let per_nanosecond = (per_second * DECLARED_MARGIN * 1e9) as u64;
        Self { per_nanosecond, burst, left: burst, last: i64::MIN }
    }

    /// How many packets a second it grants.
    pub fn per_second(&self) -> f64 {
        self.per_nanosecond as f64 / 1e9
    }

    /// Whether one more packet is granted at `now` (nanoseconds of any monotonic clock).
    pub fn grant(&mut self, now: i64) -> bool {
        if self.last != i64::MIN {
            let passed = u64::try_from(now.saturating_sub(self.last)).unwrap_or(0);
            let more = u128::from(passed) * u128::from(self.per_nanosecond);
            self.left = self.left.saturating_add(more).min(self.burst);
        }
        self.last = self.last.max(now);
        let left = self.left.checked_sub(Self::PACKET);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::time::{TestTime, Window};

    use super::*;
    use crate::schedule::poisson_schedule::PoissonSchedule;

    #[test]
    fn a_flow_is_granted_what_it_declares_however_late_it_comes_and_no_more_than_twice_that() {
        const SECOND: i64 = 1_000_000_000;
        let mut cap = RateCap::declared(50.0, 64);
        assert!((0..500).all(|_| cap.grant(0)), "ten seconds of it at once");
        assert!((1..500).all(|number| cap.grant(number * SECOND / 50)), "as it declares");
        let mut cap = RateCap::declared(50.0, 64);
        let granted = (0..1_000_000_i64).filter(|step| cap.grant(step * SECOND / 10_000)).count();
        // 100 seconds at twice the rate, and the burst.
        assert!((10_560..=10_565).contains(&granted), "{granted}");
        let mut slow = RateCap::declared(0.001, 64);
        assert_eq!((0..1000).filter(|_| slow.grant(0)).count(), 64);
        assert!(slow.grant(500 * SECOND) && !slow.grant(501 * SECOND), "one in 500 seconds");
        assert!((2..1000).all(|number| slow.grant(number * 1000 * SECOND)));
    }

    #[test]
    fn connections_at_random_times_are_all_granted() {
        let window = Window { from: TestTime(0), to: TestTime(10_000 * 1_000_000_000) };
        for (seed, interval) in [50, 500, 2000, 5000, 10_000].into_iter().enumerate() {
            let interval = Duration::from_millis(interval);
            let mut cap = RateCap::declared(interval.as_secs_f64().recip(), 16);
            let mut opened = PoissonSchedule::new(window, interval, seed as u64);
            assert!(opened.all(|at| cap.grant(at.0)), "one in {interval:?}");
        }
    }

    #[test]
    fn the_rate_cap_grants_its_rate_and_no_more() {
        let mut cap = RateCap::new(1000);
        let granted = (0..10_000_i64).filter(|step| cap.grant(step * 100_000)).count();
        // One second at 10 000 packets offered: the rate, and the burst of a quarter second.
        assert!((1240..=1260).contains(&granted), "{granted}");
    }

    #[test]
    fn a_cap_below_four_packets_a_second_still_grants_its_rate() {
        for per_second in 0..4_u32 {
            let mut cap = RateCap::new(per_second);
            let granted = (0..10_000_i64).filter(|step| cap.grant(step * 1_000_000)).count() as u32;
            // Ten seconds less one step: the bucket's one packet, and those that became whole since.
            assert_eq!(granted, 10 * per_second, "{per_second} a second");
        }
    }

    #[test]
    fn the_largest_cap_and_the_ends_of_the_clock_do_not_overflow() {
        let mut cap = RateCap::new(u32::MAX);
        assert!([i64::MIN, i64::MAX, 0, i64::MIN, i64::MAX].into_iter().all(|now| cap.grant(now)));
    }

    #[test]
    fn a_clock_that_jumps_back_grants_nothing_extra() {
        let mut cap = RateCap::new(4);
        assert!(cap.grant(1_000_000_000));
        assert!(!cap.grant(0));
        assert!(!cap.grant(1_000_000_001));
    }
}

//! Tuning a shaper: what it was set to while a test was running, and what the search was asked for.
//!
//! Directions are those of every flow: up is from the client to the server.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::Direction;
use crate::time::{TestTime, Window};
use crate::units::{BitRate, ByteCount, Delay};

/// What a shaper is set to. `None` is unshaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShaperRates {
    /// Server to client. Null when unshaped.
    #[serde(rename = "down_bps")]
    pub down: Option<BitRate>,
    /// Client to server. Null when unshaped.
    #[serde(rename = "up_bps")]
    pub up: Option<BitRate>,
}

impl ShaperRates {
    /// Neither direction shaped.
    pub const UNSHAPED: Self = Self { down: None, up: None };

    pub fn direction(self, direction: Direction) -> Option<BitRate> {
        direction.select(self.up, self.down)
    }

    /// The same with another rate in one direction.
    #[must_use]
    pub fn with(mut self, direction: Direction, rate: Option<BitRate>) -> Self {
        *direction.select(&mut self.up, &mut self.down) = rate;
        self
    }
}

/// What a step of a tuning session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StepPurpose {
    /// Load without a shaper: rate and delay of the line as it is.
    Reference,
    /// One direction at a small part of its rate: whether the shaper limits that direction and no other.
    Knob,
    /// A rate whose delay shows whether it is below or above that of the line.
    Search,
    /// The rates that are to be recommended, both directions loaded.
    Joint,
    /// A rate from a list.
    Fixed,
}

/// One setting of the shaper, and the time in which it was measured.
///
/// A line of the recording, written as soon as the step has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TuningStep {
    /// Position in the session, from 0.
    pub number: u32,
    /// What it is for.
    pub purpose: StepPurpose,
    /// The direction that is judged. Null for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What the shaper was set to.
    pub rates: ShaperRates,
    /// When the shaper had been set, on the client's clock.
    #[serde(rename = "set_at_ns")]
    pub set_at: TestTime,
    /// When the measured window began.
    #[serde(rename = "settled_at_ns")]
    pub settled_at: TestTime,
    /// When the measured window ended.
    #[serde(rename = "ended_at_ns")]
    pub ended_at: TestTime,
    /// The shaper's counters at the beginning and the end of the measured window. Null where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterPair>,
}

impl TuningStep {
    /// The time in which it was measured.
    pub fn window(&self) -> Window {
        Window { from: self.settled_at, to: self.ended_at }
    }
}

/// Counters of a shaper at the beginning and the end of a step's measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterPair {
    /// At the beginning.
    pub before: ShaperCounters,
    /// At the end.
    pub after: ShaperCounters,
}

/// Counters of a shaper since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShaperCounters {
    /// Server to client. Null where that direction is not shaped.
    pub down: Option<DirectionCounters>,
    /// Client to server. Null where that direction is not shaped.
    pub up: Option<DirectionCounters>,
}

impl ShaperCounters {
    pub fn direction(&self, direction: Direction) -> Option<&DirectionCounters> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// Counters of one direction of a shaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DirectionCounters {
    /// Sent, in the bytes that the shaper counts.
    #[serde(rename = "sent_octets")]
    pub sent: ByteCount,
    /// Packets sent.
    ///
    /// Unit: count.
    pub packets: u64,
    /// Packets dropped.
    ///
    /// Unit: count.
    pub dropped: u64,
    /// Packets marked CE.
    ///
    /// Unit: count.
    pub marked: u64,
    /// Bytes in its queue.
    #[serde(rename = "backlog_octets")]
    pub backlog: ByteCount,
}

/// Which of the rates that pass is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Preference {
    /// The largest whose 95th percentile of queueing delay is within the limit.
    #[default]
    Balanced,
    /// The largest whose 99th percentile is within the limit.
    Delay,
    /// The largest that adds at most 15 ms at the 95th percentile.
    Rate,
}

impl Preference {
    /// The percentile of the queueing delay that is judged.
    pub fn percentile(self) -> u8 {
        if self == Self::Delay { 99 } else { 95 }
    }
}

/// A shaper as its driver describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShaperDescription {
    /// The driver: `tc`, `openwrt`, `command` or `lab`.
    pub driver: String,
    /// What it sets, for people: host and interfaces.
    pub target: String,
    /// The section of `/etc/config/sqm` that configures it, as uci names it: `eth1` or `@queue[0]`. Missing where it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Queue discipline of the download shaper, as `cake diffserv4`. Null where it is unknown.
    pub down_discipline: Option<String>,
    /// Queue discipline of the upload shaper. Null where it is unknown.
    pub up_discipline: Option<String>,
    /// The link layer in whose bytes the download shaper counts. Null where it is unknown.
    pub down_link_layer: Option<String>,
    /// The link layer in whose bytes the upload shaper counts. Null where it is unknown.
    pub up_link_layer: Option<String>,
    /// What it was set to before the session. Missing where the driver cannot read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<ShaperRates>,
    /// Whether the client is on the Internet side of the shaper, so that its upload is what the shaper calls download. The
    /// directions here are those of the client.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// Whether it is on a router between the client and the Internet, so that it controls no queue that is between the client and
    /// the first router.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_router: bool,
}

/// What a tuning session was asked for: part of a recording's header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningPlan {
    pub shaper: ShaperDescription,
    /// The directions to tune, in this order.
    pub directions: Vec<Direction>,
    #[serde(default)]
    pub prefer: Preference,
    /// The most queueing delay that a shaped line may add; `None` is derived from the rate and the idle line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_limit: Option<Delay>,
    /// Most steps of the search.
    pub most_trials: u32,
    /// The session ends no later than this after its first step began.
    pub longest: Duration,
    /// Most bytes of load that may arrive, both directions together; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_data: Option<ByteCount>,
    /// The smallest rate that may be set, on a line that is at least four times as fast; on others a quarter of the line's.
    pub floor: BitRate,
    /// Rates to measure one after another in place of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<ShaperRates>,
}

impl TuningPlan {
    /// Most steps of a search of the usual time.
    pub const MOST_TRIALS: u32 = 14;
    /// How long a search may take, unless the user says otherwise.
    pub const LONGEST: Duration = Duration::from_mins(8);
    /// The smallest rate that is ever set.
    pub const FLOOR: BitRate = BitRate(1_000_000);

    /// Most steps of a search that may take this long. Whoever allows more than the usual time gets all that fit: of about 20 s each.
    pub fn most_trials_within(longest: Duration) -> u32 {
        if longest > Self::LONGEST { (longest.as_secs() / 20) as u32 } else { Self::MOST_TRIALS }
    }

    /// A search in both directions, the upload first.
    pub fn new(shaper: ShaperDescription) -> Self {
        Self {
            shaper,
            directions: vec![Direction::Up, Direction::Down],
            prefer: Preference::Balanced,
            delay_limit: None,
            most_trials: Self::MOST_TRIALS,
            longest: Self::LONGEST,
            most_data: None,
            floor: Self::FLOOR,
            fixed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_allows_more_time_than_usual_gets_more_trials() {
        assert_eq!(TuningPlan::most_trials_within(Duration::from_mins(5)), TuningPlan::MOST_TRIALS);
        assert_eq!(TuningPlan::most_trials_within(TuningPlan::LONGEST), TuningPlan::MOST_TRIALS);
        assert_eq!(TuningPlan::most_trials_within(Duration::from_secs(570)), 28);
    }
}

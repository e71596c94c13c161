//! Queue disciplines of an interface, as the kernel reports them (rtnetlink; tc(8)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One queue discipline in the tree of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueDiscipline {
    /// `fq_codel`, `cake`, `htb`, `mq`, `pfifo_fast`, ...
    pub kind: String,
    /// Its handle as tc(8) writes it: `8001:`; `0:` where none was assigned.
    pub handle: String,
    /// Below what it hangs: `root`, `ingress`, or a class such as `1:10`.
    pub parent: String,
    /// Whether the device does its work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offloaded: bool,
    /// Its options, by tc(8)'s names with the unit at the end (`target_us`, `limit_packets`, `rate_bps`); empty for kinds
    /// that this program cannot read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, i64>,
    #[serde(flatten)]
    pub counters: TrafficCounters,
    /// Counters and gauges that only its kind has, by tc(8)'s names (`ecn_mark`, `new_flows_len`, `memory_used`); those of
    /// a tin of cake with its number in front (`tin1.ecn_mark`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, u64>,
}

impl QueueDiscipline {
    /// Packets that it marked CE instead of dropping them (RFC 3168), cumulative; `None` where its kind does not mark or
    /// is not known.
    pub fn marked(&self) -> Option<u64> {
        let is_mark = |name: &str| {
            let name = name.rsplit('.').next().unwrap_or(name);
            name == "ecn_mark" || name == "ce_mark"
        };
        let counts = self.details.iter().filter(|(name, _)| is_mark(name)).map(|(_, count)| *count);
        counts.reduce(u64::saturating_add)
    }
}

/// One class of a classful queue discipline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficClass {
    /// The kind of its queue discipline.
    pub kind: String,
    /// Its handle: `1:10`.
    pub handle: String,
    /// Below what it hangs: `root` or a class.
    pub parent: String,
    /// Its options, as those of a queue discipline.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, i64>,
    #[serde(flatten)]
    pub counters: TrafficCounters,
    /// Counters that only its kind has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, u64>,
}

/// Counters that every queue discipline and class has (gen_stats.h), since it came into being.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficCounters {
    pub octets: u64,
    pub packets: u64,
    pub dropped: u64,
    /// How often it held packets back although it had some (of a shaper: every time it waits for its rate).
    pub overlimits: u64,
    /// Packets put back because the device was busy.
    pub requeued: u64,
    pub backlog_octets: u64,
    pub backlog_packets: u64,
}

//! The settings of queue disciplines.

use std::str::FromStr;
use std::time::Duration;

use rrul_model::units::ByteCount;
use rrul_model::unknown_name::UnknownName;

use crate::queue::error::QueueError;

/// How much fits into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This many packets of any size: `1000p`.
    Packets(usize),
    /// This many bytes of L3: `256kB`.
    Octets(ByteCount),
}

impl FromStr for Limit {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<Self, QueueError> {
        let packets = text.strip_suffix('p').map(|number| number.trim().parse::<usize>());
        match (packets, text.parse::<ByteCount>()) {
            (Some(Ok(packets)), _) if packets > 0 => Ok(Self::Packets(packets)),
            (None, Ok(octets)) if octets.0 > 0 => Ok(Self::Octets(octets)),
            _ => Err(QueueError::Limit(text.to_owned())),
        }
    }
}

/// Into which priority classes, its *tins*, CAKE sorts packets by their DSCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TinLayout {
    /// One tin for everything.
    BestEffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins, each with seven eighths of the threshold of the one below.
    Diffserv8,
}

impl TinLayout {
    const ALL: [(&'static str, Self); 4] = [
        ("besteffort", Self::BestEffort),
        ("diffserv3", Self::Diffserv3),
        ("diffserv4", Self::Diffserv4),
        ("diffserv8", Self::Diffserv8),
    ];
}

impl FromStr for TinLayout {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named("tin layout", &Self::ALL, text)
    }
}

/// Among what CAKE shares a tin fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowIsolation {
    /// Nothing: one queue.
    FlowBlind,
    /// Source addresses, each with one queue.
    SourceHost,
    /// Destination addresses, each with one queue.
    DestinationHost,
    /// Pairs of source and destination address, each with one queue.
    Hosts,
    /// Five-tuples.
    Flows,
    /// Source addresses, then five-tuples.
    DualSourceHost,
    /// Destination addresses, then five-tuples.
    DualDestinationHost,
    /// Whichever of source and destination address has more flows, then five-tuples.
    TripleIsolate,
}

impl FlowIsolation {
    const ALL: [(&'static str, Self); 8] = [
        ("flowblind", Self::FlowBlind),
        ("srchost", Self::SourceHost),
        ("dsthost", Self::DestinationHost),
        ("hosts", Self::Hosts),
        ("flows", Self::Flows),
        ("dual-srchost", Self::DualSourceHost),
        ("dual-dsthost", Self::DualDestinationHost),
        ("triple-isolate", Self::TripleIsolate),
    ];
}

impl FromStr for FlowIsolation {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        named("flow isolation", &Self::ALL, text)
    }
}

fn named<T: Copy>(what: &'static str, all: &[(&'static str, T)], text: &str) -> Result<T, UnknownName> {
    all.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        UnknownName::new(what, text, known.join(", "))
    })
}

/// The settings of a queue. `None` selects the default of the discipline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueueOptions {
    /// Most that waits.
    pub limit: Option<Limit>,
    /// CoDel and PIE: the queueing delay that they aim at (RFC 8289 section 4.3: 5 ms; RFC 8033 section 4.2: 15 ms).
    pub target: Option<Duration>,
    /// CoDel: how long it may stand before the first drop (RFC 8289 section 4.3: 100 ms).
    pub interval: Option<Duration>,
    /// CoDel and PIE: mark ECN-capable packets instead of dropping them.
    pub ecn: Option<bool>,
    /// FQ-CoDel: number of flow queues (RFC 8290 section 5.2.4: 1024).
    pub flows: Option<usize>,
    /// FQ-CoDel: bytes that a flow may send in a round (RFC 8290 section 5.2.4: 1514).
    pub quantum: Option<ByteCount>,
    /// PIE: time between updates of the drop probability (RFC 8033 section 4.2: 15 ms).
    pub tupdate: Option<Duration>,
    /// PIE: gain on the distance from the target, in sixteenths per second (RFC 8033 section 4.2: 2).
    pub alpha: Option<u32>,
    /// PIE: gain on the change of the delay, in sixteenths per second (RFC 8033 section 4.2: 20).
    pub beta: Option<u32>,
    /// PIE: drop short packets with a lower probability (RFC 8033 section 4.1).
    pub bytemode: Option<bool>,
    /// PIE: how long nothing is dropped after the queue was idle (RFC 8033 section 4.4: 150 ms).
    pub burst: Option<Duration>,
    /// CAKE: priority classes (`diffserv3`).
    pub tins: Option<TinLayout>,
    /// CAKE: what shares fairly (`triple-isolate`).
    pub flow_isolation: Option<FlowIsolation>,
    /// CAKE: round-trip time that the AQM assumes (100 ms); its interval, and twenty times its target.
    pub rtt: Option<Duration>,
    /// CAKE: the shaper is behind the bottleneck, so dropped packets have used the link and count against the rate.
    pub ingress: Option<bool>,
}

//! A network interface, its state and its counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{QueueDiscipline, TrafficClass};

/// A network interface at one moment. Neither its hardware address nor the name of a wireless network is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// Its index at this host.
    pub index: u32,
    /// Its name; its kind and index when the privacy switch is on.
    pub name: String,
    /// `ethernet`, `wireless`, `loopback`, or what rtnetlink calls it: `veth`, `bridge`, `vlan`, `wireguard`, `ppp`, ...
    pub kind: String,
    /// Whether packets to the other host pass it. What follows the counters is known of such interfaces only.
    pub in_use: bool,
    /// Index of the interface below it (of a VLAN, of a tunnel); `None` without one in the same namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<u32>,
    /// Index of the bridge or bond that it is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<u32>,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Whether it has been switched on.
    pub up: bool,
    /// Whether the line has a signal.
    pub carrier: bool,
    /// Operational state (RFC 2863): `up`, `down`, `dormant`, `unknown`, ...
    pub operational: String,
    /// Bytes of the link layer's header that its counters hold for each packet; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<u32>,
    /// Its counters since it came into being.
    pub counters: InterfaceCounters,

    /// Limit of its queue, packets, where its discipline has no limit of its own (`txqueuelen`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_queues: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_queues: Option<u32>,
    /// Largest segment that it takes for segmentation, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segmentation_limit: Option<u32>,
    /// The driver's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// Speed of the line, Mbit/s, as the driver says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<u32>,
    /// `full` or `half`, as the driver says.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub duplex: String,
    /// Work that it takes off the kernel, by name: `tso`, `gso`, `gro`, `lro`, `sg`, `tx`, `rx` as ethtool(8) has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<String, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rings: Option<Rings>,
    /// Byte queue limits of each transmit queue that has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub byte_queue_limits: Vec<ByteQueueLimit>,
    /// Its queue disciplines, the root first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue_disciplines: Vec<QueueDiscipline>,
    /// Classes of its queue disciplines, where they have any that were made by somebody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<TrafficClass>,
    /// The wireless link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wireless: Option<Wireless>,
}

/// Counters of an interface (rtnetlink: `rtnl_link_stats64`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceCounters {
    pub received_octets: u64,
    pub received_packets: u64,
    /// Packets received damaged.
    pub received_errors: u64,
    /// Packets dropped by the kernel on receiving.
    pub received_dropped: u64,
    /// Packets that the device dropped, as the host did not fetch them in time.
    pub received_missed: u64,
    pub sent_octets: u64,
    pub sent_packets: u64,
    /// Packets that could not be sent.
    pub sent_errors: u64,
    /// Packets dropped on sending.
    pub sent_dropped: u64,
    pub collisions: u64,
}

/// Descriptors in the rings between host and device, and how many there could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rings {
    pub receive: u32,
    pub receive_limit: u32,
    /// For sending.
    pub transmit: u32,
    pub transmit_limit: u32,
}

/// Byte queue limit of one transmit queue: how much the kernel lets lie in the device's ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByteQueueLimit {
    pub queue: u32,
    /// The limit now, bytes.
    pub limit: u64,
    /// In the ring now, bytes.
    pub inflight: u64,
}

/// The wireless link of one interface (nl80211): of a station that towards its access point; of an access point how many
/// stations it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Wireless {
    /// Center of the channel, MHz.
    pub frequency: Option<u32>,
    /// Width of the channel, MHz.
    pub width: Option<u32>,
    /// Stations that this host talks to.
    pub stations: u32,
    /// Strength of the signal received, dBm.
    pub signal: Option<i32>,
    /// Its average, dBm.
    pub signal_average: Option<i32>,
    /// Rate of sending, bits per second.
    pub transmit_rate: Option<u64>,
    /// Rate of receiving, bits per second.
    pub receive_rate: Option<u64>,
    pub sent_packets: Option<u64>,
    /// Transmissions repeated.
    pub sent_retries: Option<u64>,
    /// Packets given up.
    pub sent_failed: Option<u64>,
    /// Packets received and dropped.
    pub received_dropped: Option<u64>,
    /// Beacons missed.
    pub beacons_lost: Option<u64>,
}

//! The interfaces that packets to the other host pass: what they counted, and the queues before them.

use std::collections::BTreeMap;

use rrul_model::environment::{Interface, QueueDiscipline};
use rrul_model::observation::{InterfaceCount, ObservationPoint, QueueCount};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::host::growth::growth;
use crate::statistics::percentile::percentile;

/// One network interface of a host.
///
/// Bytes and packets as the device counts them: with link-layer headers, of all programs. With segmentation offload, a
/// segment may be larger than a packet on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Interfaces")]
pub struct HostInterface {
    /// Index of the interface at its host.
    ///
    /// Source: rtnetlink(7).
    pub interface: u32,
    /// Its name, or kind and index where names are private.
    pub name: String,
    /// Its kind: `ethernet`, `wireless`, `veth` and others.
    pub kind: String,
    /// What passed it on the idle line. Null when unknown.
    ///
    /// Source: rtnetlink(7): IFLA_STATS64.
    pub idle: Option<Passed>,
    /// What passed it under load. Null when unknown.
    ///
    /// Source: rtnetlink(7): IFLA_STATS64.
    pub load: Option<Passed>,
    /// Packets that device or kernel dropped on receiving, under load.
    ///
    /// Unit: count. Source: rtnetlink(7): IFLA_STATS64.
    pub received_dropped: Option<u64>,
    /// Packets that device or kernel dropped on sending, under load.
    ///
    /// Unit: count. Source: rtnetlink(7): IFLA_STATS64.
    pub sent_dropped: Option<u64>,
    /// Backlog of its root queue discipline: 95th percentile (nearest rank) of readings every 100 ms under load. Null
    /// without a queue or if unknown. Queues of the driver, as on wireless interfaces, are not included.
    ///
    /// Source: rtnetlink(7): TCA_STATS2.
    pub backlog_p95_octets: Option<u32>,
    /// Largest of those readings.
    pub backlog_max_octets: Option<u32>,
    /// Largest of those readings, in packets.
    ///
    /// Unit: count.
    pub backlog_max_packets: Option<u32>,
    /// Its queue disciplines, the root first.
    pub queue_disciplines: Vec<HostQueue>,
}

/// What passed an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Passed {
    /// Bytes received.
    pub received_octets: u64,
    /// Packets received.
    ///
    /// Unit: count.
    pub received_packets: u64,
    /// Bytes sent.
    pub sent_octets: u64,
    /// Packets sent.
    ///
    /// Unit: count.
    pub sent_packets: u64,
}

/// What a queue discipline did over the whole test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostQueue {
    /// Kind of the queue discipline, as `tc qdisc` shows it.
    ///
    /// Source: tc(8).
    pub kind: String,
    /// Its handle.
    pub handle: String,
    /// Its parent.
    pub parent: String,
    /// Packets that it sent, between the states before and after the test. Null when either is unknown.
    ///
    /// Unit: count. Source: tc(8).
    pub packets: Option<u64>,
    /// Packets that it dropped.
    ///
    /// Unit: count.
    pub dropped: Option<u64>,
    /// Packets that it marked CE instead of dropping them. Null for kinds that never mark.
    ///
    /// Unit: count. Source: RFC 3168.
    pub marked: Option<u64>,
    /// How often it held packets back.
    ///
    /// Unit: count.
    pub overlimits: Option<u64>,
}

/// The interfaces in use of one host.
pub(crate) fn interfaces(recording: &Recording, point: ObservationPoint) -> Vec<HostInterface> {
    let mut counts: BTreeMap<u32, Vec<InterfaceCount>> = BTreeMap::new();
    let mut queues: BTreeMap<u32, Vec<QueueCount>> = BTreeMap::new();
    for tables in recording.tables_of(point) {
        tables.interface_count.rows().for_each(|row| counts.entry(row.interface).or_default().push(row));
        tables.queue_count.rows().for_each(|row| queues.entry(row.interface).or_default().push(row));
    }
    let of = |interface: &Interface| {
        let counts = counts.get(&interface.index).map_or(&[][..], Vec::as_slice);
        let queues = queues.get(&interface.index).map_or(&[][..], Vec::as_slice);
        describe(recording, point, interface, counts, queues)
    };
    recording.host(point).state.interfaces_in_use().map(of).collect()
}

fn describe(
    recording: &Recording,
    point: ObservationPoint,
    interface: &Interface,
    counts: &[InterfaceCount],
    queues: &[QueueCount],
) -> HostInterface {
    let load = recording.phase(Phase::Load);
    let dropped = |value: fn(&InterfaceCount) -> u64| load.and_then(|load| grown(counts, load, value));
    let (backlog_p95_octets, backlog_max_octets) = backlog(queues, load, |row| row.backlog_octets);
    HostInterface {
        interface: interface.index,
        name: interface.name.clone(),
        kind: interface.kind.clone(),
        idle: recording.phase(Phase::Idle).and_then(|idle| passed(counts, idle)),
        load: load.and_then(|load| passed(counts, load)),
        received_dropped: dropped(|row| row.received_dropped),
        sent_dropped: dropped(|row| row.sent_dropped),
        backlog_p95_octets,
        backlog_max_octets,
        backlog_max_packets: backlog(queues, load, |row| row.backlog_packets).1,
        queue_disciplines: queue_disciplines(recording, point, interface),
    }
}

fn grown(counts: &[InterfaceCount], window: Window, value: fn(&InterfaceCount) -> u64) -> Option<u64> {
    let readings: Vec<(TestTime, u64)> = counts.iter().map(|row| (row.at, value(row))).collect();
    growth(readings, window)
}

fn passed(counts: &[InterfaceCount], window: Window) -> Option<Passed> {
    Some(Passed {
        received_octets: grown(counts, window, |row| row.received_octets)?,
        received_packets: grown(counts, window, |row| row.received_packets)?,
        sent_octets: grown(counts, window, |row| row.sent_octets)?,
        sent_packets: grown(counts, window, |row| row.sent_packets)?,
    })
}

/// 95th percentile and maximum under load.
fn backlog(queues: &[QueueCount], load: Option<Window>, value: fn(&QueueCount) -> u32) -> (Option<u32>, Option<u32>) {
    let under_load = queues.iter().filter(|row| load.is_some_and(|load| load.contains(row.at)));
    let mut values: Vec<u32> = under_load.map(value).collect();
    values.sort_unstable();
    (percentile(&values, 0, 950), values.last().copied())
}

/// What the disciplines that stood before and after the test did in between.
fn queue_disciplines(recording: &Recording, point: ObservationPoint, interface: &Interface) -> Vec<HostQueue> {
    let after =
        recording.end.as_ref().and_then(|end| end.host(point)).and_then(|state| state.interface(interface.index));
    let same = |one: &QueueDiscipline, other: &QueueDiscipline| {
        (&one.kind, &one.handle, &one.parent) == (&other.kind, &other.handle, &other.parent)
    };
    let of = |before: &QueueDiscipline| {
        let after = after.and_then(|after| after.queue_disciplines.iter().find(|entry| same(before, entry)));
        // One that was made anew in between counts from 0, and what it did before is not known.
        let rose = |value: fn(&QueueDiscipline) -> Option<u64>| value(after?)?.checked_sub(value(before)?);
        HostQueue {
            kind: before.kind.clone(),
            handle: before.handle.clone(),
            parent: before.parent.clone(),
            packets: rose(|entry| Some(entry.counters.packets)),
            dropped: rose(|entry| Some(entry.counters.dropped)),
            marked: rose(QueueDiscipline::marked),
            overlimits: rose(|entry| Some(entry.counters.overlimits)),
        }
    };
    interface.queue_disciplines.iter().map(of).collect()
}

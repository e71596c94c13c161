//! The interfaces that packets to the other host pass: what they counted, and the queues before them.

use std::collections::BTreeMap;

use rrul_model::environment::{Interface, QueueDiscipline};
use rrul_model::observation::{InterfaceCount, ObservationPoint, QueueCount};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::host::growth::growth;
use crate::statistics::percentile::percentile;

/// The words for these numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Interfaces of the hosts",
    path: "hosts[].interfaces[]",
    about: "Octets and packets are as the device counts them: with the header of its link layer, of all programs, and where \
        segmentation is offloaded in segments that may be larger than packets on the wire.",
    words: &[
        MetricWord {
            name: "interface, name, kind",
            about: "its index at its host; its name, or kind and index where names are private; `ethernet`, `wireless`, \
                `veth`, ...",
            unit: "",
            source: "rtnetlink(7)",
        },
        MetricWord {
            name: "{idle,load}.{received,sent}_octets, {idle,load}.{received,sent}_packets",
            about: "what passed it in that phase; `null` when unknown",
            unit: "octets, count",
            source: "rtnetlink(7): IFLA_STATS64",
        },
        MetricWord {
            name: "received_dropped, sent_dropped",
            about: "packets that device or kernel dropped on receiving and on sending, under load",
            unit: "count",
            source: "rtnetlink(7): IFLA_STATS64",
        },
        MetricWord {
            name: "backlog_p95_octets, backlog_max_octets, backlog_max_packets",
            about: "what waited in its root queue discipline, of readings each 100 ms under load: 95th percentile (nearest rank) \
                and the most; `null` where nothing queues or nothing is known. What lies in the queues of a driver, as on \
                wireless interfaces, is not in it",
            unit: "octets, count",
            source: "rtnetlink(7): TCA_STATS2",
        },
        MetricWord {
            name: "queue_disciplines[].kind, queue_disciplines[].handle, queue_disciplines[].parent",
            about: "each of its queue disciplines as `tc qdisc` shows it",
            unit: "",
            source: "tc(8)",
        },
        MetricWord {
            name: "queue_disciplines[].packets, queue_disciplines[].dropped, queue_disciplines[].marked, \
                queue_disciplines[].overlimits",
            about: "packets that it sent, dropped, marked CE instead of dropping, and how often it held packets back, between \
                the states before and after the test; `null` when either is unknown, `marked` for kinds that never mark",
            unit: "count",
            source: "tc(8); RFC 3168",
        },
    ],
};

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostInterface {
    /// Its index at its host.
    pub interface: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// What passed it on the idle line.
    pub idle: Option<Passed>,
    /// What passed it under load.
    pub load: Option<Passed>,
    /// Packets dropped on receiving, under load.
    pub received_dropped: Option<u64>,
    /// Packets dropped on sending, under load.
    pub sent_dropped: Option<u64>,
    /// Backlog of the root queue discipline: 95th percentile under load.
    pub backlog_p95_octets: Option<u32>,
    /// The most.
    pub backlog_max_octets: Option<u32>,
    /// The most, in packets.
    pub backlog_max_packets: Option<u32>,
    /// Its queue disciplines, the root first.
    pub queue_disciplines: Vec<HostQueue>,
}

/// What passed an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Octets received.
    pub received_octets: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Octets sent.
    pub sent_octets: u64,
    /// Packets sent.
    pub sent_packets: u64,
}

/// What a queue discipline did over the whole test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostQueue {
    /// Its kind.
    pub kind: String,
    /// Its handle.
    pub handle: String,
    /// Below what it hangs.
    pub parent: String,
    /// Packets sent.
    pub packets: Option<u64>,
    /// Packets dropped.
    pub dropped: Option<u64>,
    /// Packets marked.
    pub marked: Option<u64>,
    /// How often it held packets back.
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

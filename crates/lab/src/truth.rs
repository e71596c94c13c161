//! The truth: what the lab knows of every packet, and the numbers that tests draw from it.

pub(crate) mod connections;
pub(crate) mod record;
pub(crate) mod stream_order;
pub(crate) mod truth_csv;
pub(crate) mod truth_log;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::units::ByteCount;

use crate::time::LabTime;
use crate::truth::record::{Fate, Record};

/// Records of one direction in the order in which their fates were settled.
#[derive(Debug, Clone, Default)]
pub struct DirectionTruth {
    pub(crate) chunks: Vec<Arc<Vec<Record>>>,
    /// Records given up because the log was full; they are the oldest. Zero unless the lab ran very long.
    pub forgotten: u64,
    /// Packets that the kernel dropped on their way into the lab because the lab was too slow to read; nothing is known
    /// of them. Anything but zero means that the machine is too slow for this link.
    pub missed: u64,
    /// Packets that the receiving host did not take although they are recorded as delivered.
    pub refused: u64,
}

/// What was logged so far, in both directions.
#[derive(Debug, Clone)]
pub struct Truth {
    /// Client to server.
    pub up: DirectionTruth,
    /// Server to client.
    pub down: DirectionTruth,
    /// When it was taken, on the clock of the records.
    pub taken: LabTime,
    /// Whether both lab threads run with real-time priority; without it expect lateness of milliseconds on a busy host.
    pub realtime: bool,
}

impl Truth {
    /// The records of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionTruth {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl DirectionTruth {
    /// Every record.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Packets with this fate; copies made by the link are not counted.
    pub fn count(&self, fate: Fate) -> u64 {
        self.records().filter(|record| record.fate == fate && !record.duplicate).count() as u64
    }

    /// Copies that the link made.
    pub fn duplicates(&self) -> u64 {
        self.records().filter(|record| record.duplicate).count() as u64
    }

    /// Packets on which the link set CE and which were delivered.
    pub fn marked(&self) -> u64 {
        self.delivered().filter(|record| record.marked).count() as u64
    }

    fn delivered(&self) -> impl Iterator<Item = &Record> {
        self.records().filter(|record| record.fate == Fate::Delivered && !record.duplicate)
    }

    fn delivered_in(&self, window: Range<LabTime>) -> impl Iterator<Item = &Record> {
        self.delivered().filter(move |record| record.delivery().is_some_and(|at| window.contains(&at)))
    }

    /// L3 bytes delivered within the window; copies made by the link are not counted.
    pub fn delivered_octets(&self, window: Range<LabTime>) -> ByteCount {
        ByteCount(self.delivered_in(window).map(|record| u64::from(record.length)).sum())
    }

    /// Bytes above TCP delivered within the window, retransmitted ones counted as often as they came.
    pub fn delivered_tcp_payload(&self, window: Range<LabTime>) -> ByteCount {
        ByteCount(self.delivered_in(window).map(|record| u64::from(record.tcp_payload)).sum())
    }

    /// Bytes above TCP that came for the first time within the window: the most that receivers can have handed up.
    pub fn unique_tcp_payload(&self, window: Range<LabTime>) -> ByteCount {
        let mut streams: HashMap<(AddressFamily, u16, u16), Stream> = HashMap::new();
        let mut octets = 0;
        for record in self.delivered().filter(|record| record.tcp_payload > 0) {
            let key = (record.family, record.source_port, record.destination_port);
            let stream = streams.entry(key).or_insert_with(|| Stream::beginning_at(record.tcp_sequence));
            let fresh = stream.receive(record.tcp_sequence, record.tcp_payload);
            if record.delivery().is_some_and(|at| window.contains(&at)) {
                octets += fresh;
            }
        }
        ByteCount(octets)
    }

    /// Queueing delays in nanoseconds, ascending, of the packets that arrived within the window and were delivered.
    pub fn queueing_delays(&self, window: Range<LabTime>) -> Vec<u64> {
        self.queueing_delays_of(window, |_| true)
    }

    /// The same for the packets that `chosen` takes, such as those of one flow.
    pub fn queueing_delays_of(&self, window: Range<LabTime>, chosen: impl Fn(&Record) -> bool) -> Vec<u64> {
        let inside = self.delivered().filter(|record| window.contains(&record.arrival) && chosen(record));
        ascending(inside.map(|record| record.queueing_delay))
    }

    /// How late the lab handed packets over, in nanoseconds, ascending: its own error.
    pub fn lateness(&self) -> Vec<u64> {
        ascending(self.delivered().map(|record| u64::from(record.lateness)))
    }

    /// The most L3 bytes that left the bottleneck within any one second: never more than the rate, plus one packet.
    pub fn busiest_second(&self) -> ByteCount {
        let departed = self.delivered().filter_map(|record| Some((record.departure()?, u64::from(record.length))));
        let mut departures: Vec<(LabTime, u64)> = departed.collect();
        departures.sort_unstable();
        let (mut first, mut inside, mut most) = (0, 0, 0);
        for (at, length) in &departures {
            inside += length;
            while at.since(departures[first].0) >= 1_000_000_000 {
                inside -= departures[first].1;
                first += 1;
            }
            most = most.max(inside);
        }
        ByteCount(most)
    }
}

fn ascending(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

/// The value below or at which `percent` of the ascending values lie: nearest rank, so always one of them.
///
/// `None` without values.
pub fn percentile(ascending: &[u64], percent: f64) -> Option<u64> {
    let rank = (percent / 100.0 * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).or(ascending.last()).copied()
}

/// Which bytes of one TCP stream have come, in a sequence space without wrap-around.
#[derive(Debug)]
struct Stream {
    /// Where the last segment began.
    latest: i64,
    /// Begin and end of every range that has come; ranges do not touch.
    ranges: BTreeMap<i64, i64>,
}

impl Stream {
    fn beginning_at(sequence: u32) -> Self {
        Self { latest: i64::from(sequence), ranges: BTreeMap::new() }
    }

    /// Takes a segment and returns how many of its bytes are new.
    fn receive(&mut self, sequence: u32, length: u16) -> u64 {
        // RFC 9293 section 3.4: sequence numbers compare within half the space of the last one.
        let start = self.latest + i64::from(sequence.wrapping_sub(self.latest as u32) as i32);
        self.latest = start;
        let (mut from, mut to) = (start, start + i64::from(length));
        let mut known = 0;
        let touching: Vec<(i64, i64)> =
            self.ranges.range(..=to).rev().take_while(|(_, end)| **end >= from).map(|(a, b)| (*a, *b)).collect();
        for (begin, end) in touching {
            known += (end.min(start + i64::from(length)) - begin.max(start)).max(0);
            from = from.min(begin);
            to = to.max(end);
            self.ranges.remove(&begin);
        }
        self.ranges.insert(from, to);
        u64::from(length) - known as u64
    }
}

#[cfg(test)]
#[path = "truth/truth_tests.rs"]
mod tests;

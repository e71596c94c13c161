//! What the link's log says of the same packets that rrul has measured.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use rrul_lab::{DirectionTruth, LabTime, Record, in_order, percentile};
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::Window;

use crate::over_a_link::Measured;

const UDP: u8 = 17;
const TCP: u8 = 6;

/// A phase on the lab's clock.
pub(crate) fn window_of(recording: &Recording, phase: Phase) -> Range<LabTime> {
    on_the_links_clock(recording, recording.phase(phase).expect("the phase is in the plan"))
}

/// A stretch of the test on the lab's clock. Lab and engine read the same clock of the same machine.
pub(crate) fn on_the_links_clock(recording: &Recording, window: Window) -> Range<LabTime> {
    let lab = |at: i64| LabTime((recording.header.clocks.client_origin + at).cast_unsigned());
    lab(window.from.0)..lab(window.to.0)
}

/// Whether the packet counts in pooled figures: those of background do not.
fn is_pooled(record: &Record) -> bool {
    record.tos_in != ServiceClass::BK.octet()
}

/// Test packets and their replies, matched.
pub(crate) struct Probes(Vec<Option<u64>>);

impl Probes {
    /// Those that were sent in this window.
    ///
    /// A flow's packets stay in order on this link, and the server answers each that arrives, in order: the n-th reply
    /// to enter the link belongs to the n-th packet to leave it.
    pub(crate) fn sent_in(measured: &Measured, window: &Range<LabTime>) -> Self {
        let is_probe = |record: &&Record| record.protocol == UDP && is_pooled(record);
        let mut replies: HashMap<u16, std::vec::IntoIter<Record>> = HashMap::new();
        for (port, records) in by(measured.truth.down.records().filter(is_probe), |record| record.destination_port) {
            replies.insert(port, records.into_iter());
        }
        let mut delays = Vec::new();
        for (port, packets) in by(measured.truth.up.records().filter(is_probe), |record| record.source_port) {
            let Some(replies) = replies.get_mut(&port) else { continue };
            for packet in packets {
                let reply = packet.delivery().and_then(|_| replies.next());
                if !window.contains(&packet.arrival) {
                    continue;
                }
                let answered = reply.filter(|reply| reply.delivery().is_some());
                delays.push(answered.map(|reply| packet.queueing_delay + reply.queueing_delay));
            }
        }
        Self(delays)
    }

    /// Queueing of packet and reply together, nanoseconds, ascending; a loss counts as the longest.
    pub(crate) fn queueing_delays(&self) -> Vec<u64> {
        let mut delays: Vec<u64> = self.0.iter().map(|delay| delay.unwrap_or(u64::MAX)).collect();
        delays.sort_unstable();
        delays
    }
}

/// What the link did to each test packet of one direction that entered it in this window, nanoseconds from when it
/// entered to when it was delivered, ascending; a loss counts as the longest.
pub(crate) fn one_way_delays(measured: &Measured, direction: Direction, window: &Range<LabTime>) -> Vec<u64> {
    let probes =
        measured.truth.direction(direction).records().filter(|record| record.protocol == UDP && is_pooled(record));
    let mut delays: Vec<u64> = probes
        .filter(|record| window.contains(&record.arrival))
        .map(|record| record.delivery().map_or(u64::MAX, |delivery| delivery.0 - record.arrival.0))
        .collect();
    delays.sort_unstable();
    delays
}

/// How late the link handed over the test packets of the idle line, the median, nanoseconds.
pub(crate) fn idle_lateness(measured: &Measured, direction: Direction) -> u64 {
    let window = window_of(&measured.recording, Phase::Idle);
    let records = measured.truth.direction(direction).records();
    let probes = records.filter(|record| record.protocol == UDP && window.contains(&record.arrival));
    let mut late: Vec<u64> = probes.map(|record| u64::from(record.lateness)).collect();
    late.sort_unstable();
    percentile(&late, 50.0).expect("test packets")
}

fn by<'a>(records: impl Iterator<Item = &'a Record>, key: impl Fn(&Record) -> u16) -> BTreeMap<u16, Vec<Record>> {
    let mut groups: BTreeMap<u16, Vec<Record>> = BTreeMap::new();
    for record in records {
        groups.entry(key(record)).or_default().push(*record);
    }
    // In the order in which they entered the link.
    for group in groups.values_mut() {
        group.sort_by_key(|record| record.arrival);
    }
    groups
}

/// Octets that the four bulk streams of this direction had been handed in order, within the load phase.
pub(crate) fn bulk_goodput(measured: &Measured, direction: Direction) -> u64 {
    let window = window_of(&measured.recording, Phase::Load);
    let truth: &DirectionTruth = measured.truth.direction(direction);
    let streams = by(truth.records().filter(|record| record.protocol == TCP && record.tcp_payload > 0), |record| {
        record.client_port(direction)
    });
    let mut in_order: Vec<u64> = streams.values().map(|records| delivered_in_order(records, &window)).collect();
    // The control connection and the streams of the other direction carry little.
    in_order.sort_unstable();
    in_order.iter().rev().take(4).sum()
}

/// How far the receiver's sequence without holes moved within the window.
fn delivered_in_order(records: &[Record], window: &Range<LabTime>) -> u64 {
    let reached = in_order(records);
    let by = |at: LabTime| reached.iter().take_while(|(_, since)| *since < at).last().map_or(0, |(octets, _)| *octets);
    by(window.end) - by(window.start)
}

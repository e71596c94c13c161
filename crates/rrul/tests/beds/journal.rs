//! Questions to the link's log.

use std::collections::BTreeMap;
use std::ops::Range;

use rrul_lab::{DirectionTruth, Fate, LabTime, Record, percentile};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::setting::Measured;

/// UDP's protocol number.
pub(crate) const UDP: u8 = 17;
/// TCP's.
pub(crate) const TCP: u8 = 6;

/// Records by the client's port, each in the order in which they entered the link.
pub(crate) fn by_port<'a>(
    records: impl Iterator<Item = &'a Record>,
    direction: Direction,
) -> BTreeMap<u16, Vec<Record>> {
    let mut groups: BTreeMap<u16, Vec<Record>> = BTreeMap::new();
    for record in records {
        groups.entry(record.client_port(direction)).or_default().push(*record);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|record| record.arrival);
    }
    groups
}

impl Measured {
    /// A phase on the lab's clock, which is the client's.
    pub(crate) fn window(&self, phase: Phase) -> Range<LabTime> {
        let window = self.recording.phase(phase).unwrap();
        self.window_between(window.from.0, window.to.0)
    }

    /// The scored window of the load, in both directions, on the lab's clock.
    pub(crate) fn scored(&self) -> Range<LabTime> {
        let window = self.analysis.scored.common.unwrap();
        self.window_between(window.from.0, window.to.0)
    }

    /// A stretch of the test on the lab's clock.
    pub(crate) fn window_between(&self, from: i64, to: i64) -> Range<LabTime> {
        let lab = |at: i64| LabTime((self.recording.header.clocks.client_origin + at).cast_unsigned());
        lab(from)..lab(to)
    }

    /// Test packets in one direction that came to the link within the window, by the client's port: one flow each.
    pub(crate) fn udp_flows(&self, direction: Direction, window: &Range<LabTime>) -> BTreeMap<u16, Vec<Record>> {
        let log: &DirectionTruth = self.truth.direction(direction);
        by_port(log.records().filter(|record| record.protocol == UDP && window.contains(&record.arrival)), direction)
    }

    /// How far the queueing that was reported of each packet lies from that in the log, milliseconds, in order of size.
    ///
    /// A flow has a class and a family of its own here, and packets 20 ms apart; the first of each is the first that came
    /// to the link, and the others are known by the time from it. Packets that were lost are left out.
    pub(crate) fn queueing_errors(&self, direction: Direction) -> Option<Vec<f64>> {
        let origin = self.recording.header.clocks.client_origin;
        let log = self.truth.direction(direction);
        let mut errors = Vec::new();
        for leg in self.analysis.one_way_delay.legs.iter().filter(|leg| leg.direction == direction) {
            let (family, octet) = (leg.flow.family, leg.flow.class.octet());
            let ours = |record: &&Record| {
                let tagged = (record.protocol, record.family, record.tos_in) == (UDP, family, octet);
                tagged && record.arrival >= LabTime(origin.cast_unsigned())
            };
            let mut records: Vec<&Record> = log.records().filter(ours).collect();
            records.sort_by_key(|record| record.arrival);
            let came = |record: &Record| record.arrival.0.cast_signed() - origin;
            let shift = came(records.first()?) - leg.queueing_series.first()?.at.0;
            for point in &leg.queueing_series {
                let due = point.at.0 + shift;
                let next = records.partition_point(|record| came(record) < due);
                let near = records[next.saturating_sub(1)..records.len().min(next + 1)].iter();
                let Some(record) = near.min_by_key(|record| came(record).abs_diff(due)) else { continue };
                let matched = came(record).abs_diff(due) < 8_000_000 && record.fate == Fate::Delivered;
                if let (true, Some(delay)) = (matched, point.delay) {
                    errors.push((delay.0 as f64 - record.queueing_delay as f64).abs() / 1e6);
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        (!errors.is_empty()).then_some(errors)
    }

    /// L3 bytes that arrived within the window, of one family or of both.
    pub(crate) fn delivered(
        &self,
        direction: Direction,
        family: Option<AddressFamily>,
        window: &Range<LabTime>,
    ) -> f64 {
        let log = self.truth.direction(direction).records();
        let ours = log.filter(|record| family.is_none_or(|family| record.family == family));
        let inside = ours.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
        inside.map(|record| f64::from(record.length)).sum()
    }

    /// Queueing delay of those that arrived, a percentile in milliseconds; losses count as the longest.
    pub(crate) fn udp_queueing(&self, direction: Direction, window: &Range<LabTime>, percent: f64) -> Option<f64> {
        let delay = |record: &Record| if record.fate == Fate::Delivered { record.queueing_delay } else { u64::MAX };
        let mut delays: Vec<u64> = self.udp_flows(direction, window).values().flatten().map(delay).collect();
        delays.sort_unstable();
        percentile(&delays, percent).filter(|delay| *delay != u64::MAX).map(|delay| delay as f64 / 1e6)
    }
}

//! Questions to the link's log.

use std::collections::BTreeMap;
use std::ops::Range;

use rrul_lab::{DirectionTruth, Fate, LabTime, Record, percentile};
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::bed::Measured;

/// UDP's protocol number.
pub(crate) const UDP: u8 = 17;

impl Measured {
    /// A phase on the lab's clock, which is the client's.
    pub(crate) fn window(&self, phase: Phase) -> Range<LabTime> {
        let window = self.recording.phase(phase).unwrap();
        self.window_between(window.from.0, window.to.0)
    }

    /// A stretch of the test on the lab's clock.
    pub(crate) fn window_between(&self, from: i64, to: i64) -> Range<LabTime> {
        let lab = |at: i64| LabTime((self.recording.header.clocks.client_origin + at).cast_unsigned());
        lab(from)..lab(to)
    }

    /// Test packets in one direction that came to the link within the window, by the client's port: one flow each.
    pub(crate) fn udp_flows(&self, direction: Direction, window: &Range<LabTime>) -> BTreeMap<u16, Vec<Record>> {
        let mut flows: BTreeMap<u16, Vec<Record>> = BTreeMap::new();
        let log: &DirectionTruth = self.truth.direction(direction);
        for record in log.records().filter(|record| record.protocol == UDP && window.contains(&record.arrival)) {
            let port = if direction == Direction::Up { record.source_port } else { record.destination_port };
            flows.entry(port).or_default().push(*record);
        }
        for records in flows.values_mut() {
            records.sort_by_key(|record| record.arrival);
        }
        flows
    }

    /// Queueing delay of those that arrived, a percentile in milliseconds; losses count as the longest.
    pub(crate) fn udp_queueing(&self, direction: Direction, window: &Range<LabTime>, percent: f64) -> Option<f64> {
        let delay = |record: &Record| if record.fate == Fate::Delivered { record.queueing_delay } else { u64::MAX };
        let mut delays: Vec<u64> = self.udp_flows(direction, window).values().flatten().map(delay).collect();
        delays.sort_unstable();
        percentile(&delays, percent).filter(|delay| *delay != u64::MAX).map(|delay| delay as f64 / 1e6)
    }
}

//! Bytes of streams as they arrive, from the most precise counter available.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{ObservationPoint, OctetsReceived, receiver};
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

/// What has arrived of one stream.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    segments: u32,
    octets: u64,
}

/// Counts what the receivers of the load have got.
///
/// Where segments are counted, bytes by their arrival, as bytes in order jump when a hole is filled.
#[derive(Debug, Clone)]
pub(super) struct Arrivals {
    directions: HashMap<FlowId, Direction>,
    segments: HashMap<FlowId, Arrived>,
}

impl Arrivals {
    /// Creates the arrivals of the load flows of a test.
    pub(super) fn new(header: &Header) -> Self {
        Self {
            directions: super::load(header).filter_map(|flow| Some((flow.id, flow.direction?))).collect(),
            segments: HashMap::new(),
        }
    }

    /// The direction in which a load flow sends.
    pub(super) fn direction(&self, flow: FlowId) -> Option<Direction> {
        self.directions.get(&flow).copied()
    }

    /// Where a load flow's bytes are counted.
    pub(super) fn counted_at(&self, flow: FlowId) -> Option<ObservationPoint> {
        self.direction(flow).map(receiver)
    }

    /// The readings of a frame: all bytes of a stream so far, at a time. Both ends of a stream may count; only the
    /// receiver's count is goodput.
    pub(super) fn readings(&mut self, frame: &Frame) -> Vec<(FlowId, TestTime, u64)> {
        let mut readings = Vec::new();
        for row in frame.tables.tcp_info.rows() {
            if self.counted_at(row.flow) != Some(frame.point) {
                continue;
            }
            let arrived = self.segments.entry(row.flow).or_insert(Arrived { segments: row.data_segs_in, octets: 0 });
            let fresh = row.data_segs_in.saturating_sub(arrived.segments);
            *arrived = Arrived {
                segments: row.data_segs_in,
                octets: arrived.octets.saturating_add(u64::from(fresh) * u64::from(row.rcv_mss)),
            };
            readings.push((row.flow, row.at, arrived.octets));
        }
        for OctetsReceived { flow, at, octets } in frame.tables.octets_received.rows() {
            if self.counted_at(flow) == Some(frame.point) && !self.segments.contains_key(&flow) {
                readings.push((flow, at, octets.0));
            }
        }
        readings
    }
}

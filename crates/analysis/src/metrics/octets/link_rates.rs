//! What the link carried over time, in all and by what it was for.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::Window;
use rrul_model::units::ByteCount;

use crate::metrics::octets::loose_octets;
use crate::metrics::octets::octet_account::OctetParts;
use crate::metrics::octets::traffic::{Part, Traffic};
use crate::series::RatePoint;
use crate::statistics::time_bins::TimeBins;

/// What the link carried over time in one direction, IP layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkRates {
    pub all: Vec<RatePoint>,
    /// The same by traffic type, on the same grid; empty for a type without packets.
    pub parts: OctetParts<Vec<RatePoint>>,
    /// Packets in each interval of the grid.
    pub packets: Vec<f64>,
}

impl LinkRates {
    /// Returns what the link carried in one direction over time, IP layer, on a grid aligned to the beginning of the test.
    ///
    /// Bytes whose time is known only between two readings are placed where the rest leaves most room
    /// (`loose_octets.rs`): no interval shows more than the link's rate for want of readings.
    pub(crate) fn measure(traffic: &Traffic<'_>, direction: Direction, window: Window, interval: Duration) -> Self {
        let bins = TimeBins::covering(window, interval);
        let mut spread: BTreeMap<Part, Vec<f64>> = BTreeMap::new();
        let mut packets = vec![0.0; bins.len()];
        for carried in traffic.carried.iter().filter(|carried| carried.direction == direction) {
            let octets: Vec<f64> = carried.octets.at_each(bins.edges()).collect();
            let of_part = spread.entry(carried.part).or_insert_with(|| vec![0.0; bins.len()]);
            for (sum, edges) in of_part.iter_mut().zip(octets.windows(2)) {
                *sum += (edges[1] - edges[0]).max(0.0);
            }
            let counts: Vec<f64> = carried.count.at_each(bins.edges()).collect();
            for (sum, edges) in packets.iter_mut().zip(counts.windows(2)) {
                *sum += (edges[1] - edges[0]).max(0.0);
            }
        }
        let loose = traffic.loose.iter().filter(|loose| loose.direction == direction);
        let placed = loose_octets::place(&bins, spread, loose.copied());
        let rates = |octets: &[f64]| -> Vec<RatePoint> {
            let point = |index: usize| {
                let (at, over) = bins.bin(index)?;
                let octets = octets[index].max(0.0).round() as u64;
                Some(RatePoint { at, over, rate: ByteCount(octets).per(over) })
            };
            (0..bins.len()).filter_map(point).collect()
        };
        let mut all = vec![0.0; bins.len()];
        let mut parts = OctetParts::default();
        for (part, octets) in &placed {
            all.iter_mut().zip(octets).for_each(|(sum, octets)| *sum += octets);
            *parts.part_mut(*part) = rates(octets);
        }
        Self { all: rates(&all), parts, packets }
    }
}

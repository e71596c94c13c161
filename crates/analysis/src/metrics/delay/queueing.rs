//! How long packets waited in queues, by the best that is known of it.

use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::metrics::delay::one_way_delay::OneWayDelay;
use crate::metrics::delay::round_trip_delay::PhaseDelays;
use crate::series::DelayPoint;

/// What waits are known from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queueing<'a> {
    pub(crate) one_way: &'a OneWayDelay,
    /// Round-trip delay of the pooled probes.
    pub(crate) round_trip: &'a PhaseDelays,
    /// The pooled probes in the order of time.
    pub(crate) packets: &'a [DelayPoint],
}

impl Queueing<'_> {
    /// How long packets waited in this direction, by the time they were sent, lost ones left out; of the round trip where
    /// only this direction was loaded and the delay by direction is unknown. `None` when not known.
    pub(crate) fn waits(&self, direction: Direction, loaded_alone: bool) -> Option<Vec<(TestTime, Delay)>> {
        self.by_direction(direction).or_else(|| loaded_alone.then(|| self.above_idle())?)
    }

    fn by_direction(&self, direction: Direction) -> Option<Vec<(TestTime, Delay)>> {
        let legs = self.one_way.legs.iter().filter(|leg| leg.direction == direction);
        let points = legs.flat_map(|leg| &leg.queueing_series);
        let mut known: Vec<_> = points.filter_map(|point| Some((point.at, point.delay?))).collect();
        known.sort_unstable_by_key(|(at, _)| *at);
        (!known.is_empty()).then_some(known)
    }

    /// The same of the round trip, which is of one direction when only that was loaded.
    fn above_idle(&self) -> Option<Vec<(TestTime, Delay)>> {
        let least = self.round_trip.idle?.min?;
        Some(self.packets.iter().filter_map(|packet| Some((packet.at, packet.delay? - least))).collect())
    }
}

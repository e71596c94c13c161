//! A part of the test between two steps: the smallest delays of its idle packets, and the slope of the line beneath them.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::{TestTime, Window};

use super::tracks::Tracks;
use crate::by_direction::ByDirection;
use crate::statistics::lower_hull::{LowerHull, common_slope};
use crate::statistics::percentile::percentile;

/// Fewest packets of one kind and direction whose smallest delay means something.
const FEWEST: usize = 10;

/// Of how many interleaved samples the slope's error is read.
const SAMPLES: usize = 4;

/// Idle packets between two steps.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Where its idle packets lie, on the client's clock, in order.
    pub(super) stretches: Vec<Window>,
    hulls: Vec<ByDirection<Option<LowerHull>>>,
    /// The same of every fourth packet.
    samples: [Vec<LowerHull>; SAMPLES],
}

impl Part {
    /// Creates the part of the packets in these stretches.
    pub(super) fn new(tracks: &Tracks, stretches: Vec<Window>) -> Self {
        Self::of_at_least(FEWEST, tracks, stretches)
    }

    /// Creates the part of every packet, for want of idle ones.
    pub(super) fn of_all(tracks: &Tracks) -> Self {
        Self::of_at_least(1, tracks, vec![Window { from: TestTime(i64::MIN), to: TestTime(i64::MAX) }])
    }

    fn of_at_least(fewest: usize, tracks: &Tracks, stretches: Vec<Window>) -> Self {
        let mut samples: [Vec<LowerHull>; SAMPLES] = Default::default();
        let mut hull = |kind, direction| {
            let points: Vec<(f64, f64)> = tracks.points(kind, direction, &stretches).collect();
            if points.len() < fewest {
                return None;
            }
            for (first, sample) in samples.iter_mut().enumerate() {
                sample.extend(LowerHull::from_points(points.iter().skip(first).step_by(SAMPLES).copied()));
            }
            LowerHull::from_points(points)
        };
        let hulls = (0..tracks.kinds.len()).map(|kind| ByDirection::each(|direction| hull(kind, direction))).collect();
        Self { stretches, hulls, samples }
    }

    /// Whether it ties the clocks to each other: some kind has packets in both directions.
    pub(super) fn is_anchor(&self) -> bool {
        self.hulls.iter().any(|hulls| hulls.up.is_some() && hulls.down.is_some())
    }

    /// From its first idle packet to its last.
    pub(super) fn span(&self) -> Window {
        let from = self.stretches.first().map_or(TestTime::ZERO, |stretch| stretch.from);
        Window { from, to: self.stretches.last().map_or(from, |stretch| stretch.to) }
    }

    pub(super) fn middle(&self) -> TestTime {
        let span = self.span();
        TestTime(i64::midpoint(span.from.0, span.to.0))
    }

    /// The smallest delay of one kind in each direction, less drift.
    pub(super) fn levels(&self, kind: usize, slope: f64) -> ByDirection<Option<f64>> {
        ByDirection::each(|direction| Some(self.hulls.get(kind)?.get(direction).as_ref()?.level(slope)))
    }

    /// How far the delays of the last second reach, but for the slowest tenth; the worse of the two directions.
    pub(super) fn spread_at_end(&self, tracks: &Tracks, kind: usize, slope: f64) -> f64 {
        let end = self.span().to;
        let last = [Window { from: end - Duration::from_secs(1), to: end }];
        let spread = |direction| {
            let mut delays: Vec<f64> = tracks.points(kind, direction, &last).map(|(x, y)| y - slope * x).collect();
            delays.sort_unstable_by(f64::total_cmp);
            percentile(&delays, 0, 900).zip(delays.first()).map_or(f64::INFINITY, |(most, least)| most - least)
        };
        spread(Direction::Up).max(spread(Direction::Down))
    }
}

/// A slope and by how much it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drift {
    /// How much the server's clock gains on the client's, of its own time.
    pub(super) slope: f64,
    /// Standard deviation of the slopes that four interleaved quarters of the packets give, each for itself.
    ///
    /// Lines beneath packets close in on the truth as their number grows, so the slope of all is nearer than these.
    pub(super) error: f64,
}

/// The slope that all parts share, each at its own level.
pub(super) fn drift(parts: &[Part]) -> Option<Drift> {
    let all: Vec<LowerHull> = parts
        .iter()
        .flat_map(|part| &part.hulls)
        .flat_map(|hulls| [&hulls.up, &hulls.down])
        .flatten()
        .cloned()
        .collect();
    let slope = common_slope(&all)?;
    let mut squares = 0.0;
    for sample in 0..SAMPLES {
        let hulls: Vec<LowerHull> = parts.iter().flat_map(|part| part.samples[sample].iter().cloned()).collect();
        squares += (common_slope(&hulls)? - slope).powi(2);
    }
    Some(Drift { slope, error: (squares / SAMPLES as f64).sqrt() })
}

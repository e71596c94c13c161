//! What the line of a direction is once a suspected policer is settled, and whether it gains from a shaper.

use rrul_model::flow::Direction;
use rrul_model::shaping::ShaperRates;

use crate::tuning::reference::Line;
use crate::tuning::session::Session;
use crate::tuning::suspected_policer::Suspicion;

/// What is set to drain the queues of a line, as a part of its rate.
const HALF: f64 = 0.5;

impl Session<'_> {
    /// The line of a direction as its last reference shows it. `None` without one. One that may be a policer counts as one until
    /// that is known.
    pub(crate) fn line(&self, direction: Direction) -> Option<Line> {
        let line = self.references(direction).last().map(|trial| self.line_in(direction, trial))?;
        let suspicion = Suspicion::detect(self, direction).map(|suspicion| (suspicion.loss, suspicion.is_policer()));
        Some(match (line, suspicion) {
            (Line::Queues | Line::Managed, Some((loss, None | Some(true)))) => Line::Drops { loss },
            (Line::Drops { .. }, Some((_, Some(false)))) => Line::Managed,
            (line, _) => line,
        })
    }

    /// Whether a direction is to be tuned and gains from it.
    pub(crate) fn needs(&self, direction: Direction) -> bool {
        self.tunes(direction) && self.line(direction).is_some_and(|line| line.needs_shaping())
    }

    /// Every direction that needs a shaper at half of its rate.
    pub(crate) fn halves(&self) -> ShaperRates {
        let half = |direction| if self.needs(direction) { self.part(direction, HALF) } else { None };
        ShaperRates { down: half(Direction::Down), up: half(Direction::Up) }
    }
}

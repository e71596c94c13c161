//! The trials of a session, by what they are for.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{StepPurpose, TuningPlan};
use rrul_model::units::{BitRate, Delay};

use crate::tuning::course::Course;
use crate::tuning::limit;
use crate::tuning::reference::Line;
use crate::tuning::result::Discarded;
use crate::tuning::trial::{HostLimit, Trial, TrialDirection};

/// Other traffic of more than this part of the shaper's bytes disturbs a trial.
const DISTURBING: f64 = 0.05;
/// No rate below this part of the line's is set.
const LEAST_PART: f64 = 0.1;
/// On a line that is not this many times as fast as the smallest rate that may be set, less may be set.
const ROOM: f64 = 4.0;

/// The shortest trial that observes whether the line's rate is even.
pub(crate) const OBSERVATION: Duration = Duration::from_secs(38);
/// Rates of a saturated line that differ by more than this part are not one rate.
pub(crate) const DIFFERENT: f64 = 0.08;

const UP_FIRST: [Direction; 2] = [Direction::Up, Direction::Down];

/// All that is known.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub(crate) plan: &'a TuningPlan,
    pub(crate) trials: &'a [Trial],
}

impl<'a> Session<'a> {
    pub(crate) fn tunes(&self, direction: Direction) -> bool {
        self.plan.directions.contains(&direction)
    }

    /// From the first step to the end of the last.
    pub(crate) fn elapsed(&self) -> Duration {
        let span = self.trials.first().zip(self.trials.last());
        let nanoseconds = span.map_or(0, |(first, last)| last.step.ended_at.since(first.step.set_at).0);
        Duration::from_nanos(nanoseconds.max(0).cast_unsigned())
    }

    /// Whether it is known which bytes the shaper counts.
    pub(crate) fn knows_bytes(&self, direction: Direction) -> bool {
        let shaper = &self.plan.shaper;
        direction.select(&shaper.up_link_layer, &shaper.down_link_layer).is_some()
    }

    /// Noise of the idle line. What disturbed its seconds and was gone under load, far below the line's rate, is not of the line.
    pub(crate) fn noise(&self, direction: Direction) -> Option<Delay> {
        let idle = self.trials.iter().find_map(|trial| trial.directions.get(direction).idle_p95)?;
        let shaped = self.knobs(direction).filter_map(|trial| trial.directions.get(direction).queueing_delay);
        Some(shaped.map(|delay| delay.p95).fold(idle, Delay::min))
    }

    /// The direction that is referred to first, that with the longest queue: acknowledgments of the other one wait in it, so that
    /// the other one's rate is to be measured with this one shaped.
    pub(crate) fn lead(&self) -> Direction {
        let Some(first) = self.trials.first() else { return Direction::Up };
        let is = |direction: &Direction, wanted: fn(&Line) -> bool| {
            self.tunes(*direction) && wanted(&self.line_in(*direction, first))
        };
        let waited = |direction: &&Direction| first.directions.get(**direction).queueing_delay.map(|delay| delay.p50);
        // Of two that are alike the upload.
        let queues =
            UP_FIRST.iter().rev().filter(|direction| is(direction, |line| *line == Line::Queues)).max_by_key(waited);
        let drops = || UP_FIRST.iter().find(|direction| is(direction, |line| matches!(line, Line::Drops { .. })));
        let planned = || self.plan.directions.first();
        queues.or_else(drops).or_else(planned).copied().unwrap_or(Direction::Up)
    }

    /// Trials that show the unshaped line of a direction: the other one's queue was empty, or it is that of the lead.
    pub(crate) fn references(&self, direction: Direction) -> Vec<&'a Trial> {
        let lead = self.lead();
        let Some(first) = self.trials.first() else { return Vec::new() };
        let free = direction == lead || !self.tunes(lead) || !self.line_in(lead, first).needs_shaping();
        let shows = |trial: &&Trial| {
            let purpose = match trial.step.purpose {
                StepPurpose::Reference => true,
                StepPurpose::Knob => trial.step.direction != Some(direction) && direction != lead,
                _ => false,
            };
            purpose && trial.step.rates.direction(direction).is_none() && (free || self.is_clear(trial, lead))
        };
        let shown: Vec<&Trial> = self.trials.iter().filter(shows).collect();
        // Where some were taken with the other direction shaped for that purpose, they alone show it: beside a queue of the other
        // direction, which delays acknowledgments, connections take many seconds to find the line's rate.
        let other = direction.opposite();
        let apart =
            |trial: &Trial| trial.step.purpose == StepPurpose::Reference && trial.step.rates.direction(other).is_some();
        if direction != lead || !shown.iter().any(|trial| apart(trial)) {
            return shown;
        }
        shown.into_iter().filter(|trial| apart(trial)).collect()
    }

    /// Whether a direction had no queue to speak of, shaped or not, so that the other one's acknowledgments were in time.
    pub(crate) fn is_free(&self, trial: &Trial, direction: Direction) -> bool {
        let figures = trial.directions.get(direction);
        let rate = trial.step.rates.direction(direction).or(figures.delivered);
        let most = limit::own(self.plan, direction, rate.map_or(f64::MAX, |rate| rate.0 as f64), self.noise(direction));
        figures.queueing_delay.is_none_or(|delay| delay.p50.0 as f64 <= most)
    }

    /// Whether a direction was shaped and had no queue, so that the other one's acknowledgments were in time.
    fn is_clear(&self, trial: &Trial, direction: Direction) -> bool {
        let (Some(set), Some(delay)) =
            (trial.step.rates.direction(direction), trial.directions.get(direction).queueing_delay)
        else {
            return false;
        };
        delay.p50.0 as f64 <= limit::own(self.plan, direction, set.0 as f64, self.noise(direction))
    }

    /// The unshaped line over the seconds.
    pub(crate) fn course(&self, direction: Direction) -> Course {
        Course::from_trials(
            self.references(direction).into_iter().map(|trial| (trial, trial.directions.get(direction))),
        )
    }

    /// The line of a direction as an unshaped trial shows it.
    pub(crate) fn line_in(&self, direction: Direction, trial: &Trial) -> Line {
        Line::in_trial(self.plan, self.noise(direction), direction, trial)
    }

    /// What host kept a direction below the rate that was set: the router, where the same hosts carried more without its shaper.
    pub(crate) fn host_limit(&self, direction: Direction, trial: &Trial) -> Option<HostLimit> {
        let set = trial.step.rates.direction(direction);
        let unshaped = self.references(direction).last().and_then(|last| last.directions.get(direction).delivered);
        let router =
            || set.zip(unshaped).and_then(|(set, unshaped)| (unshaped >= set).then_some(HostLimit::RouterProcessor));
        trial.host_limit.or_else(router)
    }

    /// Trials of one purpose in one direction.
    pub(crate) fn with_purpose(
        &self,
        purpose: StepPurpose,
        direction: Direction,
    ) -> impl Iterator<Item = &'a Trial> + use<'a> {
        let of = move |trial: &&Trial| trial.step.purpose == purpose && trial.step.direction == Some(direction);
        self.trials.iter().filter(of)
    }

    /// Trials in which the shaper of a direction was set far below its line.
    pub(crate) fn knobs(&self, direction: Direction) -> impl Iterator<Item = &'a Trial> + use<'a> {
        let set = move |trial: &&Trial| trial.step.rates.direction(direction).is_some();
        self.with_purpose(StepPurpose::Knob, direction).filter(set)
    }

    /// How many seconds the load needed to reach its rate after a flush, at most, in the trials of the search.
    pub(crate) fn ramp(&self) -> u64 {
        let searched = self.trials.iter().filter(|trial| trial.step.purpose == StepPurpose::Search);
        let of = |trial: &Trial| trial.step.direction.map_or(0, |direction| trial.directions.get(direction).ramp());
        searched.map(of).max().unwrap_or(0)
    }

    /// Checks of both directions together.
    pub(crate) fn joints(&self) -> impl Iterator<Item = &'a Trial> + use<'a> {
        self.trials.iter().filter(|trial| trial.step.purpose == StepPurpose::Joint)
    }

    /// Whether a trial that was to judge rates says nothing of one of them.
    pub(crate) fn is_discarded(&self, trial: &Trial) -> bool {
        Direction::ALL.into_iter().any(|direction| self.discarded(trial, direction).is_some())
    }

    /// Why a trial that was to judge the rate of a direction says nothing of it.
    pub(crate) fn discarded(&self, trial: &Trial, direction: Direction) -> Option<Discarded> {
        if !trial.judges(direction) || !self.tunes(direction) {
            None
        } else if is_disturbed(trial.directions.get(direction)) {
            Some(Discarded::OtherTraffic)
        } else {
            self.is_interrupted(trial, direction).then_some(Discarded::Interrupted)
        }
    }

    /// Whether a direction was observed for long without a shaper, and was even.
    pub(crate) fn is_steady(&self, direction: Direction) -> bool {
        let is_long = |trial: &Trial| trial.step.window().length() >= OBSERVATION;
        self.with_purpose(StepPurpose::Reference, direction).any(is_long)
            && self.course(direction).percentiles().is_some_and(|rate| !differ(rate.p10.0 as f64, rate.p90.0 as f64))
    }

    /// Whether a line that is even delivered less than that, and than was set.
    fn is_interrupted(&self, trial: &Trial, direction: Direction) -> bool {
        if !self.is_steady(direction) {
            return false;
        }
        let of = |trial: &Trial| {
            let set = trial.step.rates.direction(direction)?.0 as f64;
            Some((set, with_others(trial.directions.get(direction))?))
        };
        let (Some((set, arrived)), Some(line)) = (of(trial), self.course(direction).sustained()) else { return false };
        // Both count other bytes, as the shaper far below the line shows.
        let counted = self.knobs(direction).last().and_then(of).map_or(1.0, |(set, arrived)| arrived / set);
        differ(arrived, line.min(set * counted))
    }

    /// Whether other traffic was seen in a direction at any time.
    pub(crate) fn saw_others(&self, direction: Direction) -> bool {
        self.trials.iter().any(|trial| is_disturbed(trial.directions.get(direction)))
    }

    /// The smallest rate that may be set.
    pub(crate) fn floor(&self, direction: Direction) -> f64 {
        let line = self.course(direction).sustained().unwrap_or_default();
        (self.plan.floor.0 as f64).min(line / ROOM).max(line * LEAST_PART)
    }

    /// A part of the unshaped line's rate, to be set.
    pub(crate) fn part(&self, direction: Direction, part: f64) -> Option<BitRate> {
        let line = self.course(direction).lowest()?;
        Some(settable((line * part).max(self.floor(direction))))
    }
}

/// A rate as shapers take it.
pub(crate) fn settable(rate: f64) -> BitRate {
    BitRate((rate / 1000.0).round().max(1.0) as u64 * 1000)
}

fn differ(low: f64, high: f64) -> bool {
    low < high * (1.0 - DIFFERENT)
}

fn is_disturbed(figures: &TrialDirection) -> bool {
    figures.foreign.is_some_and(|foreign| foreign > DISTURBING)
}

/// What arrived, and what others sent through the shaper in the same time.
pub(crate) fn with_others(figures: &TrialDirection) -> Option<f64> {
    let own = figures.delivered?.0 as f64;
    Some(own / (1.0 - figures.foreign.unwrap_or(0.0).clamp(0.0, 0.9)))
}

/// All that arrived, in relation to what the load itself delivered.
pub(crate) fn over_own(figures: &TrialDirection) -> Option<f64> {
    Some(with_others(figures)? / figures.delivered?.0.max(1) as f64)
}

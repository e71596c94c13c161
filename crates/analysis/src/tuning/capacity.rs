//! What the trials say of the line's rate, and of the largest rate of the shaper that passes.

use rrul_model::flow::Direction;
use rrul_model::shaping::StepPurpose;

use crate::statistics::shortest_half::mean_of_shortest_half;
use crate::tuning::judgement::{Estimate, Judge, Judged, delivered, measured};
use crate::tuning::posterior::{Posterior, normal, normal_below};
use crate::tuning::reference::Line;
use crate::tuning::result::Verdict;
use crate::tuning::session::{Session, over_own, with_others};
use crate::tuning::trial::Trial;

/// The prior of the line's rate around that of the unshaped line, in the logarithm.
const PRIOR: f64 = 0.15;
/// The same where the unshaped line delivers less than its rate, with how much less: a policer drops and senders slow down;
/// others use a part.
const POLICED: (f64, f64) = (0.04, 0.07);
const SHARED: (f64, f64) = (0.08, 0.12);
/// Parts of the unshaped rate between which the line's is looked for.
const LOWEST: f64 = 0.2;
const HIGHEST: f64 = 1.7;
/// A line that delivers less than this part of what was set, or has a long queue, is at its own rate.
const OVERDRIVEN: f64 = 0.985;
/// The standard error of the mean of the shortest half of fourteen normal values, in that of the mean of all.
const OF_SHORTEST_HALF: f64 = 2.0;
/// What no number of seconds improves: framing and the turns of senders.
const LEAST_ERROR: f64 = 0.0015;

/// All trials of one direction that say something of its rate, judged.
pub(crate) struct Evidence<'a> {
    session: Session<'a>,
    direction: Direction,
    pub(crate) judge: Judge<'a>,
    /// Trials of the search and of the check of both directions that count.
    pub(crate) judged: Vec<(&'a Trial, Judged)>,
    unshaped: f64,
}

impl<'a> Evidence<'a> {
    /// `None` before the unshaped line was measured.
    pub(crate) fn gather(session: Session<'a>, direction: Direction) -> Option<Self> {
        let judge = Judge::new(session, direction);
        let counts = |trial: &&Trial| match trial.step.purpose {
            StepPurpose::Search => trial.step.direction == Some(direction),
            StepPurpose::Joint => true,
            _ => false,
        };
        let counted = session.trials.iter().filter(counts).filter(|trial| !session.is_discarded(trial));
        let judged = counted.filter_map(|trial| Some((trial, judge.judge(trial)?))).collect();
        let unshaped = session.course(direction).sustained()?;
        Some(Self { session, direction, judge, judged, unshaped })
    }

    /// Whether others may have used a part of the unshaped line.
    pub(crate) fn is_shared(&self) -> bool {
        self.session.saw_others(self.direction)
    }

    /// Logarithms of the rate at which a saturated line delivered, in trials that are no more than this.
    pub(crate) fn saturated(&self) -> Vec<Estimate> {
        let mut found = Vec::new();
        if !self.judge.policed && !self.is_shared() && self.session.line(self.direction) == Some(Line::Queues) {
            let tail = self.session.course(self.direction).tail();
            // Seconds in which the queue runs empty, or losses are repaired, deliver less than the line's rate; none delivers more.
            found.extend(delivered(&tail, 1.0).map(|mean| Estimate {
                value: mean_of_shortest_half(&tail).ln(),
                deviation: OF_SHORTEST_HALF * mean.deviation,
            }));
        }
        let overdriven = self.judged.iter().filter(|(trial, judged)| {
            let is_full =
                || self.judge.has_long_queue(trial) || self.ratio(trial).is_some_and(|ratio| ratio < OVERDRIVEN);
            judged.verdict == Verdict::LineHolds
                && !judged.says_nothing()
                && trial.stolen_from.is_none()
                && self.judge.stays_queued(trial)
                && is_full()
        });
        if !self.judge.policed {
            found.extend(overdriven.filter_map(|(trial, _)| self.delivered(trial)));
        }
        found
    }

    fn ratio(&self, trial: &Trial) -> Option<f64> {
        let set = trial.step.rates.direction(self.direction)?;
        Some(self.judge.ratio(with_others(trial.directions.get(self.direction))?, set))
    }

    fn delivered(&self, trial: &Trial) -> Option<Estimate> {
        let figures = trial.directions.get(self.direction);
        delivered(&measured(trial, figures), over_own(figures)?)
    }

    /// The line's rate, in the shaper's bytes.
    pub(crate) fn capacity(&self) -> Posterior {
        let scale = self.judge.scale;
        let unshaped = self.unshaped * (-scale.value).exp();
        let (more, width) = match (self.judge.policed, self.is_shared()) {
            (true, _) => POLICED,
            (false, true) => SHARED,
            (false, false) => (0.0, PRIOR),
        };
        let middle = unshaped.ln() + more;
        let mut rate = Posterior::with_prior(unshaped * LOWEST, unshaped * HIGHEST, |at| normal(at, middle, width));
        let saturated = self.saturated();
        if !saturated.is_empty() {
            let weight: f64 = saturated.iter().map(|one| one.deviation.powi(-2)).sum();
            let mean = saturated.iter().map(|one| one.value * one.deviation.powi(-2)).sum::<f64>() / weight;
            let deviation = (1.0 / weight + scale.deviation.powi(2) + LEAST_ERROR.powi(2)).sqrt();
            rate.observe(|at| normal(at, mean - scale.value, deviation));
        }
        if self.judge.policed {
            for (trial, judged) in &self.judged {
                let Some(set) = trial.step.rates.direction(self.direction) else { continue };
                rate.answer(set.0 as f64, judged.verdict != Verdict::LineHolds, judged.sure);
            }
            return rate;
        }
        // No line delivers more than its rate. All trials share the error of the scale: only the one counts that surely brought most.
        let delivered = self.judged.iter().filter_map(|(trial, _)| self.delivered(trial));
        let sure = |one: &Estimate| one.value - one.deviation;
        if let Some(most) = delivered.max_by(|one, other| sure(one).total_cmp(&sure(other))) {
            let deviation = (most.deviation.powi(2) + scale.deviation.powi(2)).sqrt();
            rate.observe(|at| normal_below((at + scale.value - most.value) / deviation).max(0.02));
        }
        rate
    }

    /// The largest rate of the shaper that passes.
    pub(crate) fn passing(&self) -> Posterior {
        let part = if self.judge.policed { part_of_policer } else { part_of_queue };
        let mut rate = self.capacity().scaled(part);
        if self.judge.policed {
            // The answers are part of what is known of the line's rate.
            return rate;
        }
        for (trial, judged) in &self.judged {
            if let (Some(set), Verdict::ShaperHolds | Verdict::LineHolds) =
                (trial.step.rates.direction(self.direction), judged.verdict)
            {
                rate.answer(set.0 as f64, judged.verdict == Verdict::ShaperHolds, judged.sure);
            }
        }
        rate
    }

    /// Rates that passed.
    pub(crate) fn passed(&self) -> impl Iterator<Item = f64> {
        let held = self.judged.iter().filter(|(_, judged)| judged.verdict == Verdict::ShaperHolds);
        held.filter_map(|(trial, _)| trial.step.rates.direction(self.direction)).map(|rate| rate.0 as f64)
    }
}

/// The largest rate that passes, as a part of the line's: just below, or less where arrivals come in clumps.
fn part_of_queue(part: f64) -> f64 {
    let below = 0.65 * normal(part, -0.013, 0.006) / (0.006 * 2.507);
    let clumps = if part < 0.0 { 0.25 * (part / 0.04).exp() / 0.04 } else { 0.0 };
    let far = if part < 0.0 { 0.1 / 1.6 } else { 0.0 };
    below + clumps + far
}

fn part_of_policer(part: f64) -> f64 {
    normal(part, -0.004, 0.003)
}

//! What a tuning session does next.
//!
//! 1. The line without a shaper, past its burst: rate and delay of each direction.
//! 2. Each direction far below that: does the shaper limit that direction and no other, and is the queue gone?
//! 3. For each direction the largest rate that passes, by bisection with noisy answers.
//! 4. Both rates together, with small steps down if they do not pass.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningPlan};
use rrul_model::units::Delay;

use crate::tuning::capacity::Evidence;
use crate::tuning::judgement::{Judge, delivered};
use crate::tuning::knob_test::{self, Knob};
use crate::tuning::limit;
use crate::tuning::next_step::{Flush, NextStep, Times};
use crate::tuning::reference::{Line, loss};
use crate::tuning::result::{Outcome, Refusal, Unfinished, Verdict};
use crate::tuning::session::{OBSERVATION, Session, settable};
use crate::tuning::suspected_policer::{HELD_PART, Suspicion};
use crate::tuning::trial::Trial;
use crate::tuning::varying::varies;

/// Settling and measuring of each kind of step.
const REFERENCE: Times = Times::seconds(6, 14);
const KNOB_AND_REFERENCE: Times = Times::seconds(8, 14);
const KNOB: Times = Times::seconds(4, 8);
const SEARCH: Times = Times::seconds(2, 9);
const JOINT: Times = Times::seconds(3, 24);
/// A line that varies is observed for this long at a time.
const OBSERVE: Times = Times { settle: Duration::from_secs(2), measure: OBSERVATION };
const FLUSH: Duration = Duration::from_secs(4);
/// Between two steps, until the figures of the first are known.
const BETWEEN: Duration = Duration::from_secs(1);
/// The longest that a step settles, in seconds.
const LONGEST_RAMP: u64 = 6;
/// The rate of an unshaped line is not known when its error is more than this part of it.
const UNEVEN: f64 = 0.01;
/// The trials of a direction that are left for it while another one is searched.
const TRIALS_EACH: usize = 3;

/// What is set to see whether the shaper limits: of the first direction, while the other one's rate is measured and needs its
/// acknowledgments; of the second; and when it is to be clearer.
const FIRST_PART: f64 = 0.7;
const PART: f64 = 0.5;
const LOW_PART: f64 = 0.3;

/// Steps that follow when the rate of the unshaped line has changed within the first.
const EXTENSIONS: usize = 2;
/// A sustained rate is one of at least so many seconds.
const SUSTAINED: usize = 8;
/// Steps that observe a line that varies.
const OBSERVATIONS: usize = 3;
/// The part of the probability within the interval whose width ends the search, and that width.
const PROBABILITY: f64 = 0.9;
const NARROW: f64 = 0.02;
const NARROW_OF_POLICER: f64 = 0.03;
/// A rate that has passed is taken when it passes at least with this probability, by all trials.
const PASSING: f64 = 0.4;
/// One that has not been tried is taken when it passes at least with this one: the check of both directions judges it.
const PASSING_UNTRIED: f64 = 0.65;
/// What is recommended is at most this part of the line's rate: slightly above it the queue fills slowly.
const BELOW_LINE: f64 = 0.99;
/// Trials that other traffic may disturb before the search gives up.
const MOST_DISTURBED: usize = 3;
/// Trials without saturation before a host is held responsible.
const MOST_UNSATURATED: usize = 2;
/// Trials of a direction in a row of which none passes.
const MOST_FAILED: usize = 6;
/// After so many failures and nothing that passes below them, a rate is tried that is at most this part of the lowest.
const FAILURES: usize = 2;
const STEP_DOWN: f64 = 0.985;
/// By how much a rate is lowered that does not pass together with the other one, at most and at least, and how often.
const LOWERED: f64 = 0.98;
/// At most where it nearly passed, by a verdict that is less sure than this. Where no trial is left, such a rate is recommended, and
/// one that fails by bursts alone.
const LOWERED_CLOSE: f64 = 0.99;
const CLEAR: f64 = 0.9;
/// A rate that has not been tried is at least this part of the lowest that failed: the check lowers it further where it has to.
const BENEATH: f64 = 0.97;
const LOWERED_LITTLE: f64 = 0.995;
/// A lowered rate passes with this probability.
const LIKELY: f64 = 0.8;
const MOST_LOWERED: usize = 3;

/// What a tuning session does next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Set the shaper, wait, measure.
    Step(NextStep),
    /// End the load. [`TuningResult`](crate::tuning::result::TuningResult) is the outcome.
    Finish,
}

/// Returns what to do after these trials, which are all of the session so far.
///
/// The time that has passed is that of the steps, so the same trials give the same action.
pub fn next_action(plan: &TuningPlan, trials: &[Trial]) -> Action {
    match decide(plan, trials) {
        Decision::Step(next) => Action::Step(next),
        Decision::Done(..) => Action::Finish,
    }
}

/// The next step, or what the session amounts to, with the rates to set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    Step(NextStep),
    Done(Outcome, ShaperRates),
}

impl Decision {
    fn refused(refusal: Refusal) -> Self {
        Self::Done(Outcome::Refused { refusal }, ShaperRates::UNSHAPED)
    }
}

pub(crate) fn decide(plan: &TuningPlan, trials: &[Trial]) -> Decision {
    if !plan.fixed.is_empty() {
        return fixed(plan, trials);
    }
    let search = Search { session: Session { plan, trials } };
    match search.prepare().or_else(|| search.observe()).or_else(|| search.search()) {
        Some(decision) => search.within_bounds(decision),
        None => search.within_bounds(search.joint()),
    }
}

fn fixed(plan: &TuningPlan, trials: &[Trial]) -> Decision {
    let before = trials.last().map_or(ShaperRates::UNSHAPED, |trial| trial.step.rates);
    let falls = |rates: &ShaperRates, direction: Direction| {
        rates.direction(direction).is_some_and(|rate| before.direction(direction).is_none_or(|before| before > rate))
    };
    // What a higher rate has left in the line's queue would be measured at the lower one.
    let flush = |rates: &ShaperRates| {
        let half = |rates: ShaperRates, direction| {
            rates.with(direction, rates.direction(direction).map(|rate| settable(rate.0 as f64 / 2.0)))
        };
        let is_needed = Direction::ALL.into_iter().any(|direction| falls(rates, direction));
        is_needed.then(|| Flush { rates: Direction::ALL.into_iter().fold(*rates, half), hold: FLUSH })
    };
    let next = plan.fixed.get(trials.len()).map(|rates| NextStep {
        purpose: StepPurpose::Fixed,
        direction: None,
        flush: flush(rates),
        rates: *rates,
        settle: Duration::from_secs(2),
        measure: Duration::from_secs(8),
    });
    next.map_or(Decision::Done(Outcome::Measured, ShaperRates::UNSHAPED), Decision::Step)
}

struct Search<'a> {
    session: Session<'a>,
}

/// What the search of one direction has come to.
enum Found {
    /// The next rate to try.
    Try(f64),
    /// The rate to recommend.
    Rate(f64),
    /// None.
    Nothing(Refusal),
}

impl Search<'_> {
    /// No more trials and no more time than the plan allows.
    fn within_bounds(&self, decision: Decision) -> Decision {
        let Decision::Step(next) = &decision else { return decision };
        let unfinished = |reason| match self.disturbed() {
            Some(direction) => Decision::refused(Refusal::Disturbed { direction }),
            None => Decision::Done(Outcome::Unfinished { reason }, ShaperRates::UNSHAPED),
        };
        if self.counted() >= self.session.plan.most_trials as usize {
            return unfinished(Unfinished::Trials);
        }
        if self.session.elapsed() + next.length() > self.session.plan.longest {
            return unfinished(Unfinished::Time);
        }
        decision
    }

    /// The trials of which so many are allowed: not those that a hypervisor spoiled.
    fn counted(&self) -> usize {
        let judges: Vec<_> = self.needing().map(|direction| Judge::new(self.session, direction)).collect();
        let is_spoiled = |trial: &&Trial| judges.iter().any(|judge| judge.is_spoiled(trial));
        self.session.trials.len() - self.session.trials.iter().filter(is_spoiled).count()
    }

    /// The direction in which other traffic disturbed so many trials that too few were left.
    fn disturbed(&self) -> Option<Direction> {
        let session = &self.session;
        let lost = session.trials.iter().filter(|trial| session.is_discarded(trial)).count();
        let direction = || self.needing().find(|direction| session.saw_others(*direction));
        (lost >= MOST_DISTURBED).then(direction).flatten()
    }

    /// The unshaped line, and whether the shaper is of use. `None` when all is known.
    fn prepare(&self) -> Option<Decision> {
        let session = &self.session;
        let Some(first) = session.trials.first() else {
            let next = NextStep::new(StepPurpose::Reference, None, ShaperRates::UNSHAPED, REFERENCE);
            return Some(Decision::Step(next));
        };
        for direction in &session.plan.directions {
            if session.line_in(*direction, first) == Line::NotMeasured {
                return Some(Decision::refused(Refusal::NotMeasured { direction: *direction }));
            }
        }
        let lead = session.lead();
        for direction in [lead, lead.opposite()].into_iter().filter(|direction| session.tunes(*direction)) {
            if let Some(decision) = self.prepare_one(direction) {
                return Some(decision);
            }
        }
        let none = session.plan.directions.iter().all(|direction| !session.needs(*direction));
        none.then_some(Decision::Done(Outcome::NothingToGain, ShaperRates::UNSHAPED))
    }

    fn prepare_one(&self, direction: Direction) -> Option<Decision> {
        let session = &self.session;
        let references = session.references(direction);
        let last = references.last()?;
        let course = session.course(direction);
        let is_known = course.levels.len() < 2 || (references.len() > 1 && course.tail().len() >= SUSTAINED);
        if !is_known && references.len() <= EXTENSIONS && !course.varies() {
            let next = NextStep::new(StepPurpose::Reference, Some(direction), last.step.rates, REFERENCE);
            return Some(Decision::Step(next));
        }
        let figures = last.directions.get(direction);
        let (set, delivered) = (last.step.rates.direction(direction), figures.delivered.unwrap_or_default());
        match session.line_in(direction, last) {
            Line::NotMeasured => return Some(Decision::refused(Refusal::NotMeasured { direction })),
            Line::HostLimited(limit) => {
                return Some(Decision::refused(Refusal::HostLimited { direction, set, delivered, limit }));
            }
            Line::QueueBefore(hop) => return Some(Decision::refused(self.elsewhere(direction, last, Some(hop)))),
            Line::Managed => return None,
            Line::Queues | Line::Drops { .. } => {}
        }
        self.turn_knob(direction)
    }

    fn elsewhere(&self, direction: Direction, trial: &Trial, hop: Option<crate::tuning::trial::QueueHop>) -> Refusal {
        let figures = trial.directions.get(direction);
        let set = trial.step.rates.direction(direction);
        let rate = set.or(figures.delivered).unwrap_or_default().0 as f64;
        let limit = limit::limit(self.session.plan, direction, rate, self.session.noise(direction));
        let p95 = figures.queueing_delay.map(|delay| delay.p95).unwrap_or_default();
        let hop = hop.or(figures.queue_hop);
        Refusal::QueueElsewhere { direction, set, p95, limit: Delay(limit as i64), hop }
    }

    /// Sets a direction far below its rate.
    fn turn_knob(&self, direction: Direction) -> Option<Decision> {
        let session = &self.session;
        let (lead, other) = (session.lead(), direction.opposite());
        let knobs: Vec<&Trial> = session.knobs(direction).collect();
        let is_first = direction == lead && session.tunes(other) && session.references(other).is_empty();
        let Some(last) = knobs.last() else {
            let steady = !session.course(direction).varies();
            let part = if is_first && steady { FIRST_PART } else { PART };
            let lowered = session.knobs(lead).last().and_then(|trial| trial.step.rates.direction(lead));
            let rates = ShaperRates::UNSHAPED.with(direction, session.part(direction, part));
            let rates = if direction == lead { rates } else { rates.with(lead, lowered) };
            let times = if is_first { KNOB_AND_REFERENCE } else { KNOB };
            let flush = (!is_first).then_some(Flush { rates, hold: FLUSH });
            return Some(Decision::Step(NextStep {
                flush,
                ..NextStep::new(StepPurpose::Knob, Some(direction), rates, times)
            }));
        };
        let again = |which: Direction, rates| {
            let times = if is_first { KNOB_AND_REFERENCE } else { KNOB };
            let next = NextStep::new(StepPurpose::Knob, Some(which), rates, times);
            Some(Decision::Step(NextStep { flush: Some(Flush { rates, hold: FLUSH }), ..next }))
        };
        match Knob::in_trial(session, direction, last) {
            Knob::Unfit(refusal) => Some(Decision::refused(refusal)),
            Knob::Halved { set, delivered } => {
                let is_halved =
                    |knob: &&&Trial| matches!(Knob::in_trial(session, direction, knob), Knob::Halved { .. });
                if knobs.iter().filter(is_halved).count() < 2 {
                    return again(direction, last.step.rates.with(direction, session.part(direction, LOW_PART)));
                }
                Some(Decision::refused(Refusal::CountedTwice { direction, set, delivered }))
            }
            Knob::NotMoved => {
                let crossed: Vec<&Trial> = session.knobs(other).collect();
                if session.tunes(other) && crossed.is_empty() {
                    return again(other, ShaperRates::UNSHAPED.with(other, session.part(direction, LOW_PART)));
                }
                let all: Vec<&Trial> = knobs.into_iter().chain(crossed).collect();
                knob_test::not_moved(session, direction, &all).map(Decision::refused)
            }
            // The other direction's queue delays the acknowledgments: without it the shaper has to bind.
            Knob::Starved if knobs.len() < 2 && session.part(other, PART).is_some() => {
                again(direction, last.step.rates.with(other, session.part(other, PART)))
            }
            Knob::Binds | Knob::Starved => self.lossy(direction, last),
            Knob::DelayStays { .. } if knobs.len() < 2 => {
                again(direction, last.step.rates.with(direction, session.part(direction, LOW_PART)))
            }
            Knob::DelayStays { elsewhere: true } => Some(Decision::refused(self.elsewhere(direction, last, None))),
            Knob::DelayStays { elsewhere: false } => self.nothing_passes(direction, last).map(Decision::refused),
        }
    }

    /// Refuses a line whose losses do not depend on the rate, and which has no queue.
    fn lossy(&self, direction: Direction, knob: &Trial) -> Option<Decision> {
        let session = &self.session;
        let last = *session.references(direction).last()?;
        let is_lossy = matches!(session.line_in(direction, last), Line::Drops { .. })
            && matches!(session.line(direction), Some(Line::Drops { .. }));
        if !is_lossy || Judge::new(*session, direction).policed {
            return None;
        }
        let reference = last.directions.get(direction);
        let loss = loss(reference).max(loss(knob.directions.get(direction)));
        Some(Decision::refused(Refusal::LossLimited { direction, delivered: reference.delivered?, loss }))
    }

    fn nothing_passes(&self, direction: Direction, trial: &Trial) -> Option<Refusal> {
        let set = trial.step.rates.direction(direction)?;
        let judge = Judge::new(self.session, direction);
        let delay = judge.judged(&trial.directions.get(direction).queueing_delay?);
        let limit = Delay(judge.limit(set.0 as f64) as i64);
        let percentile = self.session.plan.prefer.percentile();
        Some(Refusal::NoRatePasses { direction, set, percentile, delay, limit })
    }

    /// Observes a line that seems to vary. `None` when none does: what is even while it is observed was interrupted before.
    fn observe(&self) -> Option<Decision> {
        let session = &self.session;
        let (mut all, even): (Vec<Direction>, Vec<Direction>) =
            self.needing().partition(|direction| varies(*session, *direction));
        if all.is_empty() {
            return None;
        }
        all.extend(even);
        if let Some(direction) = all.iter().find(|direction| session.saw_others(**direction)) {
            return Some(Decision::refused(Refusal::Disturbed { direction: *direction }));
        }
        for direction in all {
            let long = session.with_purpose(StepPurpose::Reference, direction);
            if long.filter(|trial| trial.step.window().length() >= OBSERVATION).count() < OBSERVATIONS {
                let rates = session.halves().with(direction, None);
                let next = NextStep::new(StepPurpose::Reference, Some(direction), rates, OBSERVE);
                let decision = self.within_bounds(Decision::Step(next));
                // What is left of the session does not suffice to see more of it.
                return match decision {
                    Decision::Step(_) => Some(decision),
                    Decision::Done(..) => Some(Decision::Done(Outcome::Varies, ShaperRates::UNSHAPED)),
                };
            }
        }
        Some(Decision::Done(Outcome::Varies, ShaperRates::UNSHAPED))
    }

    /// The next trial of the search. `None` when every direction has its rate.
    fn search(&self) -> Option<Decision> {
        if self.session.joints().next().is_some() {
            return None;
        }
        for direction in self.needing() {
            if let Some(next) = self.look_for_policer(direction).or_else(|| self.refer_again(direction)) {
                return Some(Decision::Step(next));
            }
            match self.find(direction)? {
                Found::Rate(_) => {}
                Found::Nothing(refusal) => return Some(Decision::refused(refusal)),
                Found::Try(rate) => return Some(Decision::Step(self.attempt(direction, rate))),
            }
        }
        None
    }

    /// What is to be known of a direction that loses segments without a queue: the unshaped line while the other direction has no
    /// queue, and the shaper a little below. `None` when both are.
    fn look_for_policer(&self, direction: Direction) -> Option<NextStep> {
        let session = &self.session;
        let suspicion = Suspicion::detect(session, direction)?;
        let other = direction.opposite();
        if suspicion.unshaped.is_none() {
            let half = session.part(other, PART).filter(|_| session.tunes(other))?;
            let apart = session.with_purpose(StepPurpose::Reference, direction);
            let rates = ShaperRates::UNSHAPED.with(other, Some(half));
            let next = NextStep::new(StepPurpose::Reference, Some(direction), rates, REFERENCE);
            let is_first = apart.filter(|trial| trial.step.rates == rates).count() == 0;
            return is_first
                .then_some(NextStep { flush: Some(Flush { rates: session.halves(), hold: FLUSH }), ..next });
        }
        let tried = session.with_purpose(StepPurpose::Search, direction).count();
        let line = session.course(direction).sustained()?;
        (suspicion.held.is_none() && tried == 0).then(|| self.attempt(direction, line * HELD_PART))
    }

    fn needing(&self) -> impl Iterator<Item = Direction> {
        self.session.plan.directions.iter().copied().filter(|direction| self.session.needs(*direction))
    }

    /// A trial at a rate, after the queues have been drained.
    fn attempt(&self, direction: Direction, rate: f64) -> NextStep {
        let halves = self.session.halves();
        let other = direction.opposite();
        let beside = match self.find(other) {
            Some(Found::Rate(rate)) if self.is_before(other, direction) => Some(settable(rate)),
            _ => halves.direction(other),
        };
        let rates = ShaperRates::UNSHAPED.with(direction, Some(settable(rate))).with(other, beside);
        let next = NextStep::new(StepPurpose::Search, Some(direction), rates, self.after_ramp(SEARCH));
        // A policer has no queue to drain, but a bucket to empty.
        let flush = if Judge::new(self.session, direction).policed { halves.with(direction, None) } else { halves };
        NextStep { flush: Some(Flush { rates: flush, hold: FLUSH }), ..next }
    }

    /// The same with as much time to settle as the load has needed so far to reach its rate after a flush.
    fn after_ramp(&self, times: Times) -> Times {
        let ramp = self.session.ramp().min(LONGEST_RAMP);
        Times { settle: times.settle.max(Duration::from_secs(ramp)), ..times }
    }

    /// The unshaped direction that was referred to first, again, where it was uneven while acknowledgments waited in the queue of the
    /// other one: that one is shaped now.
    fn refer_again(&self, direction: Direction) -> Option<NextStep> {
        let session = &self.session;
        let other = direction.opposite();
        let half = session.part(other, PART).filter(|_| session.tunes(other))?;
        let is_queue = direction == session.lead() && session.line(direction) == Some(Line::Queues);
        let waited = || session.references(direction).iter().all(|trial| !session.is_free(trial, other));
        let is_uneven = || delivered(&session.course(direction).tail(), 1.0).is_none_or(|rate| rate.deviation > UNEVEN);
        let mut again = session.with_purpose(StepPurpose::Reference, direction);
        let is_first = !again.any(|trial| trial.step.rates.direction(other).is_some());
        let is_needed = is_first && is_queue && waited() && is_uneven();
        let rates = ShaperRates::UNSHAPED.with(other, Some(half));
        let next = NextStep::new(StepPurpose::Reference, Some(direction), rates, REFERENCE);
        is_needed.then_some(NextStep { flush: Some(Flush { rates: session.halves(), hold: FLUSH }), ..next })
    }

    fn is_before(&self, one: Direction, other: Direction) -> bool {
        let place = |direction| self.needing().position(|found| found == direction);
        place(one).zip(place(other)).is_some_and(|(one, other)| one < other)
    }

    /// What is known of the rate of a direction. `None` where it needs no shaper.
    fn find(&self, direction: Direction) -> Option<Found> {
        let session = self.session;
        if !session.needs(direction) {
            return None;
        }
        let evidence = Evidence::gather(session, direction)?;
        let tried: Vec<&Trial> = session.with_purpose(StepPurpose::Search, direction).collect();
        let disturbed = tried.iter().filter(|trial| session.is_discarded(trial)).count();
        if disturbed > MOST_DISTURBED {
            return Some(Found::Nothing(Refusal::Disturbed { direction }));
        }
        let idle = || evidence.judged.iter().filter(|(_, judged)| judged.verdict == Verdict::NotSaturated);
        if let Some((trial, _)) = idle().next_back()
            && idle().count() >= MOST_UNSATURATED
        {
            let delivered = trial.directions.get(direction).delivered.unwrap_or_default();
            let set = trial.step.rates.direction(direction);
            let refusal =
                Refusal::HostLimited { direction, set, delivered, limit: session.host_limit(direction, trial) };
            return Some(Found::Nothing(refusal));
        }
        let known = evidence.passing();
        let passed = evidence.passed().filter(|rate| known.at_least(*rate) >= PASSING).fold(0.0, f64::max);
        let narrow = if evidence.judge.policed { NARROW_OF_POLICER } else { NARROW };
        let is_narrow = known.width(PROBABILITY) <= narrow;
        let has_passed = evidence.passed().next().is_some();
        let is_last = !self.has_room(direction, if has_passed { TRIALS_EACH } else { 1 });
        if is_last && !is_narrow && evidence.is_shared() {
            return Some(Found::Nothing(Refusal::Disturbed { direction }));
        }
        if passed > 0.0 && (is_narrow || is_last) {
            let most = evidence.capacity().quantile(0.5) * BELOW_LINE;
            // One that the check may take back in a single step.
            let untried = known.quantile(1.0 - PASSING_UNTRIED).min(passed / LOWERED_CLOSE);
            return Some(Found::Rate(passed.max(untried).min(most)));
        }
        let telling: Vec<_> = evidence.judged.iter().filter(|(_, judged)| !judged.says_nothing()).collect();
        let failed: Vec<_> = telling.iter().filter(|(_, judged)| judged.verdict == Verdict::LineHolds).collect();
        let lowest = failed.iter().min_by_key(|(trial, _)| trial.step.rates.direction(direction));
        let least_failed =
            lowest.and_then(|(trial, _)| trial.step.rates.direction(direction)).map_or(f64::MAX, |rate| rate.0 as f64);
        let below = evidence.passed().filter(|rate| *rate < least_failed).fold(0.0, f64::max);
        if has_passed && is_last {
            // Verdicts near the limit contradict each other; what is below every failure has passed without a doubt. Where the lowest
            // one was near the limit, a rate a little below is near it as well, however low a rate it may take to pass for sure.
            let most = evidence.capacity().quantile(0.5) * BELOW_LINE;
            let beneath = match lowest {
                Some((_, judged)) if judged.sure < CLEAR => least_failed * LOWERED_CLOSE,
                Some(_) => least_failed * BENEATH,
                None => 0.0,
            };
            return Some(Found::Rate(known.quantile(1.0 - LIKELY).max(below).max(beneath).min(most)));
        }
        // A session that ends before says that its time or its trials were too few, not that no rate passes.
        let gives_up = !has_passed && telling.len() >= MOST_FAILED;
        if gives_up && let Some(refusal) = lowest.and_then(|(trial, _)| self.nothing_passes(direction, trial)) {
            return Some(Found::Nothing(refusal));
        }
        // Failures near the limit say little each: a lower rate shows where it passes.
        let likely = known.quantile(0.5);
        let next = if below == 0.0 && failed.len() >= FAILURES { likely.min(least_failed * STEP_DOWN) } else { likely };
        // Before any lower one, the rate at which bursts have their longest limit.
        let of_bursts = evidence.judge.of_bursts().filter(|rate| *rate < LOWERED_LITTLE * least_failed);
        Some(Found::Try(next.max(of_bursts.unwrap_or_default()).max(session.floor(direction))))
    }

    /// Whether another trial of a direction leaves what the rest of the session needs: so many trials of a direction that comes after.
    fn has_room(&self, direction: Direction, each: usize) -> bool {
        let session = &self.session;
        let after = self.needing().skip_while(|one| *one != direction).skip(1).count();
        let takes = |times: Times| FLUSH + times.settle + times.measure + BETWEEN;
        let (search, joint) = (takes(self.after_ramp(SEARCH)), takes(self.after_ramp(JOINT)));
        let trials = session.plan.most_trials as usize;
        let left = trials.saturating_sub(self.counted() + 2);
        let time = session.elapsed() + search * (1 + 2 * after as u32) + 2 * joint;
        left > each * after && time <= session.plan.longest
    }

    /// The check of both directions together, again with lower rates where it failed.
    fn joint(&self) -> Decision {
        let session = self.session;
        let joints: Vec<&Trial> = session.joints().collect();
        let used: Vec<&Trial> = joints.iter().copied().filter(|trial| !session.is_discarded(trial)).collect();
        if joints.len() - used.len() > MOST_DISTURBED {
            let direction = self.needing().next().unwrap_or(Direction::Up);
            return Decision::refused(Refusal::Disturbed { direction });
        }
        let Some(last) = used.last() else {
            let rate = |direction| match self.find(direction) {
                Some(Found::Rate(rate)) => Some(settable(rate)),
                _ => None,
            };
            return self.check(ShaperRates { down: rate(Direction::Down), up: rate(Direction::Up) });
        };
        let mut rates = last.step.rates;
        let is_first = joints.iter().filter(|trial| trial.step.rates == rates).count() < 2;
        if is_first
            && self.says_nothing(last)
            && let again @ Decision::Step(_) = self.within_bounds(self.check(rates))
        {
            return again;
        }
        let (mut failing, mut only_bursts) = (None, true);
        for direction in self.needing() {
            let Some(evidence) = Evidence::gather(session, direction) else { continue };
            let judged = evidence.judge.judge(last);
            if judged.is_some_and(|judged| judged.verdict == Verdict::ShaperHolds) {
                continue;
            }
            let known = evidence.passing();
            let is_close = judged.is_some_and(|judged| judged.sure < CLEAR);
            let near_limit = is_close
                && !evidence.judge.has_long_queue(last)
                && judged.is_some_and(|judged| judged.verdict == Verdict::LineHolds);
            // One trial near the limit does not outweigh those before it.
            if near_limit && rates.direction(direction).is_some_and(|rate| known.at_least(rate.0 as f64) >= PASSING) {
                continue;
            }
            failing = Some(direction);
            only_bursts &= near_limit || evidence.judge.has_only_bursts(last);
            let likely = known.quantile(1.0 - LIKELY);
            let most = if is_close { LOWERED_CLOSE } else { LOWERED };
            let lowered = rates.direction(direction).map(|rate| {
                let rate = rate.0 as f64;
                let highest = rate * LOWERED_LITTLE;
                let of_bursts = evidence.judge.of_bursts().filter(|from| *from < highest);
                settable(likely.clamp((rate * most).max(of_bursts.unwrap_or_default()), highest))
            });
            rates = rates.with(direction, lowered);
        }
        let Some(direction) = failing else { return Decision::Done(Outcome::Recommended, rates) };
        let next = self.check(rates);
        let is_last = used.len() > MOST_LOWERED || matches!(self.within_bounds(next.clone()), Decision::Done(..));
        match self.nothing_passes(direction, last) {
            _ if is_last && only_bursts => Decision::Done(Outcome::Recommended, last.step.rates),
            _ if used.len() <= MOST_LOWERED => next,
            Some(refusal) => Decision::refused(refusal),
            None => Decision::refused(Refusal::NotMeasured { direction }),
        }
    }

    fn says_nothing(&self, joint: &Trial) -> bool {
        let judged = |direction| Evidence::gather(self.session, direction)?.judge.judge(joint);
        self.needing().filter_map(judged).any(|judged| judged.says_nothing())
    }

    fn check(&self, rates: ShaperRates) -> Decision {
        let next = NextStep::new(StepPurpose::Joint, None, rates, self.after_ramp(JOINT));
        Decision::Step(NextStep { flush: Some(Flush { rates: self.session.halves(), hold: FLUSH }), ..next })
    }
}

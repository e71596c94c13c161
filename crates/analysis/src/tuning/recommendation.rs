//! What a session amounts to, made of its trials.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningPlan};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::by_direction::ByDirection;
use crate::tuning::capacity::Evidence;
use crate::tuning::judgement::Judge;
use crate::tuning::limit;
use crate::tuning::next_step::exceeds_data;
use crate::tuning::policer::{burst, policer};
use crate::tuning::reference::Line;
use crate::tuning::result::{
    Capacity, Caution, Chosen, Discarded, FORMAT, JudgedTrial, Outcome, ParetoPoint, TunedDirection, TuningResult,
    Unfinished, UnshapedLine, Verdict,
};
use crate::tuning::search::{Decision, decide};
use crate::tuning::session::Session;
use crate::tuning::trial::{HostLimit, Trial};
use crate::tuning::varying;

/// Probes lost at random beyond this are worth a caution.
const RANDOM_LOSS: f64 = 0.001;
const INTERVAL: f64 = 0.9;
/// Queues may take this much longer to drain than a step says.
const DRAINING: Duration = Duration::from_secs(20);

impl TuningResult {
    /// What these trials amount to, which are all of a session whose load brought so many bytes.
    pub fn new(plan: &TuningPlan, trials: &[Trial], data: ByteCount) -> Self {
        let (outcome, recommended) = match decide(plan, trials) {
            Decision::Done(outcome, rates) => (outcome, rates),
            // The search would have gone on.
            Decision::Step(next) => {
                let is_late = Session { plan, trials }.elapsed() + next.length() + DRAINING > plan.longest;
                let reason = if is_late {
                    Unfinished::Time
                } else if exceeds_data(plan, trials, data, &next) {
                    Unfinished::Data
                } else {
                    Unfinished::Interrupted
                };
                (Outcome::Unfinished { reason }, ShaperRates::UNSHAPED)
            }
        };
        let session = Session { plan, trials };
        let tuned = |direction| {
            let is_tuned = session.tunes(direction) && plan.fixed.is_empty() && !trials.is_empty();
            is_tuned.then(|| tuned(session, direction, outcome, recommended))
        };
        Self {
            format: FORMAT,
            shaper: plan.shaper.clone(),
            prefer: plan.prefer,
            outcome,
            recommended,
            directions: ByDirection::each(tuned),
            cautions: cautions(session, outcome),
            trials: trials.iter().map(|trial| judged(session, trial)).collect(),
            classes: None,
            overhead: None,
            took: session.elapsed().into(),
            data,
        }
    }
}

fn judged(session: Session<'_>, trial: &Trial) -> JudgedTrial {
    let verdict = |direction: Direction| {
        let is_judged = trial.step.direction.is_none_or(|only| only == direction) && session.tunes(direction);
        is_judged.then(|| Judge::new(session, direction).judge(trial).map(|judged| judged.verdict)).flatten()
    };
    let discarded = Direction::ALL.into_iter().find_map(|direction| discarded(session, trial, direction));
    JudgedTrial { trial: trial.clone(), verdicts: ByDirection::each(verdict), discarded }
}

/// Why a trial says nothing of the rate of a direction.
fn discarded(session: Session<'_>, trial: &Trial, direction: Direction) -> Option<Discarded> {
    let is_judged = trial.judges(direction) && session.needs(direction);
    let judged = || Judge::new(session, direction).judge(trial).filter(|_| is_judged);
    session.discarded(trial, direction).or_else(|| judged()?.discarded)
}

fn tuned(session: Session<'_>, direction: Direction, outcome: Outcome, rates: ShaperRates) -> TunedDirection {
    let unshaped = unshaped(&session, direction);
    let evidence = session.needs(direction).then(|| Evidence::gather(session, direction)).flatten();
    let chosen = rates.direction(direction).and_then(|rate| chosen(&session, direction, rate, unshaped));
    let rate = rates.direction(direction).or(unshaped.map(|line| line.delivered)).filter(|rate| rate.0 > 0);
    let limit = rate.map(|rate| match &evidence {
        Some(evidence) => evidence.judge.limit(rate.0 as f64),
        None => limit::limit(session.plan, direction, rate.0 as f64, session.noise(direction)),
    });
    let policer = evidence.as_ref().and_then(|evidence| policer(&session, direction, evidence));
    TunedDirection {
        limit: limit.map(|limit| Delay(limit as i64)).or(session.plan.delay_limit),
        chosen,
        capacity: match (&evidence, outcome) {
            (None, _) | (_, Outcome::Varies) => None,
            (Some(evidence), _) => Some(capacity(evidence)),
        },
        unshaped,
        varying: match outcome {
            Outcome::Varies if varying::varies(session, direction) => session.course(direction).percentiles(),
            _ => None,
        },
        burst: if policer.is_some() { None } else { burst(&session, direction) },
        policer,
        pareto: pareto(&session, direction),
    }
}

fn capacity(evidence: &Evidence<'_>) -> Capacity {
    let known = evidence.capacity();
    let (low, high) = known.densest(INTERVAL);
    let rate = |rate: f64| BitRate(rate.round() as u64);
    Capacity { median: rate(known.quantile(0.5)), low: rate(low), high: rate(high) }
}

fn unshaped(session: &Session<'_>, direction: Direction) -> Option<UnshapedLine> {
    let references = session.references(direction);
    let delay = references.last()?.directions.get(direction).queueing_delay?;
    let delivered = BitRate(session.course(direction).sustained()?.round() as u64);
    Some(UnshapedLine { delivered, p50: delay.p50, p95: delay.p95 })
}

/// The recommended rate, as the last trial at it has shown it.
fn chosen(
    session: &Session<'_>,
    direction: Direction,
    rate: BitRate,
    unshaped: Option<UnshapedLine>,
) -> Option<Chosen> {
    let is_at = |trial: &&Trial| trial.step.rates.direction(direction) == Some(rate) && !session.is_discarded(trial);
    let trial = session.trials.iter().rfind(is_at)?;
    let figures = trial.directions.get(direction);
    let (delivered, p95) = (figures.delivered?, figures.queueing_delay?.p95);
    let unshaped = unshaped?;
    Some(Chosen {
        rate,
        trial: trial.step.number,
        delivered,
        p95,
        cost: unshaped.delivered.0.cast_signed() - delivered.0.cast_signed(),
        gain: unshaped.p95 - p95,
    })
}

/// Trials that no other one beats in both rate and delay, the highest rate first.
fn pareto(session: &Session<'_>, direction: Direction) -> Vec<ParetoPoint> {
    let point = |trial: &Trial| {
        let figures = trial.directions.get(direction);
        let (delivered, p95) = (figures.delivered?, figures.queueing_delay?.p95);
        Some(ParetoPoint { trial: trial.step.number, set: trial.step.rates.direction(direction), delivered, p95 })
    };
    let used = session.trials.iter().filter(|trial| !session.is_discarded(trial));
    let mut points: Vec<ParetoPoint> = used.filter_map(point).collect();
    points.sort_by_key(|point| (std::cmp::Reverse(point.delivered), point.p95));
    let mut least = None;
    points.retain(|point| {
        let beaten = least.is_some_and(|least| point.p95 >= least);
        if !beaten {
            least = Some(point.p95);
        }
        !beaten
    });
    points
}

fn cautions(session: Session<'_>, outcome: Outcome) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let recommends = matches!(outcome, Outcome::Recommended | Outcome::Varies);
    for direction in session.plan.directions.iter().copied() {
        let count = |reason| {
            let trials = session.trials.iter().filter(|trial| discarded(session, trial, direction) == Some(reason));
            Some(trials.count() as u32).filter(|trials| *trials > 0)
        };
        cautions.extend(count(Discarded::OtherTraffic).map(|trials| Caution::OtherTraffic { direction, trials }));
        cautions.extend(count(Discarded::Interrupted).map(|trials| Caution::Interrupted { direction, trials }));
        cautions.extend(count(Discarded::Stolen).map(|trials| Caution::Stolen { direction, trials }));
        if outcome == Outcome::Recommended {
            cautions.extend(near_limit(session, direction));
        }
        if recommends && session.line(direction) == Some(Line::Managed) {
            cautions.push(Caution::AlreadyManaged { direction });
        }
        cautions.extend(random_loss(session, direction));
    }
    if outcome == Outcome::Recommended {
        cautions.extend(
            [ObservationPoint::Client, ObservationPoint::Server].into_iter().filter_map(|host| busy(session, host)),
        );
    }
    cautions
}

/// Whether the processors of a host were busy while the rates were searched or checked, by its own programs.
fn busy(session: Session<'_>, host: ObservationPoint) -> Option<Caution> {
    let limit = match host {
        ObservationPoint::Client => HostLimit::ClientProcessor,
        ObservationPoint::Server => HostLimit::ServerProcessor,
    };
    let is_busy = |trial: &&Trial| {
        matches!(trial.step.purpose, StepPurpose::Search | StepPurpose::Joint)
            && trial.host_limit == Some(limit)
            && trial.stolen_from.is_none()
    };
    let trials = session.trials.iter().filter(is_busy).count() as u32;
    (trials > 0).then_some(Caution::BusyProcessors { host, trials })
}

/// Whether probes are lost far below the line's rate, where its queue is empty. The shaper's own queue drops segments, and probes as
/// well where they wait in it: at low rates a full packet takes longer than CoDel's target.
fn random_loss(session: Session<'_>, direction: Direction) -> Option<Caution> {
    let knob = session.with_purpose(StepPurpose::Knob, direction).last()?.directions.get(direction);
    let waits = knob.queueing_delay?.p95.0 as f64 > limit::unnoticed(session.noise(direction));
    let loss = knob.probe_loss.filter(|loss| !waits && *loss > RANDOM_LOSS)?;
    Some(Caution::RandomLoss { direction, loss })
}

/// Whether the last check of both directions was near the limit in one of them, or beyond it because of bursts.
fn near_limit(session: Session<'_>, direction: Direction) -> Option<Caution> {
    let check = session.joints().filter(|trial| !session.is_discarded(trial)).last()?;
    let rate = check.step.rates.direction(direction)?;
    let judge = Judge::new(session, direction);
    let judged = judge.judge(check)?;
    let delay = judge.judged(&check.directions.get(direction).queueing_delay?);
    let percentile = session.plan.prefer.percentile();
    let is_beyond = judged.verdict == Verdict::LineHolds || delay.0 as f64 > judge.limit(rate.0 as f64);
    is_beyond.then_some(Caution::NearLimit { direction, percentile, delay })
}

#[cfg(test)]
mod tests {
    use rrul_model::shaping::{ShaperDescription, TuningStep};
    use rrul_model::time::TestTime;

    use super::*;
    use crate::tuning::trial::{TrialDelay, TrialDirection};

    /// The upload far below its rate: how long probes waited, and 3 % of them lost.
    fn knob(p95: Delay) -> Trial {
        let step = TuningStep {
            number: 0,
            purpose: StepPurpose::Knob,
            direction: Some(Direction::Up),
            rates: ShaperRates { down: None, up: Some(BitRate(670_000)) },
            set_at: TestTime(0),
            settled_at: TestTime(4_000_000_000),
            ended_at: TestTime(12_000_000_000),
            counters: None,
        };
        let delay = TrialDelay { n: 400, p50: Delay(p95.0 / 4), p95, p99: p95, p95_low: p95, p95_high: p95 };
        let up = TrialDirection {
            queueing_delay: Some(delay),
            probe_loss: Some(0.03),
            idle_p95: Some(Delay(300_000)),
            ..TrialDirection::default()
        };
        Trial {
            step,
            directions: ByDirection { down: TrialDirection::default(), up },
            host_limit: None,
            stolen_from: None,
        }
    }

    #[test]
    fn what_waits_in_the_shaper_is_not_lost_at_random() {
        let plan = TuningPlan::new(ShaperDescription::default());
        let found = |p95| {
            let trials = [knob(p95)];
            random_loss(Session { plan: &plan, trials: &trials }, Direction::Up)
        };
        assert_eq!(found(Delay(2_000_000)), Some(Caution::RandomLoss { direction: Direction::Up, loss: 0.03 }));
        // As fq_codel does at 670 kbit/s, where a full packet takes 18 ms.
        assert_eq!(found(Delay(61_000_000)), None);
    }
}

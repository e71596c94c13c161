//! The verdict of a trial: the shaper or the line kept the load.

use rrul_model::flow::Direction;
use rrul_model::shaping::Preference;
use rrul_model::units::BitRate;

use crate::tuning::course;
use crate::tuning::limit;
use crate::tuning::posterior::normal_below;
use crate::tuning::reference::{Line, loss};
use crate::tuning::result::{Discarded, Verdict};
use crate::tuning::session::{Session, over_own, with_others};
use crate::tuning::suspected_policer::Suspicion;
use crate::tuning::trial::{Trial, TrialDelay, TrialDirection};

/// Delivered in relation to what was set: less than this is not the shaper's doing.
const SHORT: f64 = 0.97;
/// What a full line or shaper delivers of its rate, at least.
const UNDISTURBED: f64 = 0.985;
/// A policer delivers no more than its rate, whatever is set, and a shaper below it all that is set.
const SHORT_OF_POLICER: f64 = 0.985;
/// Loss that shows that the line is full: more than so many times that far below the line's rate, and this share.
///
/// A line that queues delays before it drops, and a shaper's AQM drops the more the lower its rate is: there loss says little.
const LOSS_OF_QUEUES: (f64, f64) = (3.0, 0.05);
const LOSS_OF_OTHERS: (f64, f64) = (1.5, 0.01);
const LOSS_OF_POLICERS: (f64, f64) = (1.5, 0.002);
/// A line without a queue is a policer when this part of its loss, or less, stays far below its rate.
const STAYS_OF_POLICER: f64 = 0.3;
/// How sure a verdict is, at least and at most.
const LEAST_SURE: f64 = 0.6;
const SURE: f64 = 0.95;
/// At most so many trials of a direction say nothing because processors were taken.
const MOST_STOLEN: usize = 4;
/// As probable as its opposite.
const SAYS_NOTHING: f64 = 0.5;
/// Standard deviations in a 95 % interval.
const INTERVAL: f64 = 3.92;
/// A delay is known no better than this part of the limit.
const DELAY_NOISE: f64 = 0.04;
/// Rates of a shaper and of a receiver differ by as much as this, in the logarithm, where its bytes are known and where not.
const KNOWN_BYTES: f64 = 0.003;
const UNKNOWN_BYTES: f64 = 0.01;
/// The least error of a delivered rate, in the logarithm.
const RATE_NOISE: f64 = 0.002;
/// Ratios of delivered and set rate that only show how both count.
const COUNTING: std::ops::Range<f64> = 0.8..1.05;
/// Half of the packets wait no longer than this part of a shaper's own queue where the line has none.
const CLEAR: f64 = 0.5;
/// Between these parts of the line's rate its queue stays less and less, and what waits does so in bursts, such as those of
/// acknowledgments that arrive in clumps. A lower rate shortens them little. From the second part on they may be this many times as
/// long as the limit.
const OF_BURSTS: [f64; 2] = [0.99, 0.976];
const BURSTS: f64 = 1.5;

/// A verdict, and how probably it is right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) sure: f64,
    /// Why the trial says nothing of the rate, if it does not.
    pub(crate) discarded: Option<Discarded>,
}

impl Judged {
    fn nothing(why: Discarded) -> Self {
        Self { verdict: Verdict::LineHolds, sure: SAYS_NOTHING, discarded: Some(why) }
    }

    /// Whether something else held the load back, so that the trial says nothing of the rate.
    pub(crate) fn says_nothing(&self) -> bool {
        self.discarded.is_some()
    }
}

/// A value with its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) deviation: f64,
}

/// Judges trials in one direction.
pub(crate) struct Judge<'a> {
    session: Session<'a>,
    direction: Direction,
    /// The line drops beyond a rate and does not queue.
    pub(crate) policed: bool,
    /// Logarithm of what is delivered in relation to what the shaper is set to while it binds: both count other bytes.
    pub(crate) scale: Estimate,
    /// Share lost far below the line's rate.
    base_loss: f64,
    /// Delay far below the line's rate, and what was delivered there.
    far_below: Option<(TrialDelay, f64)>,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(session: Session<'a>, direction: Direction) -> Self {
        let far_below = session.knobs(direction).last().map(|trial| trial.directions.get(direction));
        let base_loss = far_below.map_or(0.0, loss);
        let is_policer = Suspicion::detect(&session, direction).and_then(|suspicion| suspicion.is_policer());
        let loses_probes = || match session.references(direction).last().map(|last| session.line_in(direction, last)) {
            Some(Line::Drops { loss }) => far_below.is_some() && base_loss <= STAYS_OF_POLICER * loss,
            _ => false,
        };
        let policed = is_policer.unwrap_or_else(loses_probes);
        Self {
            session,
            direction,
            policed,
            scale: scale(&session, direction),
            base_loss,
            far_below: far_below.and_then(|figures| Some((figures.queueing_delay?, figures.delivered?.0 as f64))),
        }
    }

    /// The most queueing delay that passes at a rate slightly below the line's, in nanoseconds.
    pub(crate) fn limit(&self, rate: f64) -> f64 {
        let plan = self.session.plan;
        let limit = limit::limit(plan, self.direction, rate, self.session.noise(self.direction));
        match (plan.delay_limit, &self.far_below) {
            (None, Some((delay, delivered))) => limit + limit::standing(self.judged(delay), *delivered),
            _ => limit,
        }
    }

    /// A rate as a part of the line's. `None` where the user has asked for another limit, which has nothing to do with it.
    fn part_of_line(&self, rate: f64) -> Option<f64> {
        let plan = self.session.plan;
        let is_asked = plan.delay_limit.is_some() || plan.prefer != Preference::Balanced;
        let line = self.session.course(self.direction).sustained().filter(|_| !is_asked)?;
        Some(rate * self.scale.value.exp() / line)
    }

    /// The largest rate at which bursts have their longest limit.
    pub(crate) fn of_bursts(&self) -> Option<f64> {
        Some(OF_BURSTS[1] / self.part_of_line(1.0)?)
    }

    /// The most queueing delay that passes at a rate, in nanoseconds.
    fn most(&self, rate: f64) -> f64 {
        self.limit(rate) * self.times(rate)
    }

    /// By how many times the limit delays may be longer at a rate, as bursts may be.
    fn times(&self, rate: f64) -> f64 {
        let [from, to] = OF_BURSTS;
        let below = self.part_of_line(rate).map_or(0.0, |part| ((from - part) / (from - to)).clamp(0.0, 1.0));
        1.0 + below * (BURSTS - 1.0)
    }

    /// The most that half of the packets may wait at a rate, in nanoseconds. `None` where a limit was asked for, or nothing is
    /// known far below the line's rate.
    fn median_limit(&self, rate: f64) -> Option<f64> {
        let plan = self.session.plan;
        let (delay, delivered) = self.far_below.as_ref().filter(|_| plan.delay_limit.is_none())?;
        let limit = limit::limit(plan, self.direction, rate, self.session.noise(self.direction));
        Some((limit + limit::standing(delay.p50, *delivered)) * self.times(rate))
    }

    /// Whether half of the packets of a trial waited longer than any may: bursts alone do not fill a line.
    pub(crate) fn stays_queued(&self, trial: &Trial) -> bool {
        let set = trial.step.rates.direction(self.direction).map_or(f64::MAX, |rate| rate.0 as f64);
        let delay = trial.directions.get(self.direction).queueing_delay;
        delay.is_some_and(|delay| delay.p50.0 as f64 > self.limit(set))
    }

    /// The percentile of the delay that is judged.
    pub(crate) fn judged(&self, delay: &TrialDelay) -> rrul_model::units::Delay {
        if self.session.plan.prefer.percentile() == 99 { delay.p99 } else { delay.p95 }
    }

    /// The verdict; `None` where nothing was measured.
    pub(crate) fn judge(&self, trial: &Trial) -> Option<Judged> {
        let figures = trial.directions.get(self.direction);
        let (arrived, delay) = (with_others(figures)?, figures.queueing_delay?);
        let sure = |verdict, sure: f64| Some(Judged { verdict, sure: sure.clamp(LEAST_SURE, SURE), discarded: None });
        let Some(set) = trial.step.rates.direction(self.direction) else {
            let limited =
                matches!(self.session.line_in(self.direction, trial), Line::HostLimited(_) | Line::NotMeasured);
            return sure(if limited { Verdict::NotSaturated } else { Verdict::LineHolds }, SURE);
        };
        let limit = self.most(set.0 as f64);
        let excess = self.excess(&delay, set);
        let deviation = ((delay.p95_high - delay.p95_low).0 as f64 / INTERVAL).max(DELAY_NOISE * limit);
        let clear = normal_below(excess.abs() / deviation);
        let ratio = self.ratio(arrived, set);
        if self.is_stolen(trial) {
            return Some(Judged::nothing(Discarded::Stolen));
        }
        if excess > 0.0 {
            // A line that has become slower has a long queue all the time.
            if !self.has_long_queue(trial) && self.is_short(arrived, set) {
                return Some(Judged::nothing(Discarded::Interrupted));
            }
            return sure(Verdict::LineHolds, if ratio < SHORT { SURE } else { clear });
        }
        let (times, more) = match self.session.line(self.direction) {
            _ if self.policed => LOSS_OF_POLICERS,
            Some(Line::Queues) => LOSS_OF_QUEUES,
            _ => LOSS_OF_OTHERS,
        };
        if loss(figures) > times * self.base_loss + more {
            return sure(Verdict::LineHolds, 0.9);
        }
        if self.policed && ratio < SHORT_OF_POLICER {
            return sure(Verdict::LineHolds, SURE);
        }
        if ratio < SHORT && !self.fills(trial, set) {
            return sure(Verdict::NotSaturated, 0.8);
        }
        sure(Verdict::ShaperHolds, clear)
    }

    /// Whether the load reached the shaper's rate for a second. On a long path senders slow down for many round trips when the shaper
    /// drops: they deliver less on average, and no host is the limit.
    fn fills(&self, trial: &Trial, set: BitRate) -> bool {
        let figures = trial.directions.get(self.direction);
        let most = measured(trial, figures).into_iter().fold(0.0, f64::max);
        self.ratio(most * over_own(figures).unwrap_or(1.0), set) >= SHORT
    }

    /// By how much packets waited longer than they may at a rate, in nanoseconds; less than 0 where they did not.
    fn excess(&self, delay: &TrialDelay, set: BitRate) -> f64 {
        let set = set.0 as f64;
        // Delays of a shaper itself vary; a queue that does not drain delays every packet.
        let median = self.median_limit(set).map_or(f64::MIN, |most| delay.p50.0 as f64 - most);
        (self.judged(delay).0 as f64 - self.most(set)).max(median)
    }

    /// Whether half of the packets waited longer than they may wait for a shaper itself or for a host.
    pub(crate) fn has_long_queue(&self, trial: &Trial) -> bool {
        let set = trial.step.rates.direction(self.direction).map_or(f64::MAX, |rate| rate.0 as f64);
        let own = limit::own(self.session.plan, self.direction, set, self.session.noise(self.direction));
        trial.directions.get(self.direction).queueing_delay.is_some_and(|delay| delay.p50.0 as f64 > own)
    }

    /// Whether a trial does not pass by bursts alone, none of which is longer than one of a shaper itself or of a host may be: half of
    /// the packets did not wait for the line, and as much arrived as the shaper lets pass. Not where another limit was asked for.
    pub(crate) fn has_only_bursts(&self, trial: &Trial) -> bool {
        let figures = trial.directions.get(self.direction);
        let known = trial.step.rates.direction(self.direction).zip(figures.queueing_delay).zip(with_others(figures));
        known.is_some_and(|((set, delay), arrived)| {
            let rate = set.0 as f64;
            let own = limit::own(self.session.plan, self.direction, rate, self.session.noise(self.direction));
            let is_asked = self.part_of_line(rate).is_none();
            let drains = self.median_limit(rate).is_some_and(|most| delay.p50.0 as f64 <= most);
            !is_asked && drains && self.judged(&delay).0 as f64 <= own && self.ratio(arrived, set) >= SHORT
        })
    }

    /// Whether a trial did not pass, and probes may have waited for a processor that a hypervisor took and not for the line. Where that
    /// is so again and again, the later trials count.
    fn is_stolen(&self, trial: &Trial) -> bool {
        let is_suspect = |one: &Trial| one.stolen_from.is_some() && self.falls_short(one) == Some(true);
        let is_earlier = |one: &&Trial| one.judges(self.direction) && one.step.number < trial.step.number;
        let earlier = self.session.trials.iter().filter(is_earlier);
        is_suspect(trial) && earlier.filter(|one| is_suspect(one)).count() < MOST_STOLEN
    }

    /// Whether a trial was to judge the rate, and says nothing of it because of a hypervisor.
    pub(crate) fn is_spoiled(&self, trial: &Trial) -> bool {
        trial.judges(self.direction)
            && self.judge(trial).is_some_and(|judged| judged.discarded == Some(Discarded::Stolen))
    }

    /// Whether the delay was above the limit, or less arrived than the shaper lets pass.
    fn falls_short(&self, trial: &Trial) -> Option<bool> {
        let figures = trial.directions.get(self.direction);
        let set = trial.step.rates.direction(self.direction)?;
        Some(self.excess(&figures.queueing_delay?, set) > 0.0 || self.ratio(with_others(figures)?, set) < SHORT)
    }

    /// Whether less arrived than both the shaper and the unshaped line let pass: something else held the load back for a while.
    fn is_short(&self, arrived: f64, set: BitRate) -> bool {
        let shaped = set.0 as f64 * self.scale.value.exp();
        let line = self.session.course(self.direction).sustained().unwrap_or(shaped);
        arrived < UNDISTURBED * shaped.min(line)
    }

    /// Delivered in relation to what a binding shaper would deliver.
    pub(crate) fn ratio(&self, arrived: f64, set: BitRate) -> f64 {
        arrived / (set.0 as f64 * self.scale.value.exp())
    }
}

/// The logarithm of a delivered rate, from seconds of it.
pub(crate) fn delivered(seconds: &[f64], factor: f64) -> Option<Estimate> {
    let mean = course::mean(seconds);
    if seconds.len() < 2 || mean <= 0.0 {
        return None;
    }
    let n = seconds.len() as f64;
    let error = (course::variance(seconds) / (n - 1.0)).sqrt() / mean;
    Some(Estimate { value: (mean * factor).ln(), deviation: error.max(RATE_NOISE) })
}

/// Seconds of the measured window.
pub(crate) fn measured(trial: &Trial, figures: &TrialDirection) -> Vec<f64> {
    let whole = usize::try_from(trial.step.window().length().as_secs()).unwrap_or(0).min(figures.course.len());
    figures.course[figures.course.len() - whole..].iter().map(|rate| rate.0 as f64).collect()
}

/// How the shaper's bytes and those that arrived are related, from the trial in which the shaper bound best: without a queue on
/// the line, less arrives only where the load is held back otherwise.
fn scale(session: &Session<'_>, direction: Direction) -> Estimate {
    if session.knows_bytes(direction) {
        return Estimate { value: 0.0, deviation: KNOWN_BYTES };
    }
    let prior = UNKNOWN_BYTES.powi(-2);
    let in_trial = |trial: &Trial| {
        let figures = trial.directions.get(direction);
        let set = trial.step.rates.direction(direction)?.0 as f64;
        let arrived = with_others(figures)?;
        let most = limit::own(session.plan, direction, set, session.noise(direction));
        let delay = figures.queueing_delay?;
        let is_clear = delay.p95.0 as f64 <= most && delay.p50.0 as f64 <= CLEAR * most;
        if !is_clear || !COUNTING.contains(&(arrived / set)) {
            return None;
        }
        let rate = delivered(&measured(trial, figures), over_own(figures)?)?;
        Some(Estimate { value: rate.value - set.ln(), ..rate })
    };
    let bound = session.trials.iter().filter_map(in_trial).max_by(|one, other| one.value.total_cmp(&other.value));
    let Some(bound) = bound else { return Estimate { value: 0.0, deviation: prior.sqrt().recip() } };
    let weight = bound.deviation.powi(-2);
    Estimate { value: bound.value * weight / (prior + weight), deviation: (prior + weight).sqrt().recip() }
}

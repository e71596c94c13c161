//! Whether the shaper limits the direction that it is set for, and no other, and whether the queue goes where it is.

use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::tuning::limit;
use crate::tuning::result::Refusal;
use crate::tuning::session::{Session, with_others};
use crate::tuning::trial::Trial;

/// Delivered in relation to what was set: more than this has not passed the shaper.
const BYPASSED: f64 = 1.05;
/// The same of a shaper that may count no more than IP packets: of an acknowledgment Ethernet takes a quarter more.
const BYPASSED_OF_UNKNOWN: f64 = 1.2;
/// Packets pass it twice, so that half of what its counters say is of this test.
const TWICE: std::ops::Range<f64> = 0.42..0.6;
const FOREIGN_OF_TWICE: std::ops::Range<f64> = 0.46..0.54;
/// Less than this is not the shaper's doing, however it counts bytes.
const SHORT: f64 = 0.8;
/// A direction is at the rate that was set for the other one, when it differs by no more than this part.
const AT_THE_OTHER: f64 = 0.1;
/// It has moved there from somewhere else.
const MOVED: f64 = 0.15;
/// A queue that stays is at least this part of that of the unshaped line, and this long.
const STAYS: f64 = 0.5;
const STAYS_AT_LEAST: f64 = 10e6;

/// How the shaper of one direction answered to a rate far below the line's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Knob {
    /// It limits this direction, and the queue is gone.
    Binds,
    /// More arrived than was set.
    NotMoved,
    /// It limits this direction, and a queue stays.
    DelayStays {
        /// Whether it is longer than shapers and hosts have themselves.
        elsewhere: bool,
    },
    /// Less than that rate arrived, because acknowledgments wait in the queue of the other direction, which is unshaped.
    Starved,
    /// Half of it arrived, and its counters saw twice as much. Other traffic may look so once, at two rates hardly.
    Halved { set: BitRate, delivered: BitRate },
    /// It is of no use, for this reason.
    Unfit(Refusal),
}

impl Knob {
    pub(crate) fn in_trial(session: &Session<'_>, direction: Direction, trial: &Trial) -> Self {
        let figures = trial.directions.get(direction);
        let (Some(set), Some(arrived), Some(delivered), Some(delay)) =
            (trial.step.rates.direction(direction), with_others(figures), figures.delivered, figures.queueing_delay)
        else {
            return Self::Unfit(Refusal::NotMeasured { direction });
        };
        let ratio = arrived / set.0 as f64;
        let is_starved = is_starved(session, direction, trial);
        if !is_starved && TWICE.contains(&(delivered.0 as f64 / set.0 as f64)) {
            match figures.foreign {
                // A router that is too slow for this rate looks the same.
                None => return Self::Unfit(Refusal::CountedTwice { direction, set, delivered }),
                Some(foreign) if FOREIGN_OF_TWICE.contains(&foreign) => return Self::Halved { set, delivered },
                Some(_) => {}
            }
        }
        if ratio > bypassed(session, direction) {
            return Self::NotMoved;
        }
        if ratio < SHORT && is_starved {
            return Self::Starved;
        }
        let stays = Stays::new(session, direction, set, delay.p95);
        if stays.above_limit {
            return Self::DelayStays { elsewhere: stays.elsewhere };
        }
        if ratio < SHORT {
            let limit = session.host_limit(direction, trial);
            return Self::Unfit(Refusal::HostLimited { direction, set: Some(set), delivered, limit });
        }
        Self::Binds
    }
}

fn bypassed(session: &Session<'_>, direction: Direction) -> f64 {
    if session.knows_bytes(direction) { BYPASSED } else { BYPASSED_OF_UNKNOWN }
}

/// Whether the other direction has a queue that the session may yet take away.
fn is_starved(session: &Session<'_>, direction: Direction, trial: &Trial) -> bool {
    let other = direction.opposite();
    let figures = trial.directions.get(other);
    let (Some(delivered), Some(delay)) = (figures.delivered, figures.queueing_delay) else { return false };
    let own = limit::own(session.plan, other, delivered.0 as f64, session.noise(other));
    session.tunes(other) && trial.step.rates.direction(other).is_none() && delay.p95.0 as f64 > own
}

/// What a delay far below the line's rate means.
struct Stays {
    above_limit: bool,
    elsewhere: bool,
}

impl Stays {
    fn new(session: &Session<'_>, direction: Direction, set: BitRate, p95: Delay) -> Self {
        let noise = session.noise(direction);
        let rate = set.0 as f64;
        // A queue of the shaper itself grows as its rate falls; one elsewhere does not, and is not to pass for it then.
        let highest =
            session.knobs(direction).filter_map(|trial| trial.step.rates.direction(direction)).max().unwrap_or(set);
        let most = limit::own(session.plan, direction, highest.0 as f64, noise);
        let p95 = p95.0 as f64;
        let last = session.references(direction).last().copied();
        let unshaped = last.and_then(|trial| trial.directions.get(direction).queueing_delay);
        let least = STAYS_AT_LEAST.max(limit::derived(session.plan, direction, rate, noise));
        let part = unshaped.map_or(f64::INFINITY, |delay| (STAYS * delay.p95.0 as f64).max(least));
        let asked = session.plan.delay_limit.map_or(f64::INFINITY, |limit| limit.0 as f64);
        let elsewhere = p95 > most.min(part);
        Self { above_limit: elsewhere || p95 > asked, elsewhere }
    }
}

/// The refusal when a direction did not move: the other one did, or none.
pub(crate) fn not_moved(session: &Session<'_>, direction: Direction, trials: &[&Trial]) -> Option<Refusal> {
    let last = trials.last()?;
    let lowered = Direction::ALL.into_iter().find(|one| last.step.rates.direction(*one).is_some())?;
    let other = lowered.opposite();
    let set = last.step.rates.direction(lowered)?;
    let delivered = last.directions.get(lowered).delivered?;
    let unshaped = |direction| session.trials.first().and_then(|first| first.directions.get(direction).delivered);
    let crossed = |moved: BitRate, before: BitRate| {
        let there = (moved.0 as f64 / set.0 as f64 - 1.0).abs() < AT_THE_OTHER;
        let was_elsewhere = (moved.0 as f64 / before.0 as f64 - 1.0).abs() > MOVED;
        // A rate above the line's is no limit to it.
        let is_above_line = unshaped(lowered).is_some_and(|line| line <= set);
        there && was_elsewhere && (is_above_line || delivered.0 as f64 > bypassed(session, lowered) * set.0 as f64)
    };
    // The other direction is not loaded where it is not tuned.
    let moved = last.directions.get(other).delivered.zip(unshaped(other));
    if let Some((moved, _)) = moved.filter(|(moved, before)| crossed(*moved, *before)) {
        return Some(Refusal::DirectionsSwapped { direction: lowered, set, delivered, other: moved });
    }
    let shown = trials.iter().rev().find(|trial| trial.step.rates.direction(direction).is_some())?;
    let (set, delivered) = (shown.step.rates.direction(direction)?, shown.directions.get(direction).delivered?);
    Some(Refusal::NotInPath { direction, set, delivered })
}

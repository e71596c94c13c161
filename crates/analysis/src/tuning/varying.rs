//! A line whose rate changes with time.

use rrul_model::flow::Direction;

use crate::tuning::capacity::Evidence;
use crate::tuning::reference::Line;
use crate::tuning::result::Verdict;
use crate::tuning::session::{DIFFERENT, Session};

/// A trial that passed was this much above one that did not.
const CONTRADICTION: f64 = 1.06;
const SURE: f64 = 0.9;

/// Whether the line of a direction changes with time.
pub(crate) fn varies(session: Session<'_>, direction: Direction) -> bool {
    if session.line(direction) != Some(Line::Queues) || session.is_steady(direction) {
        return false;
    }
    if session.course(direction).varies() {
        return true;
    }
    let Some(evidence) = Evidence::gather(session, direction) else { return false };
    let saturated = evidence.saturated();
    let most = saturated.iter().map(|one| one.value).fold(f64::NEG_INFINITY, f64::max);
    let least = saturated.iter().map(|one| one.value).fold(f64::INFINITY, f64::min);
    let sure = |verdict: Verdict| {
        let judged = evidence.judged.iter().filter(move |(_, judged)| judged.verdict == verdict && judged.sure >= SURE);
        judged.filter_map(|(trial, _)| trial.step.rates.direction(direction)).map(|rate| rate.0 as f64)
    };
    let passed = sure(Verdict::ShaperHolds).fold(0.0, f64::max);
    let failed = sure(Verdict::LineHolds).fold(f64::INFINITY, f64::min);
    most - least > DIFFERENT || passed > CONTRADICTION * failed
}

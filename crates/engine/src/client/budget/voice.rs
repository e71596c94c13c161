//! How much voice a line bears: all streams at once, one class or one stream after another, or one with pauses.

use std::collections::BTreeMap;

use rrul_model::flow::{Direction, FlowSpec, Parameter};
use rrul_model::flow_kind::FlowKind;
use rrul_model::phase::PhaseWindow;
use rrul_model::turns::{TURNS, take_turns};
use rrul_model::units::Share;

use super::footprint;
use crate::flow_types::voip::{AUTO, CLASSES, FULL, ONE, SCHEDULE};

/// A stream sends at least this much of its turn: less would not be heard as a call.
const LEAST_SHARE: f64 = 0.1;

/// The schedule that the plan asks for; turns of its own are left alone.
fn asked(flow: &FlowSpec) -> &str {
    if flow.parameters.0.contains_key(TURNS) {
        return FULL;
    }
    flow.parameters.text(SCHEDULE).unwrap_or(AUTO)
}

/// Settles the schedule of every voice stream, and gives turns to those that share a line; `allowed` is what all voice of a
/// direction may send, bit/s.
pub(super) fn settle(flows: &mut [FlowSpec], phases: &[PhaseWindow], allowed: impl Fn(Direction) -> f64) {
    for direction in Direction::ALL {
        let auto = automatic(flows, direction, allowed(direction));
        for wanted in [CLASSES, ONE] {
            let ours = |flow: &&mut FlowSpec| {
                flow.kind() == FlowKind::Voip
                    && flow.direction == Some(direction)
                    && (asked(flow) == wanted || asked(flow) == AUTO && auto.schedule == wanted)
            };
            let share =
                if flows.iter_mut().filter(ours).any(|flow| asked(flow) == AUTO) { auto.share } else { Share(1.0) };
            // Streams of one class go together, or each stands for itself.
            let mut groups = BTreeMap::new();
            for flow in flows.iter_mut().filter(ours) {
                let key = (flow.class, (wanted == ONE).then_some(flow.id));
                let next = groups.len();
                groups.entry(key).or_insert(next);
            }
            let count = groups.len();
            let turns: Vec<(&mut FlowSpec, usize)> = flows
                .iter_mut()
                .filter(ours)
                .map(|flow| {
                    let group = groups.get(&(flow.class, (wanted == ONE).then_some(flow.id))).copied().unwrap_or(0);
                    flow.parameters.0.insert(SCHEDULE.to_owned(), Parameter::Text(wanted.to_owned()));
                    (flow, group)
                })
                .collect();
            take_turns(turns, phases, count, share);
        }
        let rest = flows.iter_mut().filter(|flow| flow.kind() == FlowKind::Voip && flow.direction == Some(direction));
        for flow in rest.filter(|flow| asked(flow) == AUTO) {
            flow.parameters.0.insert(SCHEDULE.to_owned(), Parameter::Text(FULL.to_owned()));
        }
    }
}

/// What fits.
struct Automatic {
    schedule: &'static str,
    /// The part of its turn in which a stream sends.
    share: Share,
}

/// The fullest schedule that stays within what is allowed.
fn automatic(flows: &[FlowSpec], direction: Direction, allowed: f64) -> Automatic {
    let voice = || flows.iter().filter(|flow| flow.kind() == FlowKind::Voip && flow.direction == Some(direction));
    let rate = |flow: &FlowSpec| footprint(flow).direction(direction);
    let full: f64 = voice().map(rate).sum();
    let mut classes = BTreeMap::new();
    for flow in voice() {
        *classes.entry(flow.class).or_insert(0.0) += rate(flow);
    }
    let widest_class = classes.into_values().fold(0.0, f64::max);
    let widest_stream = voice().map(rate).fold(0.0, f64::max);
    let whole = |schedule| Automatic { schedule, share: Share(1.0) };
    match allowed {
        _ if full <= allowed => whole(FULL),
        _ if widest_class <= allowed => whole(CLASSES),
        _ if widest_stream <= allowed => whole(ONE),
        _ => Automatic { schedule: ONE, share: Share((allowed / widest_stream).clamp(LEAST_SHARE, 1.0)) },
    }
}

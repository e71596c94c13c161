//! How much voice a line bears: all streams at once, or one class or one stream after another.
//!
//! What is sent to measure a line must not be what fills it: test packets and voice together may take 5 % of a direction.
//! The full set over both families is 624 kbit/s each way, 5 % of 12.5 Mbit/s. On a slower line the streams take turns.
//! One stream at a time is the least, whatever its share: less would not be a call.

use std::collections::BTreeMap;

use rrul_model::flow::{Direction, FlowSpec, Parameter};
use rrul_model::line_rate::LineRate;
use rrul_model::phase::PhaseWindow;
use rrul_model::turns::{TURNS, take_turns};

use crate::flow_types;
use crate::flow_types::voip::{AUTO, CLASSES, FULL, NAME, ONE, SCHEDULE};

/// What test packets and voice may take of a direction.
const SHARE: f64 = 0.05;

/// Whether how fast the line is decides over any of these flows.
pub(super) fn depends_on_line(flows: &[FlowSpec]) -> bool {
    flows.iter().any(|flow| flow.flow_type == NAME && asked(flow) == AUTO)
}

/// The schedule that the plan asks for; turns of its own are left alone.
fn asked(flow: &FlowSpec) -> &str {
    if flow.parameters.0.contains_key(TURNS) {
        return FULL;
    }
    flow.parameters.text(SCHEDULE).unwrap_or(AUTO)
}

/// Settles the schedule of every voice stream, and gives turns to those that share a line.
pub(super) fn settle(flows: &mut [FlowSpec], line: Option<&LineRate>, phases: &[PhaseWindow]) {
    for direction in Direction::ALL {
        let auto = automatic(flows, direction, line);
        for wanted in [CLASSES, ONE] {
            let ours = |flow: &&mut FlowSpec| {
                flow.flow_type == NAME
                    && flow.direction == Some(direction)
                    && (asked(flow) == wanted || asked(flow) == AUTO && auto == wanted)
            };
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
            take_turns(turns, phases, count);
        }
        let rest = flows.iter_mut().filter(|flow| flow.flow_type == NAME && flow.direction == Some(direction));
        for flow in rest.filter(|flow| asked(flow) == AUTO) {
            flow.parameters.0.insert(SCHEDULE.to_owned(), Parameter::Text(FULL.to_owned()));
        }
    }
}

/// The fullest schedule that stays within the share of the line; the full one where nothing is known of the line.
fn automatic(flows: &[FlowSpec], direction: Direction, line: Option<&LineRate>) -> &'static str {
    let Some(line) = line.and_then(|line| line.of(direction)) else { return FULL };
    let rate = |flow: &FlowSpec| flow_types::named(&flow.flow_type).map_or(0.0, |kind| kind.constant_rate(flow));
    let goes_there = |flow: &&FlowSpec| flow.direction.is_none_or(|theirs| theirs == direction);
    let (voice, others): (Vec<&FlowSpec>, Vec<&FlowSpec>) =
        flows.iter().filter(goes_there).partition(|flow| flow.flow_type == NAME);
    let others: f64 = others.into_iter().map(rate).sum();
    let full: f64 = voice.iter().map(|flow| rate(flow)).sum();
    let mut classes = BTreeMap::new();
    for flow in &voice {
        *classes.entry(flow.class).or_insert(0.0) += rate(flow);
    }
    let widest = classes.into_values().fold(0.0, f64::max);
    let fits = |voice: f64| others + voice <= SHARE * line.0 as f64;
    match (fits(full), fits(widest)) {
        (true, _) => FULL,
        (false, true) => CLASSES,
        (false, false) => ONE,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rrul_model::flow::{AddressFamily, Component, FlowId, Parameters};
    use rrul_model::line_rate::Dispersion;
    use rrul_model::marking::ServiceClass;
    use rrul_model::phase::Phase;
    use rrul_model::time::{TestTime, Window};
    use rrul_model::turns::turns_of;
    use rrul_model::units::ByteCount;

    use super::*;

    const ALL: Window = Window { from: TestTime(0), to: TestTime(60_000_000_000) };

    fn flow(flow_type: &str, direction: Option<Direction>, family: AddressFamily, class: ServiceClass) -> FlowSpec {
        FlowSpec {
            id: FlowId(0),
            name: String::new(),
            flow_type: flow_type.to_owned(),
            component: Component::Voip,
            direction,
            family,
            class,
            window: ALL,
            parameters: Parameters::default(),
        }
    }

    /// Voice in three classes both ways over both families, and probes in three classes.
    fn flows() -> Vec<FlowSpec> {
        let mut flows = Vec::new();
        for family in AddressFamily::ALL {
            for class in [ServiceClass::EF, ServiceClass::BE, ServiceClass::BK] {
                flows.extend(Direction::ALL.map(|direction| flow(NAME, Some(direction), family, class)));
                flows.push(flow("udp_probe", None, family, class));
            }
        }
        for (id, flow) in (0..).zip(&mut flows) {
            flow.id = FlowId(id);
        }
        flows
    }

    fn line(up: f64, down: f64) -> LineRate {
        // A thousand packets of 125 octets are a megabit.
        let dispersion = |megabits: f64| Dispersion {
            packets: 1000,
            octets: ByteCount(125),
            took: Duration::from_secs_f64(1.0 / megabits),
        };
        LineRate { up: Some(dispersion(up)), down: Some(dispersion(down)) }
    }

    fn settled(flows: &mut [FlowSpec], line: Option<&LineRate>) -> [String; 2] {
        settle(flows, line, &[PhaseWindow { phase: Phase::Load, window: ALL }]);
        [Direction::Up, Direction::Down].map(|direction| {
            let ours = flows.iter().filter(|flow| flow.flow_type == NAME && flow.direction == Some(direction));
            let schedules: Vec<&str> = ours.map(|flow| flow.parameters.text(SCHEDULE).unwrap()).collect();
            assert!(schedules.iter().all(|schedule| *schedule == schedules[0]), "{schedules:?}");
            schedules[0].to_owned()
        })
    }

    #[test]
    fn voice_and_probes_stay_within_five_per_cent_of_each_direction() {
        // 3 * (96 + 112) kbit/s of voice; probes of 108 and 128 octets, 50 a second: 3 * (43.2 + 51.2). Full 907.2 kbit/s,
        // which is 5 % of 18.1 Mbit/s; one class at a time 491.2, of 9.8.
        for (megabits, expected) in
            [(100.0, "full"), (18.2, "full"), (18.1, "classes"), (9.9, "classes"), (9.8, "one"), (0.5, "one")]
        {
            let mut flows = flows();
            assert_eq!(settled(&mut flows, Some(&line(megabits, 100.0))), [expected, "full"], "{megabits} Mbit/s up");
            let mut flows = self::flows();
            assert_eq!(settled(&mut flows, Some(&line(100.0, megabits))), ["full", expected]);
        }
    }

    #[test]
    fn classes_take_turns_with_both_families_and_single_streams_alone() {
        for (megabits, together) in [(12.0, 2), (1.0, 1)] {
            let mut flows = flows();
            settled(&mut flows, Some(&line(megabits, megabits)));
            for at in [1, 9_999, 10_001, 29_000, 59_999].map(|ms| TestTime(ms * 1_000_000)) {
                for direction in Direction::ALL {
                    let sends = |flow: &&FlowSpec| {
                        flow.direction == Some(direction)
                            && turns_of(flow).is_some_and(|turns| turns.iter().any(|turn| turn.contains(at)))
                    };
                    let sending: Vec<&FlowSpec> = flows.iter().filter(sends).collect();
                    assert_eq!(sending.len(), together, "{megabits} Mbit/s, {direction} at {at}");
                    assert!(sending.iter().all(|flow| flow.class == sending[0].class));
                }
            }
        }
    }

    #[test]
    fn what_the_plan_says_goes_before_what_the_line_says_and_nothing_known_is_full() {
        let mut flows = flows();
        assert!(depends_on_line(&flows));
        assert_eq!(settled(&mut flows, None), ["full", "full"]);
        assert!(flows.iter().all(|flow| turns_of(flow).is_none()));
        for (asked, expected) in [("full", "full"), ("classes", "classes"), ("one", "one")] {
            let mut flows = self::flows();
            for flow in &mut flows {
                flow.parameters.0.insert(SCHEDULE.to_owned(), Parameter::Text(asked.to_owned()));
            }
            assert!(!depends_on_line(&flows), "{asked}: no train is sent");
            assert_eq!(settled(&mut flows, Some(&line(1.0, 1000.0))), [expected, expected]);
        }
        let mut own = self::flows();
        for flow in &mut own {
            flow.parameters.0.insert(TURNS.to_owned(), Parameter::Text("1s-2s".to_owned()));
        }
        settle(&mut own, Some(&line(1.0, 1.0)), &[]);
        assert!(own.iter().all(|flow| flow.parameters.text(TURNS) == Some("1s-2s")), "turns of the plan stay");
    }
}

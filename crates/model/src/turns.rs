//! Whose turn it is: flows that together would take too much of a slow line send one after another.

use std::time::Duration;

use crate::flow::{FlowSpec, Parameter};
use crate::phase::PhaseWindow;
use crate::time::{TestTime, Window};
use crate::units::{Share, format_duration, parse_duration};

/// The parameter of a flow that contains its turns: `6s-7500ms,11s-21s`. Without it a flow sends all through its
/// window.
pub const TURNS: &str = "turns";

/// A turn is no longer than this where the phase allows: so every flow meets each stretch of a long phase.
const LONGEST_TURN: Duration = Duration::from_secs(10);

/// Most turns of one flow that are heeded.
const MOST_TURNS: usize = 256;

/// The turns of a flow, in order; `None` when it sends all the time, empty when what they say cannot be read.
pub fn turns_of(flow: &FlowSpec) -> Option<Vec<Window>> {
    let text = flow.parameters.text(TURNS)?;
    let instant = |text: &str| parse_duration(text.trim()).ok().map(|since| TestTime::ZERO + since);
    let turn = |text: &str| {
        let (from, to) = text.split_once('-')?;
        Some(Window { from: instant(from)?, to: instant(to)? })
    };
    let mut turns: Vec<Window> = text.split(',').take(MOST_TURNS).map(turn).collect::<Option<_>>().unwrap_or_default();
    turns.sort_by_key(|turn| turn.from);
    Some(turns)
}

/// Gives these flows turns in every phase that they run in: those of group 0 first, then those of group 1, and so on
/// until `groups`, in as many rounds as keep a turn within 10 s. Each sends during `share` of its turn, from its start.
pub fn take_turns<'a>(
    flows: impl IntoIterator<Item = (&'a mut FlowSpec, usize)>,
    phases: &[PhaseWindow],
    groups: usize,
    share: Share,
) {
    for (flow, group) in flows {
        let turns = phases.iter().filter(|phase| phase.window.overlaps(&flow.window)).flat_map(|phase| {
            let from = phase.window.from.max(flow.window.from);
            let to = phase.window.to.min(flow.window.to);
            turns_within(Window { from, to }, groups, group)
                .map(|turn| Window { to: turn.from + turn.length().mul_f64(share.0.clamp(0.0, 1.0)), ..turn })
        });
        let text: Vec<String> = turns
            .map(|turn| {
                let since = |at: TestTime| format_duration(Duration::from_nanos(u64::try_from(at.0).unwrap_or(0)));
                format!("{}-{}", since(turn.from), since(turn.to))
            })
            .collect();
        flow.parameters.0.insert(TURNS.to_owned(), Parameter::Text(text.join(",")));
    }
}

/// The turns of one group within a stretch of time.
fn turns_within(window: Window, groups: usize, group: usize) -> impl Iterator<Item = Window> {
    let groups = u32::try_from(groups.max(1)).unwrap_or(u32::MAX);
    let length = window.length();
    let rounds = (length.as_nanos() / (LONGEST_TURN.as_nanos() * u128::from(groups))).max(1);
    // Within the most that are heeded, whatever the length of the test.
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX).min(MOST_TURNS as u32 / 4);
    let slots = u64::from(rounds) * u64::from(groups);
    // Of the whole, so that adjacent turns meet and nothing is left at the end.
    let at = move |slot: u64| {
        let nanoseconds = length.as_nanos() * u128::from(slot) / u128::from(slots.max(1));
        window.from + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    };
    let group = group as u64;
    (0..u64::from(rounds)).map(move |round| {
        let slot = round * u64::from(groups) + group;
        Window { from: at(slot), to: at(slot + 1) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{AddressFamily, Component, FlowId, Parameters};
    use crate::marking::ServiceClass;
    use crate::phase::Phase;

    const SECOND: i64 = 1_000_000_000;

    fn flow() -> FlowSpec {
        FlowSpec {
            id: FlowId(0),
            name: "voip/BE/up/ipv4".to_owned(),
            flow_type: "voip".to_owned(),
            component: Component::Voip,
            direction: None,
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(6 * SECOND), to: TestTime(76 * SECOND) },
            parameters: Parameters::default(),
        }
    }

    fn phases() -> Vec<PhaseWindow> {
        let phase = |phase, from, to| PhaseWindow {
            phase,
            window: Window { from: TestTime(from * SECOND), to: TestTime(to * SECOND) },
        };
        vec![
            phase(Phase::Survey, 0, 6),
            phase(Phase::Idle, 6, 11),
            phase(Phase::Load, 11, 71),
            phase(Phase::After, 71, 76),
        ]
    }

    fn turns(groups: usize) -> Vec<Vec<Window>> {
        let mut flows: Vec<FlowSpec> = vec![flow(); groups];
        take_turns(flows.iter_mut().enumerate().map(|(group, flow)| (flow, group)), &phases(), groups, Share(1.0));
        flows.iter().map(|flow| turns_of(flow).unwrap()).collect()
    }

    #[test]
    fn every_instant_of_the_window_is_the_turn_of_exactly_one() {
        for groups in [1, 3, 6, 7] {
            let mut all: Vec<Window> = turns(groups).concat();
            all.sort_by_key(|turn| turn.from);
            assert_eq!(all.first().map(|turn| turn.from), Some(TestTime(6 * SECOND)));
            assert_eq!(all.last().map(|turn| turn.to), Some(TestTime(76 * SECOND)));
            assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from), "{groups} groups: {all:?}");
        }
    }

    #[test]
    fn a_flow_has_turns_in_every_phase_and_none_longer_than_ten_seconds() {
        for (group, turns) in turns(3).iter().enumerate() {
            let of_phase = |phase: &PhaseWindow| turns.iter().filter(|turn| phase.window.overlaps(turn)).count();
            let counts: Vec<usize> = phases().iter().map(of_phase).collect();
            // 60 s of load are two rounds of three turns of 10 s.
            assert_eq!(counts, [0, 1, 2, 1], "group {group}: {turns:?}");
            assert!(turns.iter().all(|turn| turn.length() <= LONGEST_TURN), "{turns:?}");
        }
    }

    #[test]
    fn without_turns_a_flow_sends_all_the_time_and_unreadable_ones_are_none() {
        assert_eq!(turns_of(&flow()), None);
        for text in ["", "5s", "1s-2s,x", "-", "1s-2parsec"] {
            let mut flow = flow();
            flow.parameters.0.insert(TURNS.to_owned(), Parameter::Text(text.to_owned()));
            assert_eq!(turns_of(&flow), Some(Vec::new()), "{text:?}");
        }
        let mut hostile = flow();
        hostile.parameters.0.insert(TURNS.to_owned(), Parameter::Text("1s-2s,".repeat(5000) + "1s-2s"));
        assert_eq!(turns_of(&hostile).unwrap().len(), MOST_TURNS);
    }

    #[test]
    fn a_phase_of_no_length_and_a_very_long_one_have_their_turns() {
        assert_eq!(turns_within(Window { from: TestTime(5), to: TestTime(5) }, 3, 1).count(), 1);
        let long = Window { from: TestTime::ZERO, to: TestTime(i64::MAX) };
        assert_eq!(turns_within(long, 3, 2).last().map(|turn| turn.to), Some(long.to));
    }
}

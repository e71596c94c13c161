use std::path::Path;

use rrul_model::flow::AddressFamily;
use rrul_model::flow_kind::FlowKind;
use rrul_model::line_rate::Dispersion;
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::time::TestTime;
use rrul_model::turns::turns_of;
use rrul_model::units::ByteCount;

use super::*;
use crate::client::trace_rate;
use crate::flow_types::voip::{AUTO, CLASSES, FULL, ONE, SCHEDULE};

const ONE_FAMILY: &[AddressFamily] = &[AddressFamily::Ipv4];
const BOTH: &[AddressFamily] = &AddressFamily::ALL;

/// A line of so many Mbit/s.
fn line(down: f64, up: f64) -> LineRate {
    // A thousand packets of 125 bytes are a megabit.
    let dispersion = |megabits: f64| Dispersion {
        packets: 1000,
        octets: ByteCount(125),
        took: Duration::from_secs_f64(1.0 / megabits),
    };
    LineRate { up: Some(dispersion(up)), down: Some(dispersion(down)) }
}

fn shipped(name: &str, settings: &[&str]) -> TestPlan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let read = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.toml"))).ok();
    let find = |name: &str| Some((format!("{name}.toml"), read(name)?));
    let words = flow_types::vocabulary();
    let surroundings = Surroundings { flow_types: &words, find: &find };
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    TestPlan::read(name, name, &read(name).unwrap(), &settings, &surroundings).unwrap()
}

fn budgeted(plan: &TestPlan, families: &[AddressFamily], line: LineRate) -> (Vec<FlowSpec>, MeasurementBudget) {
    let mut flows = flow_types::with_effective_parameters(plan.flows(families));
    trace_rate::settle(&mut flows, Some(&line));
    let budget = settle(&mut flows, Some(&line), &plan.phase_windows(), plan.overhead);
    (flows, budget.unwrap_or_default())
}

/// What flows beside the load send at most on average over phase `load`, bit/s: counted packet by packet, not as the budget does.
fn sent(flows: &[FlowSpec], plan: &TestPlan, direction: Direction) -> f64 {
    let windows = plan.phase_windows();
    let load = windows.iter().find(|entry| entry.phase == Phase::Load).unwrap().window;
    let scored = scored_flows(flows, &windows);
    let mean = |flow: &FlowSpec, direction| {
        let rate = footprint(flow).direction(direction);
        match turns_of(flow) {
            None => rate,
            Some(turns) => {
                let inside =
                    turns.iter().filter(|turn| turn.overlaps(&load)).map(|turn| turn.intersection(&load).length());
                rate * inside.sum::<Duration>().as_secs_f64() / load.length().as_secs_f64()
            }
        }
    };
    let of = |flow: &FlowSpec| mean(flow, direction);
    let of_up = |flow: &FlowSpec| mean(flow, Direction::Up);
    let voice = |flow: &&FlowSpec| flow.kind() == FlowKind::Voip && flow.direction == Some(Direction::Up);
    let reports = flows.iter().filter(voice).map(|flow| of_up(flow) * FRAMES_OF_VOICE).sum::<f64>();
    let reports = if direction == Direction::Down { reports } else { 0.0 };
    control(flows, direction) + reports + flows.iter().filter(|flow| scored.contains(&flow.id)).map(of).sum::<f64>()
}

#[test]
fn everything_but_the_load_stays_within_its_share_of_every_line() {
    for (down, up) in
        [(6.0, 0.7), (12.0, 1.5), (16.0, 1.0), (40.0, 5.0), (20.0, 8.0), (50.0, 20.0), (300.0, 30.0), (1.5, 1.5)]
    {
        for name in ["rrul", "quick", "rrul2013", "rrul_be"] {
            for families in [ONE_FAMILY, BOTH] {
                let plan = shipped(name, &[]);
                let (flows, budget) = budgeted(&plan, families, line(down, up));
                for direction in Direction::ALL {
                    let of = budget.direction(direction).unwrap();
                    let (sent, allowed) = (sent(&flows, &plan, direction), of.ceiling.0 * of.line.0 as f64);
                    let families = families.len();
                    assert!(
                        sent <= allowed,
                        "{name} {down}/{up} {families} {direction}: {sent:.0} of {allowed:.0} bit/s"
                    );
                    // Nor is it thrown away: where the plan asks for more, most of the tighter direction is used.
                    assert!((of.expected.0 as f64) <= allowed, "{name} {down}/{up} {direction}");
                }
            }
        }
    }
}

#[test]
fn probes_sample_a_slow_line_often_enough_and_a_fast_one_as_the_plan_says() {
    let sampled = |families, line| {
        let (flows, _) = budgeted(&shipped("rrul", &[]), families, line);
        let probes = flows.iter().filter(|flow| flow.kind() == FlowKind::UdpProbe);
        probes.map(|flow| flow.parameters.duration("interval", Duration::ZERO).as_secs_f64().recip()).sum::<f64>()
    };
    for families in [ONE_FAMILY, BOTH] {
        assert!(sampled(families, line(6.0, 0.7)) > 20.0, "a probe every 50 ms, of all flows together");
        assert!(sampled(families, line(12.0, 1.5)) > 30.0);
    }
    assert!((sampled(BOTH, line(300.0, 100.0)) - 300.0).abs() < 1.0, "six flows, one in 20 ms each");
}

#[test]
fn a_fast_line_changes_nothing_but_closed_loops() {
    let (flows, budget) = budgeted(&shipped("rrul", &[]), BOTH, line(1000.0, 1000.0));
    assert_eq!(budget.changes, []);
    assert!(flows.iter().filter(|flow| flow.kind() == FlowKind::Voip).all(|flow| turns_of(flow).is_none()));
}

#[test]
fn a_slow_direction_over_both_families_has_each_class_once_and_both_families() {
    let (flows, budget) = budgeted(&shipped("rrul", &[]), BOTH, line(20.0, 2.0));
    let streams = |direction| -> Vec<_> {
        let ours = flows.iter().filter(|flow| flow.component == Component::Load && flow.direction == Some(direction));
        ours.map(|flow| (flow.class, flow.family)).collect()
    };
    let up = streams(Direction::Up);
    assert_eq!((streams(Direction::Down).len(), up.len()), (8, 4));
    let classes: BTreeSet<_> = up.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes.len(), 4, "{up:?}");
    assert_eq!(up.iter().filter(|(_, family)| *family == AddressFamily::Ipv4).count(), 2, "{up:?}");
    assert!(budget.changes.iter().any(|change| change.parameter == "streams" && change.planned == "8 up"));
    let (flows, _) = budgeted(&shipped("rrul", &[]), ONE_FAMILY, line(20.0, 2.0));
    assert_eq!(flows.iter().filter(|flow| flow.component == Component::Load).count(), 8, "four a direction");
}

#[test]
fn short_flows_that_take_the_idle_line_longer_than_three_seconds_are_left_out_idle_and_loaded() {
    let (flows, budget) = budgeted(&shipped("rrul", &[]), ONE_FAMILY, line(20.0, 2.0));
    let sizes = |direction| -> BTreeSet<u64> {
        flows
            .iter()
            .filter(|flow| flow.direction == Some(direction))
            .filter_map(short_flow::size)
            .map(|size| size.0)
            .collect()
    };
    assert_eq!(sizes(Direction::Up), BTreeSet::from([10_000, 100_000]), "1 MB takes 4 s");
    assert_eq!(sizes(Direction::Down), BTreeSet::from([10_000, 100_000, 1_000_000]));
    assert!(budget.changes.iter().any(|change| change.planned == "1000000B up" && change.used.is_empty()));
}

#[test]
fn pages_that_the_idle_line_cannot_load_in_their_time_are_left_out_idle_alone() {
    // 2.7 MB in 5 s take 4.3 Mbit/s.
    for (plan, megabits, idle) in [("quick", 4.0, 0), ("quick", 6.0, 1), ("rrul", 0.9, 0), ("rrul", 4.0, 1)] {
        let plan = shipped(plan, &[]);
        let (flows, budget) = budgeted(&plan, ONE_FAMILY, line(megabits, 0.5));
        let pages: Vec<_> = flows.iter().filter(|flow| flow.kind() == FlowKind::WebPage).collect();
        let loaded = pages.iter().filter(|flow| flow.name.contains("load")).count();
        assert_eq!((pages.len() - loaded, loaded), (idle, 1), "{megabits} Mbit/s");
        let left_out = budget.changes.iter().any(|change| change.planned == "rrul2025" && change.used.is_empty());
        assert_eq!(left_out, idle == 0, "{:?}", budget.changes);
    }
}

#[test]
fn voice_is_sent_in_full_by_class_alone_or_with_pauses_and_as_the_plan_says() {
    let voice = |megabits: f64, setting: &[&str]| {
        let (flows, _) = budgeted(&shipped("rrul", setting), BOTH, line(1000.0, megabits));
        let ours: Vec<FlowSpec> = flows
            .into_iter()
            .filter(|flow| flow.kind() == FlowKind::Voip && flow.direction == Some(Direction::Up))
            .collect();
        let schedule = ours[0].parameters.text(SCHEDULE).unwrap_or(AUTO).to_owned();
        let at = |second: f64| {
            let at = TestTime((second * 1e9) as i64);
            ours.iter()
                .filter(|flow| turns_of(flow).is_none_or(|turns| turns.iter().any(|turn| turn.contains(at))))
                .count()
        };
        let most = (0..600).map(|tenth| at(35.0 + f64::from(tenth) / 10.0)).max().unwrap();
        let silent = (0..600).filter(|tenth| at(35.0 + f64::from(*tenth) / 10.0) == 0).count();
        (schedule, most, silent > 100)
    };
    assert_eq!(voice(100.0, &[]), (FULL.to_owned(), 6, false));
    assert_eq!(voice(12.0, &[]), (ONE.to_owned(), 1, false));
    assert_eq!(voice(0.7, &[]), (ONE.to_owned(), 1, true), "one stream, with pauses");
    assert_eq!(voice(0.7, &["voip=full"]), (FULL.to_owned(), 6, false));
    assert_eq!(voice(0.7, &["voip=classes"]), (CLASSES.to_owned(), 2, false));
    assert_eq!(voice(0.7, &["overhead=none"]).0, FULL);
}

#[test]
fn without_a_rate_or_a_share_the_plan_stands() {
    let plan = shipped("rrul", &[]);
    let flows = flow_types::with_effective_parameters(plan.flows(BOTH));
    for (line, share) in [(None, plan.overhead), (Some(line(1.0, 1.0)), None)] {
        let mut settled = flows.clone();
        assert_eq!(settle(&mut settled, line.as_ref(), &plan.phase_windows(), share), None);
        let intervals = |flows: &[FlowSpec]| -> Vec<Option<String>> {
            flows.iter().map(|flow| flow.parameters.text("interval").map(str::to_owned)).collect()
        };
        assert_eq!(intervals(&settled), intervals(&flows));
    }
}

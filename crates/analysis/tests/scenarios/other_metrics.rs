//! Start spread, transactions, processor load, send lateness.

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{FlowEventKind, ProbeSent, ProcessTime, Transaction};
use rrul_model::phase::Phase;
use rrul_model::recording::End;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use crate::builder::{Client, MS, SECOND, Scenario, Server, ms};

#[test]
fn the_start_spread_is_within_flows_of_one_host_that_were_due_together() {
    let mut scenario = Scenario::new();
    let late_window = Window { from: TestTime(6 * SECOND), to: TestTime(15 * SECOND) };
    let up: Vec<FlowId> = (0..3).map(|_| scenario.bulk(Direction::Up)).collect();
    let down: Vec<FlowId> = (0..2).map(|_| scenario.bulk(Direction::Down)).collect();
    let later = scenario.flow("bulk_tcp", Component::Load, Some(Direction::Up), AddressFamily::Ipv4, late_window);
    let first = |scenario: &mut Scenario, point, flow, at| {
        scenario.event(point, flow, 5 * SECOND + at, FlowEventKind::FirstSent, "");
    };
    for (flow, at) in up.iter().zip([100_000, 400_000, 150_000]) {
        first(&mut scenario, Client, *flow, at);
    }
    // The server's clock is 9 ms off; between its two flows are 700 us.
    for (flow, at) in down.iter().zip([9_000_000, 9_700_000]) {
        first(&mut scenario, Server, *flow, at);
    }
    // Due a second later, so not late by a second; and what the receiver says of a flow does not count.
    first(&mut scenario, Client, later, SECOND);
    // A flow has one first byte, whatever a file says later.
    first(&mut scenario, Client, up[1], 600 * MS);
    let unsent = scenario.bulk(Direction::Up);
    first(&mut scenario, Server, unsent, 500 * MS);
    assert_eq!(scenario.analyze().start_spread, Some(Delay(700_000)));
}

#[test]
fn one_flow_alone_has_no_start_spread() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Up);
    scenario.event(Client, flow, 5 * SECOND, FlowEventKind::FirstSent, "");
    assert_eq!(scenario.analyze().start_spread, None);
}

#[test]
fn transactions_are_counted_by_the_phase_of_their_request() {
    let mut scenario = Scenario::new();
    let flow = scenario.flow("udp_rr", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    let silent = scenario.flow("tcp_rr", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    // 50 a second idle, 10 under load, one of which is given up; 50 after until the recording ends at 17 s.
    let mut at = 0;
    while at < 17 * SECOND {
        let loaded = Scenario::LOAD.contains(TestTime(at));
        let took = Delay(if loaded { 100 * MS } else { 20 * MS });
        let answered = u8::from(at != 7 * SECOND);
        let (started, sequence) = (TestTime(at), 0);
        scenario.observe(Client, at, Transaction { flow, sequence, started, took, answered });
        at += took.0;
    }
    scenario.recording.end =
        Some(End { at: TestTime(17 * SECOND), partial: Some("stopped".to_owned()), ..End::default() });
    let flows = scenario.analyze().measured.transaction_flows;
    let counts: Vec<_> =
        flows[0].phases.known().map(|(phase, p)| (phase, p.answered, p.unanswered, p.per_second)).collect();
    let expected = [(Phase::Idle, 250, 0, 50.0), (Phase::Load, 99, 1, 9.9), (Phase::After, 100, 0, 50.0)];
    assert_eq!(counts, expected);
    assert_eq!(flows[1].flow.id, silent);
    assert!(flows[1].phases.known().all(|(_, phase)| phase.answered == 0 && phase.per_second == 0.0));
}

#[test]
fn processor_load_is_reported_for_each_core_and_second_of_the_load() {
    let mut scenario = Scenario::new();
    // Under load core 0 is 40 % busy, but full in the second from 7 s and in the one from 8 s; full idle phase.
    scenario.processor(Client, |second| match second {
        0..5 | 7 => (100, 0),
        8 => (78, 20),
        _ => (40, 0),
    });
    let at = |seconds: i64, user| ProcessTime { at: TestTime(seconds * SECOND), user, system: Delay(0) };
    for (seconds, user) in [(4, 0), (6, 1200 * MS), (14, 6000 * MS), (16, 7200 * MS)] {
        scenario.observe(Client, seconds * SECOND, at(seconds, Delay(user)));
    }
    let client = &scenario.analyze().processor[0];
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    near(client.busiest_core, 1.0);
    near(client.saturated, 0.2);
    near(client.steal, 0.2);
    near(client.stolen, 0.1);
    // Core 1 is idle: (8 * 40 + 100 + 98) / 2000.
    near(client.mean, 0.259);
    assert_eq!(client.process, Some(Delay(6 * SECOND)), "from 600 ms at 5 s to 6600 ms at 15 s");
    assert_eq!(scenario.analyze().processor[1].process, None);
}

#[test]
fn lateness_is_of_the_program_against_its_schedule() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    for sequence in 0..100 {
        let scheduled = TestTime(i64::from(sequence) * 20 * MS);
        let late = if sequence == 99 { 5 * MS } else { MS };
        scenario.observe(
            Client,
            scheduled.0,
            ProbeSent { flow, sequence, scheduled, sent: TestTime(scheduled.0 + late) },
        );
    }
    let lateness = scenario.analyze().send_lateness.unwrap();
    assert_eq!((lateness.n, lateness.p50, lateness.p99, lateness.max), (100, ms(1), ms(1), ms(5)));
    assert_eq!(Scenario::new().analyze().send_lateness, None);
}

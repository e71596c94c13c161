//! New connections, in-stream delay and start slew.

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Connection, FlowEventKind, PacketReceived, ProbeSent, ProbesSkipped};
use rrul_model::recording::End;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server, ms};

pub(crate) fn connect_flow(scenario: &mut Scenario, class: ServiceClass, family: AddressFamily) -> FlowId {
    let flow = scenario.flow("tcp_connect", Component::Realtime, None, family, Scenario::ALL);
    scenario.recording.header.flows.last_mut().unwrap().class = class;
    flow
}

/// An attempt at each 100 ms of the test, as `row` has it of its time; an answer takes 20 ms more.
pub(crate) fn attempts(scenario: &mut Scenario, flow: FlowId, row: impl Fn(i64) -> (u8, i64, u8)) {
    for sequence in 0..200 {
        let at = i64::from(sequence) * 100 * MS;
        let (reached, connect, syn_retransmits) = row(at);
        let answer = if reached == Connection::ANSWERED { connect + 20 * MS } else { 0 };
        let row = Connection {
            flow,
            sequence,
            scheduled: TestTime(at),
            started: TestTime(at),
            reached,
            connect: Delay(connect),
            answer: Delay(answer),
            syn_retransmits,
        };
        scenario.observe(Client, at, row);
    }
}

#[test]
fn connections_are_reported_idle_and_loaded_with_those_that_never_stood_as_infinitely_late() {
    let mut scenario = Scenario::new();
    let flow = connect_flow(&mut scenario, ServiceClass::BE, AddressFamily::Ipv4);
    // 20 ms idle. Under load 500 ms, but of every ten one loses its SYN once, one is refused, one is never answered, one
    // gets no byte of the server, and one is called impossible.
    attempts(&mut scenario, flow, |at| {
        if !Scenario::LOAD.contains(TestTime(at)) {
            return (Connection::ANSWERED, 20 * MS, 0);
        }
        match at / (100 * MS) % 10 {
            0 => (Connection::ANSWERED, 1500 * MS, 1),
            1 => (Connection::REFUSED, 30 * MS, 0),
            2 => (Connection::UNANSWERED, 10 * SECOND, 5),
            3 => (Connection::CONNECTED, 500 * MS, 0),
            4 => (Connection::IMPOSSIBLE, MS, 0),
            _ => (Connection::ANSWERED, 500 * MS, 0),
        }
    });
    let found = scenario.analyze().measured.connections;
    let [idle, load, after] = [found.pooled.idle, found.pooled.load, found.pooled.after].map(Option::unwrap);
    for quiet in [idle, after] {
        assert_eq!((quiet.connect.n, quiet.connect.lost, quiet.connect.p50), (50, 0, ms(20)));
        assert_eq!((quiet.answer.p50, quiet.answer.max), (ms(40), ms(40)));
        assert_eq!((quiet.over_1s, quiet.retried, quiet.unanswered, quiet.refused), (0.0, 0, 0, 0));
    }
    assert_eq!((load.connect.n, load.connect.lost), (100, 30));
    assert_eq!((load.connect.min, load.connect.p50, load.connect.max), (ms(500), ms(500), ms(1500)));
    assert_eq!((load.connect.p90, load.connect.p95), (None, None), "three in ten never stood");
    assert_eq!((load.answer.n, load.answer.lost, load.answer.max), (100, 40, ms(1520)));
    assert!((load.over_1s - 0.4).abs() < 1e-9, "{}", load.over_1s);
    assert_eq!((load.retried, load.syn_retransmits), (20, 60));
    assert_eq!((load.unanswered, load.refused, load.impossible), (10, 10, 10));
}

#[test]
fn classes_and_families_of_connections_are_kept_apart() {
    let mut scenario = Scenario::new();
    let kinds = [
        (ServiceClass::EF, AddressFamily::Ipv4, 10),
        (ServiceClass::EF, AddressFamily::Ipv6, 30),
        (ServiceClass::BK, AddressFamily::Ipv4, 100),
    ];
    for (class, family, connect) in kinds {
        let flow = connect_flow(&mut scenario, class, family);
        attempts(&mut scenario, flow, |_| (Connection::ANSWERED, connect * MS, 0));
    }
    let found = scenario.analyze().measured.connections;
    let of = |phases: &rrul_analysis::metrics::web::connections::ConnectionPhases| {
        let load = phases.load.unwrap();
        (load.connect.n, load.connect.min, load.connect.max)
    };
    let classes: Vec<_> = found.classes.iter().map(|entry| (entry.class, of(&entry.phases))).collect();
    assert_eq!(classes, [(ServiceClass::EF, (200, ms(10), ms(30))), (ServiceClass::BK, (100, ms(100), ms(100)))]);
    let families: Vec<_> = found.families.iter().map(|entry| (entry.family, of(&entry.phases))).collect();
    let expected = [(AddressFamily::Ipv4, (200, ms(10), ms(100))), (AddressFamily::Ipv6, (100, ms(30), ms(30)))];
    assert_eq!(families, expected);
    assert_eq!(found.flows.iter().map(|entry| entry.series.len()).collect::<Vec<_>>(), [200, 200, 200]);
    assert!(scenario.analyze().transaction_flows.is_empty(), "they are no closed loop");
}

#[test]
fn attempts_that_were_still_waited_for_at_the_end_leave_no_bias() {
    let mut scenario = Scenario::new();
    scenario.recording.end =
        Some(End { at: TestTime(10 * SECOND), partial: Some("stopped".to_owned()), ..End::default() });
    let flow = connect_flow(&mut scenario, ServiceClass::BE, AddressFamily::Ipv4);
    // Half of those of the last 3 s had come to an end, the quick half.
    attempts(&mut scenario, flow, |at| match at {
        at if at > 7 * SECOND && at % (200 * MS) == 0 => (Connection::UNANSWERED, 10 * SECOND - at, 0),
        _ => (Connection::ANSWERED, 20 * MS, 0),
    });
    let load = scenario.analyze().connections.pooled.load.unwrap();
    // From 5 s to 7 s, both included.
    assert_eq!((load.connect.n, load.connect.lost), (21, 0));
}

/// A record every 100 ms, read after `delay(at)`; the server's clock is ahead.
fn records(scenario: &mut Scenario, direction: Direction, delay: impl Fn(i64) -> Option<i64>) -> FlowId {
    let family = AddressFamily::Ipv4;
    let flow = scenario.flow("tcp_records", Component::Realtime, Some(direction), family, Scenario::ALL);
    let ((sender, ahead), (receiver, other)) = match direction {
        Direction::Up => ((Client, 0), (Server, CLOCK_OFFSET)),
        Direction::Down => ((Server, CLOCK_OFFSET), (Client, 0)),
    };
    for sequence in 0..200 {
        let at = i64::from(sequence) * 100 * MS + MS;
        let sent = TestTime(at + ahead);
        scenario.observe(sender, at, ProbeSent { flow, sequence, scheduled: sent, sent });
        if let Some(delay) = delay(at) {
            let received = TestTime(at + delay + other);
            scenario.observe(receiver, at + delay, PacketReceived { flow, sequence, received, octet: 0 });
        }
    }
    flow
}

#[test]
fn in_stream_delay_is_reported_by_direction_whatever_the_servers_clock_shows() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    let loaded = |at: i64| Scenario::LOAD.contains(TestTime(at));
    let up = records(&mut scenario, Direction::Up, |at| Some(if loaded(at) { 250 * MS } else { 12 * MS }));
    records(&mut scenario, Direction::Down, |_| Some(11 * MS));
    scenario.observe(Client, 6 * SECOND, ProbesSkipped { flow: up, at: TestTime(6 * SECOND), count: 3 });
    let found = scenario.analyze().measured.stream_delay;
    let up = found.up.unwrap();
    assert_eq!((up.idle.unwrap().p50, up.load.unwrap().p50, up.after.unwrap().max), (ms(12), ms(250), ms(12)));
    assert_eq!(up.induced_p50, ms(238));
    let down = found.down.unwrap();
    assert_eq!((down.idle.unwrap().p50, down.load.unwrap().p99), (ms(11), ms(11)));
    let counts: Vec<_> = found.flows.iter().map(|entry| (entry.written, entry.unread, entry.skipped)).collect();
    assert_eq!(counts, [(200, 0, 3), (200, 0, 0)]);
    assert_eq!(found.flows[1].series[0].at, TestTime(MS), "down records stand at the client's time");
    // No packets: neither loss nor a leg of the path is read from them.
    let loss = scenario.analyze().loss.round_trips;
    assert_eq!((loss.sent, loss.lost), (1000, 0));
}

#[test]
fn records_that_never_came_out_are_infinitely_late_and_the_last_ones_are_left_out() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    // The stream stands still from 14 s on.
    records(&mut scenario, Direction::Up, |at| (at < 14 * SECOND).then_some(12 * MS));
    let found = scenario.analyze().measured.stream_delay;
    let up = found.up.unwrap();
    assert_eq!((up.load.unwrap().n, up.load.unwrap().lost), (100, 10));
    assert_eq!((up.load.unwrap().p90, up.load.unwrap().p95), (ms(12), None));
    // Up to 17 s, 3 s before the end: those behind it may still have been on their way.
    assert_eq!((up.after.unwrap().n, found.flows[0].written, found.flows[0].unread), (20, 170, 30));
}

#[test]
fn without_probes_the_clocks_are_apart_and_no_in_stream_delay_is_reported() {
    let mut scenario = Scenario::new();
    records(&mut scenario, Direction::Up, |_| Some(12 * MS));
    let found = scenario.analyze().measured.stream_delay;
    assert!(found.up.is_none() && found.flows.is_empty());
}

#[test]
fn where_a_drift_of_the_clocks_could_be_a_queue_no_in_stream_delay_is_reported() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    // Nothing is answered but under load.
    scenario.probes(probe, |at| (5 * SECOND..15 * SECOND).contains(&at).then_some(20 * MS));
    records(&mut scenario, Direction::Up, |_| Some(12 * MS));
    let analysis = scenario.analyze();
    assert!(analysis.stream_delay.up.is_none() && analysis.stream_delay.flows.is_empty());
}

#[test]
fn each_step_of_a_start_is_reported_by_direction_and_class() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    let starts = [(ServiceClass::BE, 15, 1, 0), (ServiceClass::EF, 45, 3, 2000), (ServiceClass::EF, 25, 2, 500)];
    for (class, connect, first, ramp) in starts {
        let flow = scenario.bulk(Direction::Down);
        scenario.recording.header.flows.last_mut().unwrap().class = class;
        let due = 5 * SECOND;
        scenario.event(Client, flow, -SECOND, FlowEventKind::ConnectStarted, "");
        scenario.event(Client, flow, -SECOND + connect * MS, FlowEventKind::Connected, "");
        // The server's T0 agrees with the client's, and its clock reads the offset more: it starts by its own clock.
        scenario.event(Server, flow, due + first * MS, FlowEventKind::FirstSent, "");
        let received = due + first * MS - CLOCK_OFFSET + 10 * MS;
        scenario.event(Client, flow, received, FlowEventKind::FirstReceived, "");
        // A quarter of its rate until the ramp is over.
        scenario.stream_with(
            flow,
            |at| at,
            |at, from| {
                let slow = (at - from).min(ramp * MS);
                ((slow / 4 + (at - from - slow)) as u64) * 20_000_000 / 8 / SECOND as u64
            },
        );
    }
    let slew = scenario.analyze().measured.start_slew;
    assert!(slew.up.is_none());
    let down = slew.down.unwrap();
    let steps =
        |steps: rrul_analysis::metrics::rate::start_slew::Steps| (steps.n, steps.missing, steps.p50_ns, steps.max_ns);
    assert_eq!(steps(down.pooled.connect), (3, 0, Some(25 * MS), Some(45 * MS)));
    assert_eq!(steps(down.pooled.first_sent), (3, 0, Some(2 * MS), Some(3 * MS)));
    assert_eq!(steps(down.pooled.first_received), (3, 0, Some(12 * MS), Some(13 * MS)));
    // The middle of the first interval of 100 ms with half the rate.
    assert_eq!(steps(down.pooled.half_rate), (3, 0, Some(550 * MS), Some(2050 * MS)));
    let classes: Vec<_> = down.classes.iter().map(|entry| (entry.class, steps(entry.slew.connect))).collect();
    let expected = [
        (ServiceClass::BE, (1, 0, Some(15 * MS), Some(15 * MS))),
        (ServiceClass::EF, (2, 0, Some(25 * MS), Some(45 * MS))),
    ];
    assert_eq!(classes, expected);
}

#[test]
fn a_stream_that_never_starts_is_missing_and_not_fast() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Up);
    scenario.event(Client, flow, -SECOND, FlowEventKind::ConnectStarted, "");
    let up = scenario.analyze().measured.start_slew.up.unwrap();
    for steps in [up.pooled.connect, up.pooled.first_sent, up.pooled.first_received, up.pooled.half_rate] {
        assert_eq!((steps.n, steps.missing, steps.p50_ns, steps.max_ns), (0, 1, None, None));
    }
}

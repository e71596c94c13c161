//! What a server grants of what a client, hostile or not, asks for.

use std::time::Duration;

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameter, Parameters};
use rrul_model::marking::ServiceClass;
use rrul_model::time::{TestTime, Window};
use rrul_proto::control::ClientMessage;
use rrul_proto::limits::{FRAME_OCTETS, Limits, STRING_OCTETS, TURNS_OCTETS};
use rrul_proto::session_reflector::SessionReflector;
use rrul_proto::token::Token;

const SECOND: i64 = 1_000_000_000;
const TEST: Duration = Duration::from_secs(70);

fn flow(id: u16, from: i64, to: i64) -> FlowSpec {
    FlowSpec {
        id: FlowId(id),
        name: format!("bulk_tcp/BE/up/ipv4#{id}"),
        flow_type: "bulk_tcp".to_owned(),
        component: Component::Load,
        direction: Some(Direction::Up),
        family: AddressFamily::Ipv4,
        class: ServiceClass::BE,
        window: Window { from: TestTime(from), to: TestTime(to) },
        parameters: Parameters::default(),
    }
}

fn flows(count: u16) -> Vec<FlowSpec> {
    (0..count).map(|id| flow(id, 0, 70 * SECOND)).collect()
}

fn refusal(flows: &[FlowSpec], length: Duration) -> Option<String> {
    Limits::default().refusal(flows, length)
}

#[test]
fn a_test_within_every_limit_is_granted_to_the_last_flow_and_second() {
    assert_eq!(refusal(&flows(16), TEST), None);
    assert_eq!(refusal(&flows(256), Duration::from_mins(10)), None);
    assert_eq!(refusal(&[], TEST).unwrap(), "a test without a flow");
}

#[test]
fn one_flow_too_many_is_refused_with_both_numbers() {
    assert_eq!(refusal(&flows(257), TEST).unwrap(), "257 flows asked for, this server grants 256");
}

#[test]
fn a_test_that_is_too_long_is_refused_with_both_lengths() {
    let reason = refusal(&flows(1), Duration::from_secs(601)).unwrap();
    assert_eq!(reason, "a test of 601 s asked for, this server grants 600 s");
    assert!(refusal(&flows(1), Duration::from_mins(10) + Duration::from_nanos(1)).is_some());
    assert!(refusal(&flows(1), Duration::MAX).is_some(), "u64::MAX seconds");
    assert!(refusal(&flows(1), Duration::from_secs(u64::MAX)).is_some());
    assert!(refusal(&[], Duration::MAX).is_some(), "even of no flow");
}

#[test]
fn two_flows_of_one_number_are_refused_wherever_they_stand() {
    let mut twice = flows(5);
    twice[4].id = FlowId(1);
    assert_eq!(refusal(&twice, TEST).unwrap(), "two flows have the same number");
}

#[test]
fn a_window_that_is_not_within_the_test_is_refused_by_name() {
    let end = 70 * SECOND;
    let outside = [
        (0, end + 1),
        (0, i64::MAX),
        (-1, end),
        (i64::MIN, end),
        (i64::MIN, i64::MAX),
        (i64::MIN, i64::MIN),
        (i64::MAX, i64::MAX),
        (end, end),
        (5, 5),
        (end, 0),
        (i64::MAX, i64::MIN),
    ];
    for (from, to) in outside {
        let asked = [flow(0, 0, end), flow(7, from, to)];
        let reason = refusal(&asked, TEST);
        assert_eq!(reason.as_deref(), Some("bulk_tcp/BE/up/ipv4#7 does not run within the test"), "{from} to {to}");
    }
    assert_eq!(refusal(&[flow(0, end - 1, end)], TEST), None);
    assert!(refusal(&[flow(0, 0, 1)], Duration::ZERO).is_some());
}

#[test]
fn a_string_that_is_too_long_is_refused_and_not_repeated() {
    let long = |octets: usize| "x".repeat(octets);
    let spoil: [fn(&mut FlowSpec, String); 4] = [
        |flow, text| flow.name = text,
        |flow, text| flow.flow_type = text,
        |flow, text| drop(flow.parameters.0.insert(text, Parameter::Flag(true))),
        |flow, text| drop(flow.parameters.0.insert("congestion_control".to_owned(), Parameter::Text(text))),
    ];
    for spoil in spoil {
        let mut asked = flows(2);
        spoil(&mut asked[1], long(STRING_OCTETS));
        assert_eq!(refusal(&asked, TEST), None);
        spoil(&mut asked[1], long(STRING_OCTETS + 1));
        let reason = refusal(&asked, TEST).unwrap();
        assert_eq!(reason, "a name or value of 65 bytes in a flow, this server takes 64");
    }
    let mut asked = flows(1);
    let turns = |octets| Parameter::Text(long(octets));
    asked[0].parameters.0.insert("turns".to_owned(), turns(TURNS_OCTETS));
    assert_eq!(refusal(&asked, TEST), None);
    asked[0].parameters.0.insert("turns".to_owned(), turns(TURNS_OCTETS + 1));
    assert!(refusal(&asked, TEST).is_some());
}

#[test]
fn a_server_without_a_limit_on_length_still_compares_windows() {
    let limits = Limits { length: Duration::MAX, ..Limits::default() };
    assert_eq!(limits.refusal(&[flow(0, 0, i64::MAX)], Duration::MAX), None);
    assert!(limits.refusal(&[flow(0, 0, 2)], Duration::from_nanos(1)).is_some());
    // 2^63 ns, which does not fit the clock: more than any window may ask for.
    assert_eq!(limits.refusal(&[flow(0, 0, i64::MAX)], Duration::from_nanos(1 << 63)), None);
}

#[test]
fn a_server_that_grants_nothing_refuses_the_first_flow() {
    let limits = Limits { flows: 0, length: Duration::ZERO, ..Limits::default() };
    assert!(limits.refusal(&flows(1), TEST).is_some());
}

#[test]
fn as_many_flows_as_are_granted_fit_into_one_frame() {
    let mut all = flows(Limits::default().flows as u16);
    for flow in &mut all {
        flow.name = format!("bulk_tcp/DSCP63/down/ipv6/variant2#{}", flow.id);
        flow.window = Window { from: TestTime(595 * SECOND - 1), to: TestTime(600 * SECOND - 1) };
        flow.parameters.0.insert("congestion_control".to_owned(), Parameter::Text("cubic".to_owned()));
    }
    let open = ClientMessage::Open {
        flows: all,
        length: Duration::from_mins(10),
        sample_interval: Duration::from_millis(100),
    };
    let octets = serde_json::to_vec(&open).unwrap().len();
    assert!(octets <= FRAME_OCTETS, "{octets} octets, a frame has {FRAME_OCTETS}");
}

#[test]
fn room_for_arrivals_is_bounded_by_what_is_granted() {
    let mut reflector = SessionReflector::new(Token::NONE, &Limits::default());
    for flow in 0..256 {
        reflector.admit(flow, 1e9, None);
    }
    let room = reflector.arrivals.room();
    // Four seconds of what a session may have answered, and a few of each flow: 24 octets each.
    assert_eq!(room, 4 * 8192 + 256 * 64);
    reflector.admit(256, f64::INFINITY, None);
    assert_eq!(reflector.arrivals.room(), room);
}

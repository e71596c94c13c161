//! The course of a test, second by second, while it runs.

use rrul_analysis::live::Course;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{ObservationPoint, OctetsReceived, Tables};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount};

use crate::builder::{MS, SECOND, Scenario, Server, ms};

/// The course after all frames up to this number.
fn until(scenario: &Scenario, number: u32) -> Course {
    let mut course = Course::new(&scenario.recording.header);
    let mut frames: Vec<&Frame> = scenario.recording.frames.iter().filter(|frame| frame.number <= number).collect();
    frames.sort_by_key(|frame| frame.number);
    for frame in frames {
        course.push(frame);
    }
    course
}

#[test]
fn rates_are_the_sum_of_streams_in_each_second_of_the_load() {
    let mut scenario = Scenario::healthy();
    let second = scenario.bulk(Direction::Down);
    scenario.stream(second, 4_000_000);
    let course = until(&scenario, 20);
    let down = course.sum(Direction::Down);
    assert_eq!(down[4], BitRate(0), "before the load");
    assert!(down[5..15].iter().all(|rate| *rate == BitRate(24_000_000)), "{down:?}");
    assert_eq!(down[16], BitRate(0), "after the load");
    let up = course.rates().iter().find(|rate| rate.direction == Direction::Up).expect("one exists");
    assert_eq!((up.streams, course.rate(up)[9]), (1, BitRate(8_000_000)));
}

#[test]
fn a_header_that_claims_an_age_takes_no_room() {
    let mut scenario = Scenario::healthy();
    let last = scenario.recording.header.phases.last_mut().expect("the plan has phases");
    last.window.to = TestTime(i64::MAX);
    let flow = scenario.recording.header.flows.iter().find(|flow| flow.direction == Some(Direction::Down));
    let flow = flow.expect("a stream down").id;
    let mut course = until(&scenario, 20);
    let mut frame = Frame {
        point: ObservationPoint::Client,
        number: 21,
        dropped: 0,
        tables: Tables::default(),
        events: Vec::new(),
    };
    for at in [TestTime(21 * SECOND), TestTime(i64::MAX - 1)] {
        frame.tables.octets_received.push(OctetsReceived { flow, at, octets: ByteCount(1 << 40) });
    }
    course.push(&frame);
    assert!(course.sum(Direction::Down).len() <= 100_000, "{} seconds", course.sum(Direction::Down).len());
}

#[test]
fn a_second_that_is_not_over_has_no_rate() {
    let course = until(&Scenario::healthy(), 8);
    assert_eq!(course.sum(Direction::Down).len(), 8, "the frames of second 8 end within it");
}

#[test]
fn delays_are_reported_by_when_probes_were_sent_and_against_the_idle_line() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| Some(if at < 5 * SECOND { 20 * MS } else { 60 * MS }));
    let course = until(&scenario, 9);
    let cell = &course.cells()[0];
    assert_eq!(cell.idle_median(), ms(20));
    let medians: Vec<_> = cell.seconds().iter().map(|second| second.median).collect();
    assert_eq!((medians[4], medians[5], medians[8]), (ms(20), ms(60), ms(60)));
    let kept = cell.kept(100);
    // (20 + 20) / (60 + 20) of the floors of the composite.
    assert_eq!((kept[3].delay, kept[7].delay), (Some(1.0), Some(0.5)));
    assert_eq!((kept[7].delay_variation, kept[7].loss), (Some(1.0), Some(1.0)));
}

#[test]
fn a_probe_is_open_until_its_waiting_time_is_over_and_then_lost() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| (!(6 * SECOND..6 * SECOND + 200 * MS).contains(&at)).then_some(20 * MS));
    let early = until(&scenario, 8).cells()[0].clone();
    assert_eq!((early.seconds()[6].open, early.seconds()[6].lost), (10, 0));
    assert_eq!(early.kept(100)[6].loss, None, "nothing is reported of a second of which probes are open");
    let late = until(&scenario, 11).cells()[0].clone();
    let second = late.seconds()[6];
    assert_eq!((second.sent, second.open, second.lost, second.median), (50, 0, 10, ms(20)));
    assert!(late.kept(100)[6].loss.expect("it is known") < 0.01, "a fifth was lost");
    assert_eq!(late.losses().gone, 10);
}

#[test]
fn a_reply_that_comes_after_its_probe_was_given_up_takes_the_loss_back() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    let sudden = |at: i64| (6 * SECOND..7 * SECOND).contains(&at);
    scenario.probes(flow, |at| Some(if sudden(at) { 5 * SECOND } else { 20 * MS }));
    let early = until(&scenario, 10).cells()[0].clone();
    assert_eq!((early.seconds()[6].lost, early.seconds()[6].median), (50, None));
    let late = until(&scenario, 14).cells()[0].clone();
    let second = late.seconds()[6];
    assert_eq!((second.sent, second.open, second.lost, second.median), (50, 0, 0, ms(5000)));
    assert_eq!(late.losses().gone, 0);
}

#[test]
fn a_second_in_which_everything_was_lost_has_no_bar_left() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| (!(6 * SECOND..7 * SECOND).contains(&at)).then_some(20 * MS));
    let kept = until(&scenario, 11).cells()[0].kept(100);
    assert_eq!((kept[6].delay, kept[7].delay), (Some(0.0), Some(1.0)));
}

#[test]
fn a_frame_that_is_missing_makes_no_losses() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |_| Some(20 * MS));
    scenario.recording.frames.retain(|frame| frame.number != 7);
    let course = until(&scenario, 20);
    assert_eq!(course.cells()[0].losses().gone, 0);
    assert_eq!(course.cells()[0].seconds()[7].sent, 0);
    assert!(course.cells()[0].seconds().iter().all(|second| second.open == 0), "{:?}", course.cells()[0].seconds());
}

#[test]
fn the_busiest_core_is_that_of_the_latest_second() {
    let mut scenario = Scenario::new();
    scenario.processor(Server, |second| (if second == 9 { 80 } else { 10 }, 0));
    let busiest = |number| until(&scenario, number).busiest_core(ObservationPoint::Server).expect("it is known");
    assert!((busiest(8) - 0.1).abs() < 1e-9 && (busiest(10) - 0.8).abs() < 1e-9, "{} {}", busiest(8), busiest(10));
}

#[test]
fn stamps_of_a_hostile_server_take_no_memory() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Up);
    for at in [0, 6 * SECOND, i64::MAX] {
        let row = OctetsReceived { flow, at: TestTime(at), octets: ByteCount(1 << 40) };
        scenario.observe(Server, at, row);
    }
    let course = until(&scenario, 20);
    assert!(course.sum(Direction::Up).len() <= 50);
    assert!(format!("{course:?}").len() < 100_000);
}

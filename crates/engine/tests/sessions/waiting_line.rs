//! Tests that load the server's line take turns; tests of probes alone do not wait.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use rrul_engine::client::{Families, PlaceInLine, RunError, RunObserver, RunOptions, run};
use rrul_engine::server::{GivingWay, LoadPolicy, Server, ServerOptions};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::{End, Frame, Header};
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, ServerMessage};

use crate::common::{options, plan, record, server};
use crate::stranger::{PATIENCE, Stranger, flows};

const LOAD: &str = "title = \"l\"\nphases = { load = \"500ms\" }\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
    component = \"load\"\n";
const LENGTH: Duration = Duration::from_millis(500);
const PROBES: &str = "title = \"p\"\nphases = { idle = \"300ms\" }\n[flow.p]\ntype = \"udp_probe\"\n\
    component = \"realtime\"\n";

fn over_ipv4(server: &Server, text: &str, wait: bool) -> RunOptions {
    RunOptions { families: Families::Only(AddressFamily::Ipv4), wait, ..options(server, plan(text)) }
}

/// Notes when a test began, and the places in line that it had.
#[derive(Default)]
struct Course {
    begun: Option<Instant>,
    places: Vec<PlaceInLine>,
    partial: Option<String>,
    /// Gets a word once the test is in line, or has begun.
    in_line: Option<Sender<()>>,
}

impl Course {
    fn report(&mut self) {
        if let Some(in_line) = self.in_line.take() {
            in_line.send(()).unwrap();
        }
    }
}

impl RunObserver for Course {
    fn waiting(&mut self, place: PlaceInLine) {
        self.places.push(place);
        self.report();
    }

    fn header(&mut self, _header: &Header) {
        self.begun = Some(Instant::now());
        self.report();
    }

    fn frame(&mut self, _frame: Frame) {}

    fn tick(&mut self, _now: TestTime) {}

    fn end(&mut self, end: &End) {
        self.partial.clone_from(&end.partial);
    }
}

fn course(options: &RunOptions) -> Result<Course, RunError> {
    course_with(options, None)
}

fn course_with(options: &RunOptions, in_line: Option<Sender<()>>) -> Result<Course, RunError> {
    let mut course = Course { in_line, ..Course::default() };
    run(options, &mut course, &AtomicBool::new(false)).map(|()| course)
}

#[test]
fn ten_tests_at_once_complete_in_order_and_their_loads_never_overlap() {
    let server = server();
    let courses = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..10 {
            let (server, courses) = (&server, &courses);
            let (in_line, is_in_line) = mpsc::channel();
            scope.spawn(move || {
                let course = course_with(&over_ipv4(server, LOAD, true), Some(in_line)).unwrap();
                courses.lock().unwrap().push((number, course));
            });
            is_in_line.recv().unwrap();
        }
    });
    let courses = courses.into_inner().unwrap();
    assert_eq!(courses.iter().map(|(number, _)| *number).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert!(courses.iter().all(|(_, course)| course.partial.is_none()), "each is complete");
    let begun: Vec<Instant> = courses.iter().map(|(_, course)| course.begun.unwrap()).collect();
    assert!(begun.windows(2).all(|pair| pair[1] >= pair[0] + LENGTH), "one load after another");
    let last = &courses[9].1.places;
    let positions: Vec<u32> = last.iter().filter_map(|place| place.position).collect();
    assert!(positions.starts_with(&[9]) && positions.ends_with(&[1]) && positions.is_sorted_by(|a, b| a >= b));
    assert!(last[0].longest > 8 * LENGTH, "{last:?}");
}

/// T0 is named on a clock that has run since the session began, and a client in line may have been there for hours.
#[test]
fn a_test_that_has_waited_for_more_than_a_minute_begins() {
    let server = server();
    let slow = LOAD.replace("500ms", "65s") + "pacing_rate = \"2Mbit/s\"\n";
    std::thread::scope(|scope| {
        let first = scope.spawn(|| course(&over_ipv4(&server, &slow, true)).unwrap());
        std::thread::sleep(Duration::from_millis(500));
        let asked = Instant::now();
        let second = course(&over_ipv4(&server, LOAD, true)).unwrap();
        let waited = second.begun.unwrap() - asked;
        assert!(waited > Duration::from_mins(1) && second.partial.is_none(), "{waited:?}, {:?}", second.partial);
        assert_eq!(first.join().unwrap().partial, None);
    });
}

/// A light test that was asked for in the place of the load.
#[test]
fn whoever_has_a_turn_and_only_probes_leaves_it_to_the_next() {
    let server = server();
    let mut first = loading(&server);
    assert!(matches!(first.open(&flows(PROBES), LENGTH), ServerMessage::Opened { .. }));
    let second = course(&over_ipv4(&server, LOAD, false)).unwrap();
    assert_eq!(second.partial, None);
}

/// A session that has its turn.
fn loading(server: &Server) -> Stranger {
    let mut first = Stranger::new(server);
    first.say(&ClientMessage::Turn { length: LENGTH, rate: None, wait: false });
    assert_eq!(first.hear(), ServerMessage::Turn);
    first
}

#[test]
fn who_does_not_wait_gets_one_clear_line_and_probes_alone_need_no_turn() {
    let server = server();
    let first = loading(&server);
    let refused = course(&over_ipv4(&server, LOAD, false)).err().unwrap().to_string();
    assert!(
        refused.ends_with("it is busy with other tests, try again in 5 s, or run without --no-wait to wait in line")
    );
    let probes = course(&over_ipv4(&server, PROBES, false)).unwrap();
    assert_eq!((probes.partial, probes.places.len()), (None, 0));
    drop(first);
    let later = course(&over_ipv4(&server, LOAD, true)).unwrap();
    assert_eq!(later.partial, None);
}

#[test]
fn a_client_that_asks_for_no_turn_is_served_or_refused_at_once() {
    let server = server();
    let mut first = Stranger::new(&server);
    assert!(matches!(first.open(&flows(LOAD), LENGTH), ServerMessage::Opened { .. }));
    let mut second = Stranger::new(&server);
    let ServerMessage::Refused { reason, retry_after } = second.open(&flows(LOAD), LENGTH) else { panic!("granted") };
    assert!(reason.starts_with("it is busy with other tests") && retry_after.is_some(), "{reason}");
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(2);
    while !matches!(Stranger::new(&server).open(&flows(LOAD), LENGTH), ServerMessage::Opened { .. }) {
        assert!(Instant::now() < deadline, "the turn is not given back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_turn_covers_no_longer_test_than_it_was_asked_for_and_no_test_without_a_flow() {
    let server = server();
    let mut longer = loading(&server);
    let ServerMessage::Refused { reason, .. } = longer.open(&flows(LOAD), Duration::from_secs(1)) else {
        panic!("granted")
    };
    assert_eq!(reason, "more load, or longer, than it has asked its turn for");
    let ServerMessage::Refused { reason, .. } = Stranger::new(&server).open(&[], LENGTH) else { panic!("granted") };
    assert_eq!(reason, "a test without a flow");
}

#[test]
fn loads_within_the_operators_egress_run_together() {
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let load = LoadPolicy::Within(100_000_000);
    let server = Server::start(ServerOptions { addresses, port: 0, load, ..ServerOptions::default() }).unwrap();
    let turn = |rate, wait| {
        let mut client = Stranger::new(&server);
        client.say(&ClientMessage::Turn { length: LENGTH, rate, wait });
        let answer = client.hear();
        (client, answer)
    };
    let (_first, granted) = turn(Some(60_000_000), false);
    assert_eq!(granted, ServerMessage::Turn);
    for _ in 0..50 {
        assert!(matches!(turn(Some(60_000_000), false).1, ServerMessage::Refused { .. }), "120 of 100 Mbit/s");
        assert_eq!(server.counts().waits.now, 0, "who hears that it is refused is no longer in the line");
    }
    let (_second, granted) = turn(Some(40_000_000), false);
    assert_eq!(granted, ServerMessage::Turn);
    assert!(matches!(turn(None, true).1, ServerMessage::Queued { position: 1, .. }), "who names no rate has it alone");
}

#[test]
fn each_recording_contains_what_other_sessions_moved_meanwhile() {
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let load = LoadPolicy::Unlimited;
    let server = Server::start(ServerOptions { addresses, port: 0, load, ..ServerOptions::default() }).unwrap();
    let text = "title = \"l\"\nphases = { load = \"3s\" }\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
        component = \"load\"\npacing_rate = \"8Mbit/s\"\n";
    let recorded = || {
        let recording = record(&over_ipv4(&server, text, true)).unwrap();
        let tables = recording.tables_of(ObservationPoint::Server);
        tables.flat_map(|tables| tables.other_sessions.rows()).map(|row| (row.octets, row.packets)).collect::<Vec<_>>()
    };
    let alone = recorded();
    assert!(alone.len() >= 3 && alone.iter().all(|others| *others == (0, 0)), "{alone:?}");
    let both = std::thread::scope(|scope| {
        let threads = [scope.spawn(recorded), scope.spawn(recorded)];
        threads.map(|thread| thread.join().unwrap())
    });
    for others in both {
        // The other's 8 Mbit/s for up to 3 s.
        let (octets, packets) = *others.last().unwrap();
        assert!((1_500_000..4_000_000).contains(&octets) && packets > 50, "{others:?}");
        assert!(others.is_sorted(), "{others:?}");
    }
}

#[test]
fn two_networks_that_take_all_they_can_leave_places_for_others() {
    let addresses = vec![Ipv4Addr::UNSPECIFIED.into()];
    let limits = rrul_engine::server::Limits { sessions: 32, ..Default::default() };
    let server = Server::start(ServerOptions { addresses, port: 0, limits, ..ServerOptions::default() }).unwrap();
    let port = server.addresses()[0].port();
    let open = |network: u8, host: u8| -> Option<Stranger> {
        let from = IpAddr::from([127, 0, network, host]);
        Stranger::try_from((Ipv4Addr::LOCALHOST, port).into(), from)
    };
    let hosts = (1..3).flat_map(|network| (1..100).map(move |host| (network, host)));
    let held: Vec<Stranger> = hosts.filter_map(|(network, host)| open(network, host)).collect();
    assert_eq!(held.len(), 16, "a quarter of the places each");
    assert!(open(3, 1).is_some(), "a third network");
}

#[test]
fn a_network_that_has_had_its_share_gives_way_to_one_that_has_waited() {
    let giving_way = GivingWay { share: Duration::from_secs(1), patience: Duration::from_secs(1) };
    let addresses = vec![Ipv4Addr::UNSPECIFIED.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, giving_way, ..ServerOptions::default() }).unwrap();
    let long = "title = \"l\"\nphases = { load = \"60s\" }\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
        component = \"load\"\npacing_rate = \"8Mbit/s\"\n";
    let port = server.addresses()[0].port();
    let greedy = RunOptions { server: format!("127.0.0.1:{port}"), ..over_ipv4(&server, long, true) };
    std::thread::scope(|scope| {
        let greedy = scope.spawn(|| course(&greedy).unwrap());
        let begun = Instant::now();
        while server.counts().octets == 0 {
            assert!(begun.elapsed() < PATIENCE, "no load");
            std::thread::sleep(Duration::from_millis(20));
        }
        let other = Stranger::try_from((Ipv4Addr::LOCALHOST, port).into(), IpAddr::from([127, 0, 9, 1]));
        let mut other = other.expect("a place");
        let asked = Instant::now();
        other.say(&ClientMessage::Turn { length: LENGTH, rate: None, wait: true });
        while !matches!(other.hear(), ServerMessage::Turn) {
            other.say(&ClientMessage::Alive);
        }
        assert!(asked.elapsed() >= Duration::from_secs(1), "{:?}", asked.elapsed());
        let ended = greedy.join().unwrap().partial.expect("incomplete");
        assert!(ended.starts_with("the server ended the test at "), "{ended}");
    });
}

//! What the reflector answers and what it leaves unanswered, and what the sender takes for an answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};
use rrul_proto::arrival_log::LoggedArrival;
use rrul_proto::limits::Limits;
use rrul_proto::packet_train::{self, TrainKind, TrainPacket};
use rrul_proto::receive_window::ReceiveWindow;
use rrul_proto::session_reflector::{Incoming, SessionReflector, Silence};
use rrul_proto::session_sender::{Answer, Arrival, Identity, SessionSender};
use rrul_proto::test_packet::{FollowUp, Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

const FLOW: u16 = 3;
const TOKEN: Token = Token(*b"a token of tests");
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const EF: u8 = 0xb8;

fn packet(kind: Kind, sequence: u32) -> TestPacket {
    TestPacket::request(kind, FLOW, EF, TOKEN, sequence, 5)
}

/// The packet with random padding up to `length`.
fn octets(packet: &TestPacket, length: usize) -> Vec<u8> {
    let mut octets = vec![0; length];
    Random(9).fill(&mut octets);
    packet.write(&mut octets).expect("room is left");
    octets
}

fn reflector() -> SessionReflector {
    let mut reflector = SessionReflector::new(TOKEN, &Limits::default());
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 10_000.0, None);
    reflector
}

fn from(source: IpAddr) -> Incoming {
    Incoming { source, received: 1_000, octet: EF, hop_limit: None }
}

/// What the reflector makes of these octets; panics unless it is silence that leaves them as they are.
fn silence(reflector: &mut SessionReflector, request: &[u8], incoming: Incoming) -> Silence {
    let mut octets = request.to_vec();
    let silence = reflector.reflect(&mut octets, incoming, || panic!("a stamp for no reply")).expect_err("silence");
    assert_eq!(octets, request, "what is not answered is not changed");
    silence
}

/// The reply to a packet that is answered.
fn reply(reflector: &mut SessionReflector, packet: &TestPacket) -> TestPacket {
    let mut octets = octets(packet, 100);
    reflector.reflect(&mut octets, from(CLIENT), || 2_000).expect("it is answered");
    TestPacket::read(&octets).expect("a reply is a packet")
}

#[test]
fn a_reply_has_the_length_of_its_request_and_its_padding() {
    let mut reflector = reflector();
    for length in LEAST_OCTETS..=1472 {
        let request = octets(&packet(Kind::Test, 1), length);
        let mut octets = request.clone();
        let reply = reflector.reflect(&mut octets, from(CLIENT), || 2_000).unwrap();
        assert_eq!(octets.len(), length);
        assert_eq!(octets[LEAST_OCTETS..], request[LEAST_OCTETS..], "padding of {length} octets");
        assert_eq!((reply.flow, reply.sequence, reply.octet), (FLOW, 1, EF));
    }
}

#[test]
fn a_reply_shows_what_arrived_and_when_and_returns_what_the_sender_wrote() {
    let mut reflector = reflector();
    let mut octets = octets(&packet(Kind::Test, 7), 100);
    let incoming = Incoming { source: CLIENT, received: -40, octet: 0x22, hop_limit: None };
    reflector.reflect(&mut octets, incoming, || -30).unwrap();
    let expected = TestPacket {
        kind: Kind::Reply,
        octet_received: 0x22,
        reflector_count: 1,
        t2: -40,
        t3: -30,
        window: ReceiveWindow { highest: 7, bits: 1 },
        ..packet(Kind::Test, 7)
    };
    assert_eq!(TestPacket::read(&octets), Ok(expected));
}

#[test]
fn an_unproven_source_is_met_with_silence() {
    let mut reflector = reflector();
    let request = octets(&packet(Kind::Test, 0), 100);
    let others =
        [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 8)), IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    for source in others {
        assert_eq!(silence(&mut reflector, &request, from(source)), Silence::UnprovenSource, "{source}");
    }
    reflector.prove(IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert!(reflector.reflect(&mut request.clone(), from(IpAddr::V6(Ipv6Addr::LOCALHOST)), || 0).is_ok());
}

#[test]
fn a_mapped_ipv4_address_is_the_ipv4_address() {
    // A socket for both families shows IPv4 sources in IPv6 form.
    let mapped = IpAddr::V6(Ipv4Addr::new(192, 0, 2, 7).to_ipv6_mapped());
    let request = octets(&packet(Kind::Test, 0), 100);
    assert!(reflector().reflect(&mut request.clone(), from(mapped), || 0).is_ok());
    let mut other_way = SessionReflector::new(TOKEN, &Limits::default());
    other_way.prove(mapped);
    other_way.admit(FLOW, 10_000.0, None);
    assert!(other_way.reflect(&mut request.clone(), from(CLIENT), || 0).is_ok());
}

#[test]
fn a_foreign_token_an_unknown_flow_a_reply_and_a_wrong_length_are_met_with_silence() {
    let mut reflector = reflector();
    let good = packet(Kind::Test, 0);
    let longest = Limits::default().packet_octets as usize;
    let mut damaged = octets(&good, 100);
    damaged[2] = 2;
    let cases = [
        (octets(&TestPacket { token: Token::NONE, ..good }, 100), Silence::NotARequest),
        (octets(&packet(Kind::Reply, 0), 100), Silence::NotARequest),
        (octets(&packet(Kind::GreetingReply, 0), 100), Silence::NotARequest),
        (octets(&packet(Kind::TraceReply, 0), 100), Silence::NotARequest),
        (octets(&good, 100)[..LEAST_OCTETS - 1].to_vec(), Silence::NotARequest),
        (damaged, Silence::NotARequest),
        (Vec::new(), Silence::NotARequest),
        (octets(&TestPacket { flow: FLOW + 1, ..good }, 100), Silence::UnknownFlow),
        (octets(&good, longest + 1), Silence::TooLong),
    ];
    for (request, expected) in &cases {
        assert_eq!(silence(&mut reflector, request, from(CLIENT)), *expected);
    }
    assert_eq!(reply(&mut reflector, &good).reflector_count, 1, "what is not answered is not counted");
}

#[test]
fn two_reflectors_cannot_be_made_to_answer_each_other() {
    let mut reflector = reflector();
    for kind in [Kind::Test, Kind::Greeting, Kind::Trace] {
        let mut octets = octets(&packet(kind, 0), 100);
        reflector.reflect(&mut octets, from(CLIENT), || 0).unwrap();
        assert_eq!(silence(&mut reflector, &octets, from(CLIENT)), Silence::NotARequest, "the reply to a {kind:?}");
    }
}

#[test]
fn more_than_is_granted_is_met_with_silence_until_time_has_passed() {
    let limits = Limits { packets_per_second: 100, ..Limits::default() };
    let mut reflector = SessionReflector::new(TOKEN, &limits);
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 10_000.0, None);
    let mut at = |received: i64| {
        let mut octets = octets(&packet(Kind::Test, 0), 100);
        reflector.reflect(&mut octets, Incoming { source: CLIENT, received, octet: EF, hop_limit: None }, || received)
    };
    // A quarter second's worth at once, and then one every 10 ms.
    let answered = (0..60).filter(|_| at(0).is_ok()).count();
    assert_eq!(answered, 25);
    assert_eq!(at(9_999_999), Err(Silence::TooMany));
    assert!(at(10_000_000).is_ok());
    assert_eq!(at(10_000_000), Err(Silence::TooMany));
}

#[test]
fn a_flow_gets_no_more_answers_than_twice_what_it_declares_and_none_to_a_longer_packet() {
    const SECOND: i64 = 1_000_000_000;
    let mut reflector = SessionReflector::new(TOKEN, &Limits::default());
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 1.0, Some(LEAST_OCTETS));
    reflector.admit(FLOW + 1, 50.0, Some(200));
    let mut at = |flow, now: i64, length: usize| {
        let packet = TestPacket { flow, ..packet(Kind::Test, 0) };
        reflector.reflect(&mut octets(&packet, length), from(CLIENT), || now)
    };
    assert_eq!(at(FLOW, 0, LEAST_OCTETS + 1), Err(Silence::TooLong));
    let answered = (0..60_000).filter(|step| at(FLOW, step * SECOND / 1000, LEAST_OCTETS).is_ok()).count();
    assert!((193..=194).contains(&answered), "{answered} answers in a minute to a flow of one packet a second");
    // The other flow has its own: what it has sent in ten seconds of outage may come at once, and it goes on.
    assert!((0..500).all(|_| at(FLOW + 1, 60 * SECOND, 200).is_ok()));
    assert!((1..500).all(|number| at(FLOW + 1, 60 * SECOND + number * SECOND / 50, 200).is_ok()));
}

#[test]
fn a_question_for_a_name_is_of_a_flow_and_as_frequent_as_that_declares() {
    let mut reflector = SessionReflector::new(TOKEN, &Limits::default());
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 4.0, None);
    assert_eq!(reflector.take_question(FLOW + 1, 60, CLIENT, 0), Err(Silence::UnknownFlow));
    let taken = (0..1000).filter(|_| reflector.take_question(FLOW, 60, CLIENT, 0).is_ok()).count();
    assert_eq!(taken, 4 * 10 + 64);
    assert_eq!(
        reflector.take_question(FLOW, 60, IpAddr::V4(Ipv4Addr::LOCALHOST), 1_000_000_000),
        Err(Silence::UnprovenSource)
    );
    assert_eq!(reflector.take_question(FLOW, 60, CLIENT, 1_000_000_000), Ok(()));
}

fn train_packet(kind: TrainKind, train: u16, sequence: u32) -> Vec<u8> {
    let mut octets = vec![0; packet_train::PACKET_OCTETS];
    TrainPacket { kind, train, arrived: 0, token: TOKEN, sequence, t2: 0 }.write(&mut octets).expect("room is left");
    octets
}

#[test]
fn a_session_sends_a_few_trains_and_gets_no_other_back() {
    let mut reflector = SessionReflector::new(TOKEN, &Limits::default());
    reflector.prove(CLIENT);
    let (mut taken, mut sent_back) = (0, 0);
    for train in 1..=100 {
        let now = i64::from(train) * 1_000_000_000;
        for sequence in 0..3 * u32::from(packet_train::PACKETS) {
            let couple = reflector.couple(&train_packet(TrainKind::Car, train, sequence), from(CLIENT), now);
            taken += u32::from(couple.is_ok());
        }
        let back = reflector.couple(&train_packet(TrainKind::Last, train, 0), from(CLIENT), now);
        sent_back += back.ok().flatten().map_or(0, |train| train.packets.len());
    }
    assert_eq!((taken, sent_back), (8 * 40, 8 * 40));
}

#[test]
fn a_greeting_is_answered_and_not_counted() {
    let mut reflector = reflector();
    let answer = reply(&mut reflector, &packet(Kind::Greeting, 0));
    assert_eq!((answer.kind, answer.reflector_count), (Kind::GreetingReply, 0));
    assert_eq!(reply(&mut reflector, &packet(Kind::Test, 0)).reflector_count, 1);
    assert_eq!(reply(&mut reflector, &packet(Kind::Greeting, 1)).reflector_count, 1);
    assert_eq!(reply(&mut reflector, &packet(Kind::Test, 1)).reflector_count, 2);
}

#[test]
fn a_packet_of_a_trace_is_answered_in_short_with_the_hop_limit_that_it_had_left() {
    let mut reflector = reflector();
    reply(&mut reflector, &packet(Kind::Test, 0));
    let mut request = octets(&packet(Kind::Trace, 7), 1400);
    let incoming = Incoming { source: CLIENT, received: 1_000, octet: 0x22, hop_limit: Some(61) };
    let sent = reflector.reflect(&mut request, incoming, || 2_000).unwrap();
    assert_eq!((sent.length, sent.sequence), (LEAST_OCTETS, 7));
    let answer = TestPacket::read(&request[..sent.length]).unwrap();
    assert_eq!((answer.kind, answer.reflector_count, answer.octet_received), (Kind::TraceReply, 61, 0x22));
    assert_eq!(reply(&mut reflector, &packet(Kind::Test, 1)).reflector_count, 2, "and counted nowhere");
    let untold = reflector.reflect(&mut octets(&packet(Kind::Trace, 8), 100), from(CLIENT), || 0).unwrap();
    assert_eq!(untold.sequence, 8);
}

#[test]
fn only_test_packets_that_are_answered_are_noted() {
    let mut reflector = reflector();
    reply(&mut reflector, &packet(Kind::Greeting, 0));
    silence(&mut reflector, &octets(&packet(Kind::Test, 4), 100), from(IpAddr::V6(Ipv6Addr::LOCALHOST)));
    silence(&mut reflector, &octets(&TestPacket { flow: FLOW + 1, ..packet(Kind::Test, 5) }, 100), from(CLIENT));
    assert_eq!(reply(&mut reflector, &packet(Kind::Greeting, 0)).window, ReceiveWindow::default());
    for sequence in [3, 3, 1] {
        reply(&mut reflector, &packet(Kind::Test, sequence));
    }
    let arrival = |sequence| LoggedArrival { flow: FLOW, sequence, received: 1_000, octet: EF };
    assert_eq!(reflector.arrivals.drain().collect::<Vec<_>>(), [3, 3, 1].map(arrival));
    let window = reply(&mut reflector, &packet(Kind::Test, 4)).window;
    assert_eq!(window, ReceiveWindow { highest: 4, bits: 0b1011 });
}

#[test]
fn the_stamp_of_a_greetings_reply_is_not_reported_as_that_of_a_test_packets() {
    let mut reflector = reflector();
    reply(&mut reflector, &packet(Kind::Greeting, 0));
    reflector.stamped(FLOW, 0, 77);
    assert_eq!(reply(&mut reflector, &packet(Kind::Test, 0)).follow_up, None);
    reflector.stamped(FLOW, 0, 2_500);
    let told = reply(&mut reflector, &packet(Kind::Test, 1)).follow_up;
    assert_eq!(told, Some(FollowUp { sequence: 0, sent: 2_500 }));
}

#[test]
fn a_stamp_for_an_unknown_flow_is_passed_to_no_one() {
    let mut reflector = reflector();
    reply(&mut reflector, &packet(Kind::Test, 0));
    reflector.stamped(FLOW + 1, 0, 2_500);
    assert_eq!(reply(&mut reflector, &packet(Kind::Test, 1)).follow_up, None);
}

/// A sender that has sent packets 0 and 1 of a longer flow.
fn sender() -> SessionSender {
    let identity = Identity { flow: FlowId(FLOW), seal: TOKEN.into(), octet: EF, server_origin: 10_000 };
    let window = Window { from: TestTime(0), to: TestTime(1_000_000_000) };
    let mut sender = SessionSender::new(identity, window, Duration::from_millis(20), 1);
    for _ in 0..2 {
        let due = sender.due().expect("the flow has fifty");
        assert!(sender.send(due, &mut [0; LEAST_OCTETS]).is_some());
    }
    sender
}

const ARRIVAL: Arrival = Arrival { received: TestTime(50_000_000), read: TestTime(50_100_000), octet: EF };

#[test]
fn what_is_no_reply_to_a_packet_sent_is_ignored() {
    let mut sender = sender();
    let good = packet(Kind::Reply, 1);
    let foreign = [
        ("another flow", TestPacket { flow: FLOW + 1, ..good }),
        ("another session", TestPacket { token: Token::NONE, ..good }),
        ("a number never sent", packet(Kind::Reply, 2)),
        ("the highest number", packet(Kind::Reply, u32::MAX)),
        ("its own packet", packet(Kind::Test, 1)),
        ("a greeting", packet(Kind::Greeting, 1)),
        ("the answer to a greeting", packet(Kind::GreetingReply, 1)),
    ];
    for (what, packet) in &foreign {
        // A follow-up in what is ignored must not be remembered either.
        let packet = TestPacket { follow_up: Some(FollowUp { sequence: 0, sent: 1 }), ..*packet };
        assert!(sender.receive(&octets(&packet, 100), ARRIVAL).is_none(), "{what}");
    }
    assert!(sender.receive(&octets(&good, 100)[..LEAST_OCTETS - 1], ARRIVAL).is_none(), "a short packet");
    assert!(sender.receive(&[], ARRIVAL).is_none(), "nothing");
    let told = TestPacket { follow_up: Some(FollowUp { sequence: 0, sent: 12_345 }), ..good };
    let Answer { received, stamped, .. } = sender.receive(&octets(&told, 100), ARRIVAL).unwrap();
    assert_eq!(received.sequence, 1);
    assert_eq!(stamped.map(|stamped| stamped.reflector_sent), Some(TestTime(2_345)), "less the server's origin");
}

#[test]
fn a_follow_up_of_a_number_never_sent_is_ignored_and_the_reply_is_not() {
    let mut sender = sender();
    for sequence in [2, u32::MAX - 1] {
        let reply = TestPacket { follow_up: Some(FollowUp { sequence, sent: 1 }), ..packet(Kind::Reply, 0) };
        let Answer { received, stamped, .. } = sender.receive(&octets(&reply, 100), ARRIVAL).unwrap();
        assert_eq!((received.sequence, stamped), (0, None));
    }
}

#[test]
fn stamps_at_the_ends_of_the_clock_do_not_overflow() {
    let mut sender = sender();
    for (t2, t3) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
        let follow_up = Some(FollowUp { sequence: 0, sent: i64::MIN });
        let reply = TestPacket { t2, t3, follow_up, ..packet(Kind::Reply, 0) };
        let Answer { received, .. } = sender.receive(&octets(&reply, 100), ARRIVAL).unwrap();
        assert_eq!(received.reflector_received, TestTime(t2.saturating_sub(10_000)));
    }
}

#[test]
fn too_little_room_sends_nothing_and_loses_no_number() {
    let mut sender = sender();
    let due = sender.due().unwrap();
    assert!(sender.send(due, &mut [0; LEAST_OCTETS - 1]).is_none());
    assert_eq!(sender.due(), Some(due));
    assert_eq!(sender.send(due, &mut [0; LEAST_OCTETS]).unwrap().sequence, 2);
}

#[test]
fn questions_for_names_are_answered_to_proven_addresses_within_the_cap() {
    let limits = Limits { packets_per_second: 100, packet_octets: 200, ..Limits::default() };
    let mut reflector = SessionReflector::new(TOKEN, &limits);
    assert_eq!(reflector.take_other(80, CLIENT, 0), Err(Silence::UnprovenSource));
    reflector.prove(CLIENT);
    assert_eq!(reflector.take_other(201, CLIENT, 0), Err(Silence::TooLong));
    let granted = (0..50).filter(|_| reflector.take_other(80, CLIENT, 0).is_ok()).count();
    assert_eq!(granted, 25, "a quarter second's worth");
    assert_eq!(reflector.take_other(80, CLIENT, 0), Err(Silence::TooMany));
}

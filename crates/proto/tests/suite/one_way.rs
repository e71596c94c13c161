//! One-way packets from their sender to both kinds of receiver: what is noted, and what is as if it had not come.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use proptest::prelude::*;
use rrul_model::flow::FlowId;
use rrul_model::time::{TestTime, Window};
use rrul_proto::arrival_log::LoggedArrival;
use rrul_proto::limits::Limits;
use rrul_proto::one_way_packet::{LEAST_OCTETS, OneWayPacket};
use rrul_proto::one_way_receiver::OneWayReceiver;
use rrul_proto::one_way_sender::OneWaySender;
use rrul_proto::schedule::periodic_schedule::PeriodicSchedule;
use rrul_proto::session_reflector::{Incoming, SessionReflector, Silence};
use rrul_proto::test_packet::{Kind, TestPacket};
use rrul_proto::token::Token;

const FLOW: u16 = 3;
const TOKEN: Token = Token(*b"a token of tests");
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 8));
const EF: u8 = 0xb8;
const MS: i64 = 1_000_000;

fn sender() -> OneWaySender {
    let window = Window { from: TestTime(0), to: TestTime(10_000 * MS) };
    let schedule = PeriodicSchedule::new(window, Duration::from_millis(10), Duration::from_millis(2), None);
    OneWaySender::new(FlowId(FLOW), TOKEN, EF, schedule)
}

fn reflector(limits: &Limits) -> SessionReflector {
    let mut reflector = SessionReflector::new(TOKEN, limits);
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 10_000.0, None);
    reflector
}

fn from(source: IpAddr) -> Incoming {
    Incoming { source, received: 7_000, octet: EF, hop_limit: None }
}

fn octets(packet: OneWayPacket, length: usize) -> Vec<u8> {
    let mut octets = vec![0; length];
    packet.write(&mut octets).expect("room is left");
    octets
}

const PACKET: OneWayPacket = OneWayPacket { flow: FLOW, octet_sent: EF, token: TOKEN, sequence: 4, to_come: 9 };

#[test]
fn ten_seconds_of_voice_are_a_thousand_packets_counted_down_to_none_to_come() {
    let mut sender = sender();
    let mut receiver = OneWayReceiver::new(FLOW, TOKEN, Duration::from_millis(10), Duration::from_secs(3));
    let mut packet = [0; 92];
    for number in 0..1000 {
        let due = sender.due().expect("one more is due");
        assert_eq!(due, TestTime((2 + i64::from(number) * 10) * MS));
        let row = sender.send(due, &mut packet).expect("room is left");
        assert_eq!((row.flow, row.sequence, row.scheduled), (FlowId(FLOW), number, due));
        assert!(!receiver.is_complete());
        let read = receiver.receive(&packet).expect("it is of this flow");
        assert_eq!((read.sequence, read.to_come, read.octet_sent), (number, 999 - number, EF));
    }
    assert_eq!((sender.due(), sender.send(TestTime(0), &mut packet)), (None, None));
    assert!(receiver.is_complete());
}

#[test]
fn a_stall_leaves_packets_out_whose_numbers_are_never_used() {
    let mut sender = sender();
    let mut packet = [0; 92];
    sender.send(TestTime(2 * MS), &mut packet);
    // Due at 12, 22, ... 992, and the one at 1002 is not before 1002.
    assert_eq!(sender.skip_before(TestTime(1002 * MS)), 99);
    let row = sender.send(TestTime(1002 * MS), &mut packet).expect("room is left");
    assert_eq!((row.sequence, row.scheduled), (1, TestTime(1002 * MS)));
    assert_eq!(OneWayPacket::read(&packet).expect("a packet").to_come, 899, "what was left out will not come");
}

#[test]
fn the_reflector_notes_every_copy_and_answers_none() {
    let mut reflector = reflector(&Limits::default());
    for sequence in [0, 2, 1, 1] {
        let octets = octets(OneWayPacket { sequence, ..PACKET }, 92);
        assert_eq!(reflector.take(&octets, from(CLIENT), 0), Ok(()));
    }
    let mut noted = reflector.arrivals.like();
    reflector.arrivals.exchange(&mut noted);
    let expected = [0, 2, 1, 1].map(|sequence| LoggedArrival { flow: FLOW, sequence, received: 7_000, octet: EF });
    assert_eq!(noted.drain().collect::<Vec<_>>(), expected);
    let mut greeting = vec![0; 100];
    TestPacket::request(Kind::Greeting, FLOW, EF, TOKEN, 0, 0).write(&mut greeting).expect("room is left");
    reflector.reflect(&mut greeting, from(CLIENT), || 0).expect("a greeting is answered");
    let told = TestPacket::read(&greeting).expect("a reply");
    assert_eq!((told.reflector_count, told.window.highest), (4, 2), "a greeting's reply shows what has arrived");
    let one_way = octets(PACKET, 92);
    assert_eq!(reflector.reflect(&mut one_way.clone(), from(CLIENT), || 0), Err(Silence::NotARequest));
}

#[test]
fn strangers_other_sessions_unknown_flows_and_wrong_lengths_are_not_taken() {
    let mut reflector = reflector(&Limits::default());
    let good = octets(PACKET, 92);
    let longest = Limits::default().packet_octets as usize;
    let cases = [
        (good.clone(), STRANGER, Silence::UnprovenSource),
        (octets(OneWayPacket { token: Token::NONE, ..PACKET }, 92), CLIENT, Silence::NotARequest),
        (octets(OneWayPacket { flow: FLOW + 1, ..PACKET }, 92), CLIENT, Silence::UnknownFlow),
        (octets(PACKET, longest + 1), CLIENT, Silence::TooLong),
        (good[..LEAST_OCTETS - 1].to_vec(), CLIENT, Silence::NotARequest),
        (Vec::new(), CLIENT, Silence::NotARequest),
    ];
    for (octets, source, expected) in cases {
        assert_eq!(reflector.take(&octets, from(source), 0), Err(expected));
    }
    assert_eq!(reflector.arrivals.drain().count(), 0, "nothing of it was noted");
    assert_eq!(reflector.take(&good, from(CLIENT), 0), Ok(()));
}

#[test]
fn what_is_taken_and_what_is_sent_unasked_share_one_cap() {
    let mut reflector = reflector(&Limits { packets_per_second: 100, ..Limits::default() });
    let good = octets(PACKET, 92);
    // The bucket has room for a quarter of a second.
    let taken = (0..10).filter(|_| reflector.take(&good, from(CLIENT), 0).is_ok()).count();
    let sent = (0..100).filter(|_| reflector.grant(0)).count();
    assert_eq!((taken, sent), (10, 15));
    assert_eq!(reflector.take(&good, from(CLIENT), 0), Err(Silence::TooMany));
    assert!(reflector.grant(10 * MS), "a hundredth of a second later one more is granted");
}

proptest! {
    #[test]
    fn octets_of_strangers_harm_neither_reflector_nor_receiver(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut receiver = OneWayReceiver::new(FLOW, TOKEN, Duration::ZERO, Duration::MAX);
        prop_assert_eq!(receiver.receive(&octets), None);
        prop_assert!(reflector(&Limits::default()).take(&octets, from(CLIENT), 0).is_err());
    }

    #[test]
    fn any_numbers_are_taken_and_never_complete_a_flow_that_misses_some(
        numbers in prop::collection::vec((any::<u32>(), any::<u32>()), 1..50)
    ) {
        let mut receiver = OneWayReceiver::new(FLOW, TOKEN, Duration::from_millis(10), Duration::from_secs(3));
        for (sequence, to_come) in &numbers {
            receiver.note(*sequence, *to_come);
        }
        // Three hundred packets in a row are needed, unless the last number is small.
        let small = numbers.iter().any(|(sequence, to_come)| *to_come == 0 && *sequence < 50);
        prop_assert!(small || !receiver.is_complete());
    }
}

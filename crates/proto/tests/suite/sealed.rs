//! Packets under a key: the figures are those without one, and neither a forged nor a repeated packet changes them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use proptest::prelude::*;
use rrul_model::flow::FlowId;
use rrul_model::time::{TestTime, Window};
use rrul_proto::limits::Limits;
use rrul_proto::one_way_packet::OneWayPacket;
use rrul_proto::one_way_receiver::OneWayReceiver;
use rrul_proto::packet_seal::replay_window::COPIES_IN_A_ROW;
use rrul_proto::packet_seal::{PacketSeal, PacketSecrets};
use rrul_proto::packet_train::{TrainKind, TrainPacket};
use rrul_proto::session_reflector::{Incoming, Reply, SessionReflector, Silence};
use rrul_proto::session_sender::{Arrival, Identity, SessionSender};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

use crate::campaign::config;
use crate::strategies::{nearly, packet_octets, test_packet};
use crate::virtual_link::{MILLISECOND, Scenario, Way, run};

const FLOW: u16 = 3;
const TOKEN: Token = Token(*b"a token of tests");
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const SECRETS: PacketSecrets = PacketSecrets { up: [1; 32], down: [2; 32] };

fn client() -> PacketSeal {
    PacketSeal::of_client(TOKEN, Some(&SECRETS))
}

fn server() -> PacketSeal {
    PacketSeal::of_server(TOKEN, Some(&SECRETS))
}

fn reflector(limits: &Limits) -> SessionReflector {
    let mut reflector = SessionReflector::new(server(), limits);
    reflector.prove(CLIENT);
    reflector.admit(FLOW, 10_000.0, None);
    reflector
}

const INCOMING: Incoming = Incoming { source: CLIENT, received: 1_000, octet: 0, hop_limit: None };

fn sealed(packet: &TestPacket) -> Vec<u8> {
    let mut octets = packet_octets(packet, 20);
    client().seal(&mut octets);
    octets
}

fn test(sequence: u32) -> TestPacket {
    TestPacket::request(Kind::Test, FLOW, 0, TOKEN, sequence, 5)
}

fn reflect(reflector: &mut SessionReflector, octets: &[u8], now: i64) -> Result<(Reply, TestPacket), Silence> {
    let mut octets = octets.to_vec();
    let reply = reflector.reflect(&mut octets, INCOMING, || now)?;
    assert!(client().opens(&octets[..reply.length]), "every reply is sealed");
    Ok((reply, TestPacket::read(&octets).expect("a reply is a packet")))
}

#[test]
fn a_minute_over_a_rough_link_gives_the_figures_of_plain_packets() {
    let rough = Way { variation: 300 * MILLISECOND, loses_one_in: 10, doubles_one_in: 4, ..Way::of(7 * MILLISECOND) };
    let scenario = Scenario { up: rough, down: rough, ..Scenario::sixty_seconds() };
    let (plain, sealed) = (run(&scenario), run(&Scenario { sealed: true, ..scenario }));
    assert!(plain.doubled_up > 500 && plain.doubled_down > 500);
    assert_eq!(sealed.arrivals, plain.arrivals);
    assert_eq!((sealed.stamped, sealed.windows), (plain.stamped, plain.windows));
    let replies = |received: Vec<(_, _)>| received.into_iter().map(|(reply, _)| reply).collect::<Vec<_>>();
    assert_eq!(replies(sealed.received), replies(plain.received));
}

#[test]
fn what_bears_no_tag_of_the_client_is_not_answered_and_takes_nothing_from_the_cap() {
    let limits = Limits { packets_per_second: 100, ..Limits::default() };
    let mut reflector = reflector(&limits);
    let good = sealed(&test(0));
    let (_, first) = reflect(&mut reflector, &good, 0).unwrap();
    let mut sent_back = packet_octets(&test(1), 20);
    server().seal(&mut sent_back);
    let mut changed = good.clone();
    changed[27] ^= 1;
    let forged = [packet_octets(&test(1), 20), sent_back, changed, good[..90].to_vec()];
    for octets in forged.iter().cycle().take(10_000) {
        assert_eq!(reflect(&mut reflector, octets, 0).unwrap_err(), Silence::Forged);
    }
    let answered = (1..60).map_while(|number| reflect(&mut reflector, &sealed(&test(number)), 0).ok());
    let answered: Vec<_> = answered.map(|(_, packet)| packet.reflector_count).collect();
    assert_eq!(first.reflector_count, 1);
    assert_eq!(answered, (2..=25).collect::<Vec<u32>>(), "a quarter second's worth");
    assert_eq!(
        reflector.arrivals.drain().map(|arrival| arrival.sequence).collect::<Vec<_>>(),
        (0..25).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_repeated_counts_as_a_copy_a_few_times_and_keeps_out_no_packet() {
    let limits = Limits { packets_per_second: 100, ..Limits::default() };
    let mut reflector = reflector(&limits);
    let captured = sealed(&test(0));
    reflect(&mut reflector, &captured, 0).unwrap();
    let copies: Vec<_> = (0..1000).map(|_| reflect(&mut reflector, &captured, 0)).collect();
    let taken = copies.iter().filter(|copy| copy.is_ok()).count();
    assert_eq!(taken as u32, COPIES_IN_A_ROW);
    assert!(copies[taken..].iter().all(|copy| copy.as_ref().is_err_and(|silence| *silence == Silence::Replayed)));
    let packets = (1..60).filter(|number| reflect(&mut reflector, &sealed(&test(*number)), 0).is_ok()).count();
    assert_eq!(packets, 24, "the copies have used up nothing of a quarter second's 25");
    let mut plain = SessionReflector::new(TOKEN, &limits);
    plain.prove(CLIENT);
    plain.admit(FLOW, 10_000.0, None);
    let mut answered = |sequence| plain.reflect(&mut packet_octets(&test(sequence), 20), INCOMING, || 0).is_ok();
    assert_eq!((0..1001).filter(|_| answered(0)).count(), 25);
    assert!(!(1..60).any(answered), "as they do where packets are not sealed");
}

#[test]
fn a_greeting_is_answered_once() {
    let mut reflector = reflector(&Limits::default());
    let seal = client();
    let greeting = || {
        let mut octets = packet_octets(&seal.greeting(FLOW, 0), 20);
        seal.seal(&mut octets);
        octets
    };
    let (first, second) = (greeting(), greeting());
    assert_eq!(reflect(&mut reflector, &second, 0).unwrap().1.kind, Kind::GreetingReply);
    for old in [&first, &second] {
        assert_eq!(reflect(&mut reflector, old, 0).unwrap_err(), Silence::Replayed);
    }
    assert!(reflect(&mut reflector, &greeting(), 0).is_ok());
}

#[test]
fn a_sender_takes_sealed_replies_and_each_a_few_times() {
    let mut reflector = reflector(&Limits::default());
    let identity = Identity { flow: FlowId(FLOW), seal: client(), octet: 0, server_origin: 0 };
    let window = Window { from: TestTime(0), to: TestTime(1_000_000_000) };
    let mut sender = SessionSender::new(identity, window, Duration::from_millis(20), 1);
    let mut octets = [0; 100];
    sender.send(TestTime(0), &mut octets).unwrap();
    let request = octets;
    reflector.reflect(&mut octets, INCOMING, || 2_000).unwrap();
    let arrival = Arrival { received: TestTime(9), read: TestTime(9), octet: 0 };
    let mut forged = octets;
    TestPacket { t2: 77, token: TOKEN, ..TestPacket::read(&octets).unwrap() }.write(&mut forged).unwrap();
    assert!(sender.receive(&forged, arrival).is_none() && sender.receive(&request, arrival).is_none());
    let taken = (0..1000).filter(|_| sender.receive(&octets, arrival).is_some()).count();
    assert_eq!(taken as u32, 1 + COPIES_IN_A_ROW);
}

#[test]
fn one_way_packets_are_sealed_in_both_directions() {
    let packet = OneWayPacket { flow: FLOW, octet_sent: 0, token: TOKEN, sequence: 4, to_come: 9 };
    let of = |seal: &PacketSeal| {
        let mut octets = [0; 92];
        packet.write(&mut octets).unwrap();
        seal.seal(&mut octets);
        octets
    };
    let mut reflector = reflector(&Limits::default());
    assert_eq!(reflector.take(&of(&server()), INCOMING, 0), Err(Silence::Forged), "the server's own, sent back");
    assert_eq!(reflector.take(&of(&TOKEN.into()), INCOMING, 0), Err(Silence::Forged));
    let taken = (0..1000).filter(|_| reflector.take(&of(&client()), INCOMING, 0).is_ok()).count();
    assert_eq!(taken as u32, 1 + COPIES_IN_A_ROW);
    let mut receiver = OneWayReceiver::new(FLOW, client(), Duration::from_millis(10), Duration::from_secs(1));
    assert_eq!(receiver.receive(&of(&client())), None);
    let taken = (0..1000).filter(|_| receiver.receive(&of(&server())).is_some()).count();
    assert_eq!(taken as u32, 1 + COPIES_IN_A_ROW);
}

#[test]
fn a_train_has_each_of_its_packets_once() {
    let mut reflector = reflector(&Limits::default());
    let mut send = |kind, sequence, seal: &PacketSeal| {
        let mut octets = [0; 1200];
        TrainPacket { kind, train: 1, arrived: 0, token: TOKEN, sequence, t2: 0 }.write(&mut octets).unwrap();
        seal.seal(&mut octets);
        reflector.couple(&octets, INCOMING, 0)
    };
    for sequence in 0..10 {
        assert_eq!(send(TrainKind::Car, sequence, &TOKEN.into()), Err(Silence::Forged));
        assert_eq!(send(TrainKind::Car, sequence, &client()), Ok(None));
        assert_eq!(send(TrainKind::Car, sequence, &client()), Err(Silence::Replayed));
    }
    let back = send(TrainKind::Last, 0, &client()).unwrap().expect("a train");
    assert_eq!(back.packets.len(), 10);
    assert!(back.packets.iter().all(|packet| packet.token == TOKEN), "to be sealed again");
    assert_eq!(send(TrainKind::Last, 0, &client()), Ok(None));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_octets_are_opened_only_as_they_were_sealed(
        packet in test_packet(),
        padding in 0..100_usize,
        others in nearly((test_packet(), 0..100_usize).prop_map(|(packet, padding)| packet_octets(&packet, padding))),
        place in 0..LEAST_OCTETS,
        change in 1..=u8::MAX,
    ) {
        let mut octets = packet_octets(&TestPacket { token: TOKEN, ..packet }, padding);
        client().seal(&mut octets);
        prop_assert!(server().opens(&octets) && !client().opens(&octets));
        prop_assert!(!server().opens(&others) || others == octets);
        octets[place] ^= change;
        prop_assert!(!server().opens(&octets));
        let mut reflector = reflector(&Limits::default());
        let mut others = others;
        prop_assert!(reflector.reflect(&mut others, INCOMING, || 0).is_err());
    }
}

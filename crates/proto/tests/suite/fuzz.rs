//! Any octets may arrive: no decoder panics, what is encoded reads back, and no reply is longer than its request.

use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;

use crate::campaign::config;
use crate::strategies::{
    client_message, client_opening, nearly, packet_octets, server_message, server_opening, test_packet, token,
};
use rrul_model::flow::FlowId;
use rrul_model::time::{TestTime, Window};
use rrul_proto::control::{ClientMessage, FRAME_HEADER_OCTETS, FrameHeader, ServerMessage};
use rrul_proto::limits::{FRAME_OCTETS, Limits};
use rrul_proto::name_question::{Question, RecordKind};
use rrul_proto::name_responder::{Asked, MOST_ADDED};
use rrul_proto::opening::{CLIENT_OCTETS, ClientOpening, SERVER_OCTETS, ServerOpening, agreed_version};
use rrul_proto::session_name::SessionName;
use rrul_proto::session_reflector::{Incoming, Reply, SessionReflector, Silence};
use rrul_proto::session_sender::{Answer, Arrival, Identity, SessionSender};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;
use rrul_proto::{HIGHEST_VERSION, LOWEST_VERSION, MAGIC};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_client_opening_reads_back(opening in client_opening()) {
        prop_assert_eq!(ClientOpening::decode(&opening.encode()), Ok(opening));
    }

    #[test]
    fn any_octets_for_a_client_opening_are_read_or_refused(octets in any::<[u8; CLIENT_OCTETS]>(), marked: bool) {
        let mut octets = octets;
        if marked {
            octets[..4].copy_from_slice(&MAGIC);
        }
        if let Ok(opening) = ClientOpening::decode(&octets) {
            prop_assert!(marked || octets[..4] == MAGIC);
            prop_assert_eq!(ClientOpening::decode(&opening.encode()), Ok(opening));
        }
    }

    #[test]
    fn the_agreed_version_is_spoken_by_both(opening in client_opening()) {
        let both = |version: &u8| {
            (LOWEST_VERSION..=HIGHEST_VERSION).contains(version) && (opening.lowest..=opening.highest).contains(version)
        };
        prop_assert_eq!(agreed_version(&opening), (0..=u8::MAX).rev().find(both));
    }

    #[test]
    fn a_server_opening_reads_back(opening in server_opening()) {
        prop_assert_eq!(ServerOpening::decode(&opening.encode()), Ok(opening));
    }

    #[test]
    fn any_octets_for_a_server_opening_are_read_or_refused(octets in any::<[u8; SERVER_OCTETS]>(), marked: bool) {
        let mut octets = octets;
        if marked {
            octets[..4].copy_from_slice(&MAGIC);
        }
        if let Ok(opening) = ServerOpening::decode(&octets) {
            prop_assert_eq!(opening.encode(), octets, "every octet has a meaning");
            prop_assert!(!opening.version_message().is_empty());
        }
    }

    #[test]
    fn a_frame_header_is_read_only_when_it_announces_no_more_than_a_frame(octets in any::<[u8; FRAME_HEADER_OCTETS]>()) {
        match FrameHeader::decode(octets) {
            Ok(header) => {
                prop_assert!(header.length <= FRAME_OCTETS);
                prop_assert_eq!(header.encode().expect("short enough"), octets);
            }
            Err(_) => prop_assert!((u32::from_be_bytes(octets) << 1 >> 1) as usize > FRAME_OCTETS),
        }
    }

    #[test]
    fn a_frame_header_reads_back(length in 0..=FRAME_OCTETS, compressed: bool) {
        let header = FrameHeader { length, compressed };
        prop_assert_eq!(FrameHeader::decode(header.encode().expect("short enough")).expect("short enough"), header);
    }

    #[test]
    fn a_client_message_reads_back(message in client_message()) {
        let text = serde_json::to_vec(&message).expect("any message has a form");
        prop_assert_eq!(serde_json::from_slice::<ClientMessage>(&text).expect("it is ours"), message);
    }

    #[test]
    fn a_server_message_reads_back(message in server_message()) {
        let text = serde_json::to_vec(&message).expect("any message has a form");
        prop_assert_eq!(serde_json::from_slice::<ServerMessage>(&text).expect("it is ours"), message);
    }

    #[test]
    fn any_octets_for_a_client_message_are_read_or_refused(
        octets in nearly(client_message().prop_map(|message| serde_json::to_vec(&message).expect("it has a form"))),
    ) {
        if let Ok(ClientMessage::Open { flows, length, .. }) = serde_json::from_slice(&octets) {
            // What could be read is judged without a panic too.
            if let Some(reason) = Limits::default().refusal(&flows, length) {
                prop_assert!(reason.len() <= octets.len() + 100, "a reason fits into a frame when the request did");
            }
        }
    }

    #[test]
    fn any_octets_for_a_server_message_are_read_or_refused(
        octets in nearly(server_message().prop_map(|message| serde_json::to_vec(&message).expect("it has a form"))),
    ) {
        if let Ok(ServerMessage::Observed(frame)) = serde_json::from_slice(&octets) {
            prop_assert_eq!(frame.tables.probe_received.rows().count(), frame.tables.probe_received.len());
        }
    }

    #[test]
    fn a_test_packet_reads_back_and_leaves_its_padding_alone(packet in test_packet(), padding in 0..100_usize) {
        let octets = packet_octets(&packet, padding);
        prop_assert_eq!(TestPacket::read(&octets), Ok(packet));
        prop_assert!(octets[LEAST_OCTETS..].iter().all(|octet| *octet == 0xa5));
    }

    #[test]
    fn any_octets_are_reflected_at_their_own_length_or_not_at_all(
        octets in nearly((test_packet(), 0..1500_usize).prop_map(|(packet, padding)| packet_octets(&packet, padding))),
        token in token(),
        know_token: bool,
        know_flow: bool,
        proven: bool,
        received: i64,
        sent: i64,
        hop_limit: Option<u8>,
    ) {
        let source = IpAddr::from([192, 0, 2, 7]);
        let asked = TestPacket::read(&octets);
        let token = asked.as_ref().ok().filter(|_| know_token).map_or(token, |asked| asked.token);
        let mut reflector = SessionReflector::new(token, &Limits::default());
        if proven {
            reflector.prove(source);
        }
        if let Ok(asked) = asked.as_ref() && know_flow {
            reflector.admit(asked.flow, 10_000.0, None);
        }
        let mut answer = octets.clone();
        let outcome = reflector.reflect(&mut answer, Incoming { source, received, octet: 0, hop_limit }, || sent);
        prop_assert_eq!(answer.len(), octets.len());
        prop_assert!(proven || outcome == Err(Silence::UnprovenSource));
        if let Ok(reply) = outcome {
            let (asked, answer) = (asked.expect("answered"), TestPacket::read(&answer).expect("a packet"));
            let length = if asked.kind == Kind::Trace { LEAST_OCTETS } else { octets.len() };
            let expected = Reply { flow: asked.flow, sequence: asked.sequence, octet: asked.octet_sent, sent, length };
            prop_assert_eq!(reply, expected);
            prop_assert!(matches!(asked.kind, Kind::Test | Kind::Greeting | Kind::Trace));
            prop_assert!(matches!(answer.kind, Kind::Reply | Kind::GreetingReply | Kind::TraceReply));
            prop_assert_eq!((answer.t1, answer.t2, answer.t3), (asked.t1, received, sent));
        } else {
            prop_assert_eq!(answer, octets, "what is not answered is not changed");
        }
    }

    #[test]
    fn a_sender_takes_any_octets_and_reports_only_what_it_sent(
        octets in nearly((test_packet(), 0..100_usize).prop_map(|(packet, padding)| packet_octets(&packet, padding))),
        ours: bool,
        packets in 0..10_u32,
        server_origin: i64,
        received: i64,
    ) {
        let (flow, token) = (FlowId(3), Token([7; 16]));
        let mut octets = octets;
        if let Ok(mut packet) = TestPacket::read(&octets) && ours {
            packet = TestPacket { flow: flow.0, token, sequence: packet.sequence % 12, kind: Kind::Reply, ..packet };
            packet.write(&mut octets).expect("it was read from them");
        }
        let window = Window { from: TestTime(0), to: TestTime(1_000_000_000) };
        let identity = Identity { flow, seal: token.into(), octet: 0, server_origin };
        let mut sender = SessionSender::new(identity, window, Duration::from_millis(20), 1);
        for _ in 0..packets {
            sender.send(TestTime(0), &mut [0; LEAST_OCTETS]);
        }
        let arrival = Arrival { received: TestTime(received), read: TestTime(received), octet: 0 };
        match (sender.receive(&octets, arrival), TestPacket::read(&octets)) {
            (Some(Answer { received: reply, stamped, window }), Ok(packet)) => {
                prop_assert_eq!((reply.sequence, packet.token, packet.kind), (packet.sequence, token, Kind::Reply));
                prop_assert!(reply.sequence < packets);
                prop_assert!(stamped.is_none_or(|stamped| stamped.sequence < packets));
                prop_assert!(window.is_none_or(|window| (reply.sequence..packets).contains(&window.highest)));
            }
            (None, Ok(packet)) => prop_assert!(!ours || packet.sequence >= packets),
            (reply, Err(_)) => prop_assert!(reply.is_none()),
        }
    }

    #[test]
    fn any_octets_for_a_question_are_answered_with_little_more_or_not_at_all(
        octets in nearly((token(), any::<u16>(), "[a-z0-9]{1,63}", any::<u16>(), any::<bool>()).prop_map(
            |(token, flow, label, id, v6)| {
                let name = SessionName { label: &label, flow, token }.to_string();
                Question::new(id, &name, RecordKind::ALL[usize::from(v6)]).expect("it is a name").encode()
            },
        )),
        address: IpAddr,
    ) {
        if let Some(asked) = Asked::read(&octets) {
            let answer = asked.answer(address);
            prop_assert!(answer.len() <= octets.len() + MOST_ADDED, "{} octets for {}", answer.len(), octets.len());
            prop_assert!(Asked::read(&answer).is_none(), "an answer is never answered");
        }
    }

    #[test]
    fn any_octets_for_an_answer_are_read_only_with_the_questions_id(
        octets in nearly((any::<u16>(), any::<bool>()).prop_map(|(id, v6)| {
            let (name, kind) = (SessionName { label: "k3", flow: 4, token: Token([7; 16]) }.to_string(), RecordKind::ALL[usize::from(v6)]);
            let question = Question::new(id, &name, kind).expect("it is a name").encode();
            let address = if v6 { IpAddr::from([1_u16; 8]) } else { IpAddr::from([192, 0, 2, 1]) };
            Asked::read(&question).expect("it is ours").answer(address)
        })),
        id: u16,
        same: bool,
    ) {
        let there = octets.first_chunk().map(|octets| u16::from_be_bytes(*octets));
        let id = there.filter(|_| same).unwrap_or(id);
        let name = SessionName { label: "k3", flow: 4, token: Token([7; 16]) }.to_string();
        for kind in RecordKind::ALL {
            let question = Question::new(id, &name, kind).expect("it is a name");
            if let Some(answer) = question.answer(&octets) {
                prop_assert_eq!(there, Some(id));
                prop_assert!(answer.addresses.iter().all(|found| found.is_ipv4() == (kind == RecordKind::A)));
            }
        }
    }
}

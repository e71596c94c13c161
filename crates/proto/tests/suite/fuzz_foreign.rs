//! Octets of strangers beside the test packets: ICMP messages that quote a packet, trains, one-way packets, stamps in responses,
//! and names and connection identifiers that carry a session.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;

use rrul_proto::exchange_stamps::{ExchangeStamps, STAMP_OCTETS};
use rrul_proto::icmp_error::{Quote, read_ipv4, read_ipv6};
use rrul_proto::one_way_packet::{self, OneWayPacket};
use rrul_proto::packet_train::{self, TrainKind, TrainPacket};
use rrul_proto::session_name::{CONNECTION_ID_OCTETS, SessionName, connection_id, initial_of, read_connection_id};

use crate::campaign::config;
use crate::strategies::{nearly, token};

/// An IPv4 packet, its header as long as it says, of which UDP or something else is the content.
fn ipv4_packet() -> impl Strategy<Value = Vec<u8>> {
    (5..16_u8, any::<u8>(), prop_oneof![3 => Just(17_u8), 1 => any::<u8>()], vec(any::<u8>(), 0..120)).prop_map(
        |(words, octet, protocol, content)| {
            let mut octets = vec![0; usize::from(words) * 4];
            octets[0] = 0x40 | words;
            (octets[1], octets[8], octets[9]) = (octet, 1, protocol);
            octets.extend(content);
            octets
        },
    )
}

/// The one's complement of the one's complement sum (RFC 1071).
fn checksum(octets: &[u8]) -> [u8; 2] {
    let mut sum: u64 =
        octets.chunks(2).map(|two| u64::from(two[0]) << 8 | two.get(1).map_or(0, |low| u64::from(*low))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// An ICMP message about a packet, whose checksum is right.
fn icmp_message() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![3 => prop::sample::select(vec![3_u8, 11, 12]), 1 => any::<u8>()];
    (kind, any::<u8>(), any::<[u8; 4]>(), nearly(ipv4_packet())).prop_map(|(kind, code, rest, quoted)| {
        let mut message = vec![kind, code, 0, 0];
        message.extend(rest);
        message.extend(quoted);
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum);
        message
    })
}

/// The same as a raw socket has it, behind an IPv4 header.
fn icmp_packet() -> impl Strategy<Value = Vec<u8>> {
    (5..16_u8, icmp_message()).prop_map(|(words, message)| {
        let mut octets = vec![0; usize::from(words) * 4];
        octets[0] = 0x40 | words;
        octets.extend(message);
        octets
    })
}

/// An ICMPv6 message that quotes a packet of UDP, perhaps behind the header of a fragment.
fn icmpv6_message() -> impl Strategy<Value = Vec<u8>> {
    (0..6_u8, any::<[u8; 4]>(), any::<bool>(), any::<[u8; 32]>(), vec(any::<u8>(), 0..120)).prop_map(
        |(kind, rest, fragment, addresses, content)| {
            let mut message = vec![kind, 0, 0, 0];
            message.extend(rest);
            message.extend([0x60, 0, 0, 0, 0, 0, if fragment { 44 } else { 17 }, 1]);
            message.extend(addresses);
            if fragment {
                message.extend([17, 0, 0, 0, 0, 0, 0, 1]);
            }
            message.extend(content);
            message
        },
    )
}

/// What is quoted is part of the message, and no more of it than the packet had.
fn quoted_from(quote: &Quote<'_>, message: &[u8]) -> bool {
    quote.payload.len() <= quote.payload_length
        && (quote.payload.is_empty() || message.windows(quote.payload.len()).any(|window| window == quote.payload))
}

/// A packet of a train, written.
fn train_packet() -> impl Strategy<Value = (TrainPacket, Vec<u8>)> {
    let kind = prop::sample::select(vec![TrainKind::Car, TrainKind::Last, TrainKind::Back]);
    (kind, any::<[u16; 2]>(), token(), any::<u32>(), any::<i64>(), 0..100_usize).prop_map(
        |(kind, [train, arrived], token, sequence, t2, padding)| {
            let packet = TrainPacket { kind, train, arrived, token, sequence, t2 };
            let mut octets = vec![0xa5; packet_train::LEAST_OCTETS + padding];
            packet.write(&mut octets).expect("room is left");
            (packet, octets)
        },
    )
}

/// A one-way packet, written.
fn one_way_packet() -> impl Strategy<Value = (OneWayPacket, Vec<u8>)> {
    (any::<u16>(), any::<u8>(), token(), any::<[u32; 2]>(), 0..100_usize).prop_map(
        |(flow, octet_sent, token, [sequence, to_come], padding)| {
            let packet = OneWayPacket { flow, octet_sent, token, sequence, to_come };
            let mut octets = vec![0xa5; one_way_packet::LEAST_OCTETS + padding];
            packet.write(&mut octets).expect("room is left");
            (packet, octets)
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_octets_for_an_icmp_message_are_read_or_nobodys(octets in nearly(icmp_packet())) {
        if let Some(error) = read_ipv4(&octets) {
            prop_assert!(matches!(error.kind, 3 | 11 | 12));
            prop_assert!(error.mtu == 0 || (error.kind, error.code) == (3, 4));
            prop_assert!(error.quote.destination.is_ipv4() && quoted_from(&error.quote, &octets));
        }
    }

    #[test]
    fn any_octets_for_an_icmpv6_message_are_read_or_nobodys(octets in nearly(icmpv6_message())) {
        if let Some(error) = read_ipv6(&octets) {
            prop_assert!((1..=4).contains(&error.kind) && (error.mtu == 0 || error.kind == 2));
            prop_assert!(matches!(error.quote.destination, IpAddr::V6(_)) && quoted_from(&error.quote, &octets));
        }
    }

    #[test]
    fn a_packet_of_a_train_reads_back((packet, octets) in train_packet()) {
        prop_assert_eq!(TrainPacket::read(&octets), Ok(packet));
    }

    #[test]
    fn any_octets_for_a_packet_of_a_train_are_read_or_refused(octets in nearly(train_packet().prop_map(|(_, octets)| octets))) {
        if let Ok(packet) = TrainPacket::read(&octets) {
            let mut again = octets.clone();
            packet.write(&mut again).expect("it was read from as many");
            prop_assert_eq!(TrainPacket::read(&again), Ok(packet));
        }
    }

    #[test]
    fn a_one_way_packet_reads_back((packet, octets) in one_way_packet()) {
        prop_assert_eq!(OneWayPacket::read(&octets), Ok(packet));
    }

    #[test]
    fn any_octets_for_a_one_way_packet_are_read_or_refused(octets in nearly(one_way_packet().prop_map(|(_, octets)| octets))) {
        if let Ok(packet) = OneWayPacket::read(&octets) {
            let mut again = octets.clone();
            packet.write(&mut again).expect("it was read from as many");
            prop_assert_eq!(OneWayPacket::read(&again), Ok(packet));
        }
    }

    #[test]
    fn any_octets_of_a_response_carry_stamps_or_none(octets in vec(any::<u8>(), 0..2 * STAMP_OCTETS), stamps: [i64; 2]) {
        let carried = octets.len() >= STAMP_OCTETS && octets[..STAMP_OCTETS].iter().any(|octet| *octet != 0);
        prop_assert_eq!(ExchangeStamps::read(&octets).is_some(), carried);
        let [received, sent] = stamps;
        let (stamps, mut octets) = (ExchangeStamps { received, sent }, octets);
        stamps.write(&mut octets);
        if octets.len() >= STAMP_OCTETS && (received, sent) != (0, 0) {
            prop_assert_eq!(ExchangeStamps::read(&octets), Some(stamps));
        }
    }

    #[test]
    fn any_text_for_a_name_is_a_sessions_or_nobodys(
        octets in nearly((token(), any::<u16>(), "[a-zA-Z0-9-]{0,64}").prop_map(|(token, flow, label)| {
            SessionName { label: &label, flow, token }.to_string().into_bytes()
        })),
    ) {
        let text = String::from_utf8_lossy(&octets);
        if let Some(name) = SessionName::read(&text) {
            let again = name.to_string();
            prop_assert_eq!(SessionName::read(&again), Some(name));
        }
    }

    #[test]
    fn any_octets_for_the_first_packet_of_quic_are_a_sessions_or_nobodys(
        octets in nearly((token(), any::<[u16; 2]>(), vec(any::<u8>(), 0..60)).prop_map(|(token, [flow, random], rest)| {
            let mut octets = vec![0xc0, 0, 0, 0, 1, CONNECTION_ID_OCTETS as u8];
            octets.extend(connection_id(token, flow, random));
            octets.extend(rest);
            octets
        })),
    ) {
        if let Some(session) = initial_of(&octets) {
            prop_assert_eq!(octets.get(6..6 + CONNECTION_ID_OCTETS).and_then(read_connection_id), Some(session));
        }
    }
}

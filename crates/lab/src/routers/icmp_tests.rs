//! Answers of routers, byte for byte, against RFC 792 and RFC 4443.

use rrul_model::flow::Direction;

use super::*;
use crate::packet::build::tcp4;
use crate::routers::trace::packet;

/// What is summed for an ICMPv6 checksum: RFC 8200 section 8.1.
fn with_pseudo_header(octets: &[u8]) -> Vec<u8> {
    let mut all = octets[8..40].to_vec();
    all.extend(((octets.len() - 40) as u32).to_be_bytes());
    all.extend([0, 0, 0, 58]);
    all.extend(&octets[40..]);
    all
}

fn checksums_are_right(octets: &[u8]) -> bool {
    if octets[0] >> 4 == 4 {
        checksum(&octets[..20]) == 0 && checksum(&octets[20..]) == 0
    } else {
        checksum(&with_pseudo_header(octets)) == 0
    }
}

fn about(packet: &[u8], notice: Notice, damage: Option<Damage>) -> Vec<u8> {
    let to = answerable_source(packet).unwrap();
    let router: IpAddr = if to.is_ipv4() { [10, 78, 100, 3].into() } else { "fd78:0:0:64::3".parse().unwrap() };
    let answer = Answer { notice, router, ttl: 61, number: 0x1234, short_quote: false, damage };
    write(&answer, packet, to, &mut Random::new(1, "test"))
}

#[test]
fn an_answer_over_ipv4_is_as_rfc_792_draws_it() {
    let probe = packet(AddressFamily::Ipv4, Direction::Up, 61, 1);
    let octets = about(&probe, Notice::TimeExceeded, None);
    assert_eq!(octets[..10], [0x45, 0xc0, 0, 89, 0x12, 0x34, 0, 0, 61, 1]);
    assert_eq!(octets[12..20], [10, 78, 100, 3, 10, 78, 0, 1]);
    assert_eq!((&octets[20..22], &octets[24..28]), (&[11, 0][..], &[0; 4][..]));
    assert_eq!(octets[28..], probe);
    let octets = about(&probe, Notice::TooBig { octets: 1400 }, None);
    assert_eq!((&octets[20..22], &octets[24..28]), (&[3, 4][..], &[0, 0, 0x05, 0x78][..]));
}

#[test]
fn an_answer_over_ipv6_is_as_rfc_4443_draws_it() {
    let probe = packet(AddressFamily::Ipv6, Direction::Up, 61, 1);
    let octets = about(&probe, Notice::TimeExceeded, None);
    assert_eq!(octets[..8], [0x60, 0, 0, 0, 0, 69, 58, 61]);
    assert_eq!(octets[8..24], [0xfd, 0x78, 0, 0, 0, 0, 0, 0x64, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert_eq!(octets[24..40], probe[8..24]);
    assert_eq!((&octets[40..42], &octets[44..48]), (&[3, 0][..], &[0; 4][..]));
    assert_eq!(octets[48..], probe);
    let octets = about(&probe, Notice::TooBig { octets: 1400 }, None);
    assert_eq!((&octets[40..42], &octets[44..48]), (&[2, 0][..], &[0, 0, 0x05, 0x78][..]));
}

#[test]
fn checksums_are_right_for_every_length_unless_that_is_the_damage() {
    for family in AddressFamily::ALL {
        for length in (48..=1500).step_by(7).chain([1499, 1500]) {
            let probe = packet(family, Direction::Down, length, 1);
            for notice in [Notice::TimeExceeded, Notice::TooBig { octets: 1280 }] {
                assert!(checksums_are_right(&about(&probe, notice, None)), "{family}, {length} bytes");
                for damage in Damage::ALL {
                    let right = checksums_are_right(&about(&probe, notice, Some(damage)));
                    assert_eq!(right, damage != Damage::Checksum, "{family}, {length} bytes, {damage:?}");
                }
            }
        }
    }
}

#[test]
fn every_damage_is_what_its_name_says() {
    for (family, quote) in [(AddressFamily::Ipv4, 28), (AddressFamily::Ipv6, 48)] {
        let probe = packet(family, Direction::Up, 60, 1);
        let sound = about(&probe, Notice::TimeExceeded, None);
        let ports = quote + quote - 8;
        let changed = |damage| -> Vec<usize> {
            let damaged = about(&probe, Notice::TimeExceeded, Some(damage));
            let checksum = quote - 6..quote - 4;
            // Behind the IP header, and beside the checksum, which follows from the rest.
            let same_place = sound.iter().zip(&damaged).enumerate().skip(quote - 8);
            let differ = same_place.filter(|(at, (sound, damaged))| !checksum.contains(at) && sound != damaged);
            differ.map(|(at, _)| at).collect()
        };
        assert_eq!(changed(Damage::Checksum), [] as [usize; 0]);
        assert_eq!(about(&probe, Notice::TimeExceeded, Some(Damage::CutQuote)).len(), quote + 4);
        assert!(changed(Damage::RandomQuote).len() > 40);
        assert_eq!(changed(Damage::WrongPorts), [ports, ports + 1, ports + 2, ports + 3]);
        assert_eq!(changed(Damage::UnknownType), [quote - 8]);
        let (extension, length) = if family == AddressFamily::Ipv4 { (3, 2) } else { (4, 4) };
        let extension = quote - extension;
        let lies = [extension, quote + length, quote + length + 1, ports + 4, ports + 5];
        assert_eq!(changed(Damage::LyingLengths), lies, "{family}");
    }
    let probe = packet(AddressFamily::Ipv6, Direction::Up, 60, 1);
    let big = about(&probe, Notice::TooBig { octets: 1280 }, Some(Damage::LyingLengths));
    assert_eq!(big[44..48], 1280u32.to_be_bytes(), "the MTU is no length of RFC 4884");
}

#[test]
fn nothing_is_sent_about_errors_or_to_many_or_to_no_address_or_of_later_fragments() {
    let is_answered = |change: &dyn Fn(&mut Vec<u8>), family| {
        let mut octets = packet(family, Direction::Up, 100, 1);
        change(&mut octets);
        answerable_source(&octets).is_some()
    };
    let (v4, v6) = (AddressFamily::Ipv4, AddressFamily::Ipv6);
    assert!(is_answered(&|_| {}, v4) && is_answered(&|_| {}, v6));
    assert!(answerable_source(&tcp4(100, 1, 0)).is_some());
    for kind in 0..=255 {
        let icmp = |octets: &mut Vec<u8>| (octets[9], octets[20]) = (1, kind);
        assert_eq!(is_answered(&icmp, v4), ![3, 4, 5, 11, 12].contains(&kind), "ICMP type {kind}");
        let icmp = |octets: &mut Vec<u8>| (octets[6], octets[40]) = (58, kind);
        assert_eq!(is_answered(&icmp, v6), kind >= 128 && kind != 137, "ICMPv6 type {kind}");
    }
    let behind_options = |octets: &mut Vec<u8>| {
        octets[6] = 60;
        octets[40..48].copy_from_slice(&[58, 0, 1, 4, 0, 0, 0, 0]);
        octets[48] = 3;
    };
    assert!(!is_answered(&behind_options, v6), "an error behind extension headers is one");
    assert!(!is_answered(&|octets| octets[16] = 239, v4) && !is_answered(&|octets| octets[16..20].fill(255), v4));
    assert!(!is_answered(&|octets| octets[12..16].fill(0), v4) && !is_answered(&|octets| octets[12] = 224, v4));
    assert!(!is_answered(&|octets| octets[24] = 0xff, v6) && !is_answered(&|octets| octets[8] = 0xff, v6));
    assert!(!is_answered(&|octets| octets[8..24].fill(0), v6));
    assert!(!is_answered(&|octets| octets[7] = 1, v4), "a fragment that is not the first");
}

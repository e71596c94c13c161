//! Routers that answer as they should not, or not at all, over a link in virtual time.

use rrul_model::flow::Direction;

use crate::line::virtual_link::VirtualLink;
use crate::link::Link;
use crate::packet::{Header, ttl};
use crate::routers::icmp::Damage;
use crate::routers::trace::{
    DOWN_DELAY, MS, PROBE, Seen, UP_DELAY, UP_OCTET, answer, answers, everything, link, link_with, packet,
};
use crate::time::LabTime;
use crate::truth::record::Fate;

use super::*;

fn new(link: &Link) -> VirtualLink {
    VirtualLink::new(link, 1, LabTime(0))
}

/// Offers a probe of the client that is to end at router `hop`.
fn probe(link: &mut VirtualLink, family: AddressFamily, hop: u8, at: u64) {
    link.offer(Direction::Up, &packet(family, Direction::Up, PROBE, hop), LabTime(at));
}

/// The last number of the router's address.
fn hop_of(answer: &Seen) -> u8 {
    match answer.source() {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    }
}

fn hops(answers: &[Seen]) -> Vec<u8> {
    answers.iter().map(hop_of).collect()
}

#[test]
fn a_silent_router_ends_packets_without_a_word() {
    for family in AddressFamily::ALL {
        let mut link = new(&link("hops = 4\nsilent = [1, 3]\nmtu = { hop = 3, octets = 1280 }"));
        for hop in 1..=4 {
            probe(&mut link, family, hop, 0);
        }
        link.offer(Direction::Up, &packet(family, Direction::Up, 1400, 64), LabTime(0));
        let seen = everything(&mut link);
        let count = |fate| seen.iter().filter(|seen| seen.record.fate == fate).count();
        assert_eq!((count(Fate::Expired), count(Fate::TooBig)), (4, 1));
        let answers: Vec<Seen> = seen.into_iter().filter(Seen::is_answer).collect();
        assert_eq!(hops(&answers), [2, 4], "{family}");
    }
}

#[test]
fn a_rate_limited_router_answers_each_address_once_in_its_time() {
    let mut link = new(&link("hops = 2\nrate_limited = [{ hop = 1, every = \"1s\" }]"));
    for step in 0..50 {
        for family in AddressFamily::ALL {
            probe(&mut link, family, 1, step * 100 * MS);
            probe(&mut link, family, 2, step * 100 * MS);
        }
        // The server is another address.
        link.offer(Direction::Down, &packet(AddressFamily::Ipv4, Direction::Down, PROBE, 2), LabTime(step * 100 * MS));
    }
    let answers = answers(&mut link);
    let of = |family, direction, hop| {
        let chosen = answers.iter().filter(|seen| seen.record.family == family && seen.direction == direction);
        chosen.filter(|seen| hop_of(seen) == hop).map(Seen::delivery).collect::<Vec<u64>>()
    };
    let (v4, v6) = (AddressFamily::Ipv4, AddressFamily::Ipv6);
    for times in [of(v4, Direction::Down, 1), of(v6, Direction::Down, 1), of(v4, Direction::Up, 1)] {
        assert_eq!(times.len(), 5, "of 50 in five seconds");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1000 * MS));
    }
    assert_eq!((of(v4, Direction::Down, 2).len(), of(v6, Direction::Down, 2).len()), (50, 50));
}

#[test]
fn that_a_packet_is_too_big_is_reported_each_time() {
    let mut link =
        new(&link("hops = 1\nrate_limited = [{ hop = 1, every = \"1s\" }]\nmtu = { hop = 1, octets = 1300 }"));
    for _ in 0..5 {
        link.offer(Direction::Up, &packet(AddressFamily::Ipv6, Direction::Up, 1400, 64), LabTime(0));
    }
    assert_eq!(answers(&mut link).len(), 5);
}

#[test]
fn a_slow_router_answers_after_a_time_between_nothing_and_its_limit() {
    let description = link("hops = 2\nreply_path = \"other\"\nslow = [{ hop = 1, up_to = \"30ms\" }]");
    let times = |seed| {
        let mut link = VirtualLink::new(&description, seed, LabTime(0));
        (0..1000).for_each(|step| probe(&mut link, AddressFamily::Ipv6, 1, step * 100 * MS));
        let idle = (UP_DELAY / 3 + DOWN_DELAY / 3) as i64;
        let late = |(step, seen): (u64, &Seen)| seen.delivery() as i64 - (step * 100 * MS) as i64 - idle;
        (0..).zip(answers(&mut link).iter()).map(late).collect::<Vec<i64>>()
    };
    let late = times(1);
    assert!(late.iter().all(|late| (0..=30 * MS as i64).contains(late)), "{late:?}");
    // Uniform 0..30 ms: mean 15 ms, standard error 8.66 ms / sqrt(1000) = 0.274 ms; five of them.
    let mean = late.iter().sum::<i64>() as f64 / 1000.0;
    assert!((mean - 15e6).abs() < 1.37e6, "mean {mean} ns");
    assert_eq!((times(1) == late, times(2) == late), (true, false), "it repeats with its seed");
}

#[test]
fn answers_quote_as_much_as_they_may_or_eight_bytes_behind_the_header() {
    for (family, most, header) in [(AddressFamily::Ipv4, 576, 20), (AddressFamily::Ipv6, 1280, 40)] {
        for length in [PROBE, 1500] {
            let mut link = new(&link("hops = 2\nshort_quotes = [1]"));
            for hop in [1, 2] {
                link.offer(Direction::Up, &packet(family, Direction::Up, length, hop), LabTime(0));
            }
            let answers = answers(&mut link);
            let sent = packet(family, Direction::Up, length, 1);
            assert_eq!(answers[0].quote(), &sent[..header + 8], "{family}");
            let room = most - header - 8;
            assert_eq!(answers[1].quote(), &sent[..length.min(room)], "{family}, {length} bytes");
        }
    }
}

#[test]
fn a_router_of_garbage_goes_through_all_kinds_of_damage() {
    for family in AddressFamily::ALL {
        let run = || {
            let mut link = new(&link("hops = 3\nreply_path = \"other\"\ngarbage = [2]"));
            for step in 0..12 {
                probe(&mut link, family, 2, step * 100 * MS);
                probe(&mut link, family, 3, step * 100 * MS);
            }
            answers(&mut link)
        };
        let all = run();
        assert!(all == run(), "it repeats with its seed");
        let (damaged, sound): (Vec<Seen>, Vec<Seen>) = all.into_iter().partition(|seen| hop_of(seen) == 2);
        assert_eq!((damaged.len(), sound.len()), (12, 12));
        let sent = packet(family, Direction::Up, PROBE, 1);
        assert!(sound.iter().all(|seen| seen.quote() == sent));
        let kind = sound[0].message()[0];
        for (index, seen) in damaged.iter().enumerate() {
            let damage = Damage::ALL[index % 6];
            let says = (damage, seen.message()[0] == kind, seen.quote() == sent, seen.quote().len());
            let expected = match damage {
                Damage::Checksum => (damage, true, true, PROBE),
                Damage::CutQuote => (damage, true, false, 4),
                Damage::RandomQuote | Damage::WrongPorts | Damage::LyingLengths => (damage, true, false, PROBE),
                Damage::UnknownType => (damage, false, true, PROBE),
            };
            assert_eq!(says, expected, "{family}");
        }
    }
}

#[test]
fn quotes_from_behind_the_remarking_router_show_what_it_wrote() {
    for (at, queue, family) in [1, 2, 4]
        .into_iter()
        .flat_map(|at| [(at, 1), (at, 4)])
        .flat_map(|(at, queue)| AddressFamily::ALL.map(|family| (at, queue, family)))
    {
        let rewrite = "dscp = { EF = \"CS1\" }\necn = \"ect1_to_ect0\"";
        let path = format!("hops = 4\nremark_up_at = {at}\nremark_down_at = {at}\nup_queue_after = {queue}");
        let description = link_with(rewrite, rewrite, &format!("{path}\ndown_queue_after = {queue}"));
        for (trace, hop) in Direction::ALL.into_iter().flat_map(|trace| (1..=4).map(move |hop| (trace, hop))) {
            let ttl = if trace == Direction::Up { hop } else { 5 - hop };
            let mut marked = packet(family, trace, PROBE, ttl);
            crate::packet::set_tos(&mut marked, 0xb9);
            let mut link = new(&description);
            link.offer(trace, &marked, LabTime(0));
            let behind = if trace == Direction::Up { hop > at } else { hop < at };
            let expected = if behind { 0x22 } else { 0xb9 };
            let seen = everything(&mut link);
            let answer = seen.iter().find(|seen| seen.is_answer()).unwrap();
            let what = format!("remarked at {at}, queue after {queue}, {trace} trace, hop {hop}, {family}");
            assert_eq!(Header::parse(answer.quote()).unwrap().tos, expected, "{what}");
            let own = if family == AddressFamily::Ipv4 { 0xc0 } else { 0 };
            assert_eq!((answer.record.tos_in, answer.record.tos_out), (own, own), "answers are not remarked: {what}");
            let expired = seen.iter().find(|seen| seen.record.fate == Fate::Expired).unwrap().record;
            assert_eq!((expired.tos_in, expired.tos_out), (0xb9, expected), "{what}");
        }
        for direction in Direction::ALL {
            let mut through = packet(family, direction, PROBE, 64);
            crate::packet::set_tos(&mut through, 0xb9);
            let mut link = new(&description);
            link.offer(direction, &through, LabTime(0));
            assert_eq!(Header::parse(&everything(&mut link)[0].octets).unwrap().tos, 0x22);
        }
    }
}

#[test]
fn a_queue_before_the_remarking_router_sees_what_came() {
    // The band of EF is served before that of the others, unless the marking is gone.
    let order = |at: u8| {
        let up = "queue = \"prio\"\ndscp = \"bleach\"";
        let mut link = new(&link_with(up, "", &format!("hops = 4\nup_queue_after = 2\nremark_up_at = {at}")));
        for (length, tos) in [(1500, 0), (100, 0), (200, 0xb8)] {
            let mut octets = packet(AddressFamily::Ipv6, Direction::Up, length, 64);
            crate::packet::set_tos(&mut octets, tos);
            link.offer(Direction::Up, &octets, LabTime(0));
        }
        let seen = everything(&mut link);
        assert!(seen.iter().all(|seen| seen.record.tos_out == 0));
        seen.iter().map(|seen| seen.octets.len()).collect::<Vec<usize>>()
    };
    assert_eq!((order(2), order(3)), (vec![1500, 100, 200], vec![1500, 200, 100]));
}

/// The packet of so many bytes with "don't fragment", where its family has it.
fn whole(family: AddressFamily, direction: Direction, length: usize, ttl: u8) -> Vec<u8> {
    let mut octets = packet(family, direction, length, 0);
    if family == AddressFamily::Ipv4 {
        octets[6] = 0x40;
    }
    crate::packet::build::with_ttl(octets, ttl)
}

#[test]
fn a_narrow_link_lets_pass_what_it_carries_and_the_router_before_it_reports_the_rest() {
    for (family, hop) in AddressFamily::ALL.into_iter().flat_map(|family| (1..=4u8).map(move |hop| (family, hop))) {
        let description = link(&format!("hops = 4\nup_queue_after = 2\nmtu = {{ hop = {hop}, octets = 1400 }}"));
        for (direction, teller) in [(Direction::Up, hop), (Direction::Down, (hop + 1).min(4))] {
            let place = if direction == Direction::Up { teller } else { 5 - teller };
            let what = format!("{family}, mtu behind {hop}, {direction}");
            let offer = |length, ttl| {
                let mut link = new(&description);
                link.offer(direction, &whole(family, direction, length, ttl), LabTime(0));
                everything(&mut link)
            };
            let fates = |seen: &[Seen]| seen.iter().map(|seen| seen.record.fate).collect::<Vec<Fate>>();
            assert_eq!(fates(&offer(1400, 64)), [Fate::Delivered], "{what}");
            let seen = offer(1401, 64);
            assert_eq!(seen.len(), 2, "{what}");
            let (answer, gone): (Vec<Seen>, Vec<Seen>) = seen.into_iter().partition(Seen::is_answer);
            assert_eq!(gone[0].record.fate, Fate::TooBig);
            assert_eq!(hops(&answer), [teller], "{what}");
            let message = answer[0].message();
            let says = if family == AddressFamily::Ipv4 { [3, 4] } else { [2, 0] };
            assert_eq!((&message[..2], &message[4..8]), (&says[..], &1400u32.to_be_bytes()[..]), "{what}");
            assert_eq!((ttl(answer[0].quote()), ttl(&answer[0].octets)), (65 - place, 65 - place), "{what}");
            // A router looks at the TTL first, and none behind the narrow link is reached.
            for (ttl, fate) in (1..=5).map(|ttl| (ttl, if ttl <= place { Fate::Expired } else { Fate::TooBig })) {
                assert!(fates(&offer(1401, ttl)).contains(&fate), "{what}, TTL {ttl}");
            }
        }
    }
}

#[test]
fn what_may_be_cut_is_dropped_at_a_narrow_link_without_a_word() {
    let mut link = new(&link("hops = 2\nmtu = { hop = 1, octets = 1280 }"));
    link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, 1281, 64), LabTime(0));
    let seen = everything(&mut link);
    assert_eq!((seen.len(), seen[0].record.fate), (1, Fate::TooBig));
}

#[test]
fn answers_on_another_path_meet_no_queue_there_and_leave_none() {
    for trace in Direction::ALL {
        let (full, packets) = if trace == Direction::Up { (Direction::Down, 100) } else { (Direction::Up, 40) };
        let path = "hops = 4\nup_queue_after = 4\ndown_queue_after = 1\nreply_path = \"other\"";
        let mut link = new(&link(path));
        for _ in 0..packets {
            link.offer(full, &packet(AddressFamily::Ipv4, full, 1500, 64), LabTime(0));
        }
        // From the client to the second router and from the server to the third: two segments each, before the queue.
        link.offer(trace, &packet(AddressFamily::Ipv6, trace, PROBE, 2), LabTime(0));
        let (direct, others): (Vec<Seen>, Vec<Seen>) = everything(&mut link).into_iter().partition(Seen::is_answer);
        assert_eq!(direct[0].delivery(), UP_DELAY * 2 / 5 + DOWN_DELAY * 2 / 5, "{trace} trace");
        assert_eq!((direct[0].direction, direct[0].record.queueing_delay), (full, 0));
        let last = others.iter().filter(|seen| seen.direction == full).map(|seen| seen.record.departure()).max();
        let ahead = if full == Direction::Up { UP_DELAY } else { DOWN_DELAY } * 4 / 5;
        assert_eq!(last.flatten(), Some(LabTime(60 * MS + ahead)), "nothing else was sent on the link");
    }
}

#[test]
fn impairments_hit_probes_as_they_hit_others_and_no_answer() {
    let up = "loss = { packets = [1] }\nduplicate = { packets = [1] }\n\
              reorder = { packets = [2], displacement = 5, extra_delay = \"4ms\" }";
    let down = "loss = \"100%\"";
    let mut link = new(&link_with(up, down, "hops = 3"));
    for step in 0..4 {
        probe(&mut link, AddressFamily::Ipv4, 1, step * MS);
    }
    let seen = everything(&mut link);
    let fates: Vec<_> = seen.iter().filter(|seen| !seen.is_answer()).map(|seen| seen.record).collect();
    let what: Vec<_> = fates.iter().map(|record| (record.fate, record.duplicate, record.reordered)).collect();
    let expired = |duplicate, reordered| (Fate::Expired, duplicate, reordered);
    assert_eq!(what[0], (Fate::ExactLoss, false, false));
    assert_eq!(what[1..], [expired(false, false), expired(true, false), expired(false, true), expired(false, false)]);
    let made: Vec<u64> = seen.iter().filter(|seen| seen.is_answer()).map(|seen| seen.record.arrival.0).collect();
    // Packet 2 and its copy, packet 4, and packet 3, which was held back for its extra delay.
    assert_eq!(made, [MS, MS, 3 * MS, 6 * MS].map(|sent| sent + UP_DELAY / 4));
}

#[test]
fn a_probe_that_meets_the_queue_shows_congestion_marked_there_and_may_be_dropped() {
    let codel = "queue = { discipline = \"codel\", ecn = true }";
    let mut link = new(&link_with(codel, "", "hops = 2\nreply_path = \"other\""));
    for step in 0..1000 {
        // CoDel decides at most once in a while, and so behind a long packet: the probes take turns there.
        for (length, ttl, ecn) in [(1400, 64, 2), (PROBE, 2, 2 * (step as u8 % 2))] {
            let mut octets = packet(AddressFamily::Ipv4, Direction::Up, length, ttl);
            crate::packet::set_tos(&mut octets, ecn);
            link.offer(Direction::Up, &octets, LabTime(step * MS));
        }
    }
    let seen = everything(&mut link);
    let marked = seen.iter().filter(|seen| seen.is_answer() && seen.quote()[1] == 3).count();
    let recorded = seen.iter().filter(|seen| seen.record.fate == Fate::Expired && seen.record.marked).count();
    assert!(marked > 0 && marked == recorded, "{marked} quotes with CE, {recorded} records");
    assert!(seen.iter().any(|seen| seen.record.fate == Fate::AqmDrop && usize::from(seen.record.length) == PROBE));
}

#[test]
fn a_probe_behind_the_queue_waits_for_its_turn_and_uses_the_link() {
    let mut link = new(&link("hops = 2\nup_queue_after = 1\nreply_path = \"other\""));
    probe(&mut link, AddressFamily::Ipv4, 2, 0);
    link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, 100, 64), LabTime(0));
    let waited = everything(&mut link).iter().find(|seen| seen.record.length == 100).unwrap().record.queueing_delay;
    assert_eq!(waited, PROBE as u64 * UP_OCTET);
    let mut link = new(&crate::routers::trace::link("hops = 2\nup_queue_after = 2\nreply_path = \"other\""));
    probe(&mut link, AddressFamily::Ipv4, 2, 0);
    assert_eq!(answer(&mut link).delivery(), UP_DELAY * 2 / 3 + DOWN_DELAY * 2 / 3);
}

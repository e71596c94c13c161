//! Traces over a link with routers, in virtual time, held against the rule that says how long each takes.

use rrul_model::flow::AddressFamily;
use rrul_model::internet_checksum::checksum;

use super::*;
use crate::packet::build::{udp4, with_ttl};
use crate::packet::ttl;
use crate::routers::trace::{
    DOWN_DELAY, DOWN_OCTET, MS, PROBE, Seen, UP_DELAY, UP_OCTET, answer, everything, link, link_with, packet,
};
use crate::truth::record::{Fate, Record};

/// Busy for 60 ms: what fills the queue up, and down, in packets of 1500 bytes.
const FILL: [u64; 2] = [40, 100];
const BUSY: u64 = 60 * MS;

/// A path and where its queues lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) hops: u8,
    pub(super) up_queue_after: u8,
    pub(super) down_queue_after: u8,
}

impl Layout {
    fn all() -> impl Iterator<Item = Self> {
        (1..=8u8).flat_map(|hops| {
            (1..=hops).flat_map(move |up_queue_after| {
                (1..=hops).map(move |down_queue_after| Self { hops, up_queue_after, down_queue_after })
            })
        })
    }

    pub(super) fn link(self) -> Link {
        let Self { hops, up_queue_after, down_queue_after } = self;
        link(&format!("hops = {hops}\nup_queue_after = {up_queue_after}\ndown_queue_after = {down_queue_after}"))
    }

    /// Whether the probe to this router, and the router's answer, meet a queue, by the words of the documentation.
    fn meets_queues(self, trace: Direction, hop: u8) -> (bool, bool) {
        match trace {
            Direction::Up => (hop > self.up_queue_after, hop >= self.down_queue_after),
            Direction::Down => (hop < self.down_queue_after, hop <= self.up_queue_after),
        }
    }

    /// When a probe sent at 0 is answered while the queues are busy for this long.
    pub(super) fn expected(self, trace: Direction, family: AddressFamily, hop: u8, busy: [u64; 2]) -> u64 {
        let segments = u64::from(self.hops) + 1;
        let (passed, octet, delay, busy_there, busy_back) = match trace {
            Direction::Up => (u64::from(hop), [UP_OCTET, DOWN_OCTET], [UP_DELAY, DOWN_DELAY], busy[0], busy[1]),
            Direction::Down => {
                (segments - u64::from(hop), [DOWN_OCTET, UP_OCTET], [DOWN_DELAY, UP_DELAY], busy[1], busy[0])
            }
        };
        let answer = PROBE as u64 + if family == AddressFamily::Ipv4 { 28 } else { 48 };
        let (there, back) = self.meets_queues(trace, hop);
        let sent = if there { busy_there + PROBE as u64 * octet[0] } else { 0 };
        let answered = sent + delay[0] * passed / segments;
        // Those that keep the queue busy left the other host and come to it with what the router sends a little later.
        let free = if busy_back > 0 { delay[1] * (segments - passed) / segments + busy_back } else { 0 };
        let left = if back { answered.max(free) + answer * octet[1] } else { answered };
        left + delay[1] * passed / segments
    }
}

/// The TTL with which a probe of this trace ends at this router.
pub(super) fn ttl_to(layout: Layout, trace: Direction, hop: u8) -> u8 {
    if trace == Direction::Up { hop } else { layout.hops + 1 - hop }
}

fn fill(link: &mut VirtualLink, direction: Direction, packets: u64) {
    for _ in 0..packets {
        link.offer(direction, &packet(AddressFamily::Ipv4, direction, 1500, 64), LabTime(0));
    }
}

fn for_every_probe(mut check: impl FnMut(Layout, Direction, AddressFamily, u8, &[u8])) {
    for layout in Layout::all() {
        for (trace, family) in Direction::ALL.into_iter().flat_map(|one| AddressFamily::ALL.map(|two| (one, two))) {
            for hop in 1..=layout.hops {
                let probe = packet(family, trace, PROBE, ttl_to(layout, trace, hop));
                check(layout, trace, family, hop, &probe);
            }
        }
    }
}

#[test]
fn every_router_of_an_idle_path_answers_from_its_address_after_its_share_of_the_delay() {
    for_every_probe(|layout, trace, family, hop, probe| {
        let description = layout.link();
        let mut link = VirtualLink::new(&description, 1, LabTime(0));
        link.offer(trace, probe, LabTime(0));
        let answer = answer(&mut link);
        let what = format!("{layout:?}, {trace} trace, {family}, hop {hop}");
        assert_eq!(answer.delivery(), layout.expected(trace, family, hop, [0, 0]), "{what}");
        assert_eq!(Some(answer.source()), description.hop_address(family, hop), "{what}");
        assert_eq!((answer.direction, answer.record.queueing_delay), (trace.opposite(), 0), "{what}");
        let passed = ttl_to(layout, trace, hop) - 1;
        assert_eq!((ttl(&answer.octets), ttl(answer.quote())), (64 - passed, 1), "{what}");
        let (there, back) = layout.meets_queues(trace, hop);
        let octet = if trace == Direction::Up { [UP_OCTET, DOWN_OCTET] } else { [DOWN_OCTET, UP_OCTET] };
        let sent = [(there, PROBE, octet[0]), (back, answer.octets.len(), octet[1])];
        let sending: u64 = sent.map(|(meets, length, octet)| u64::from(meets) * length as u64 * octet).iter().sum();
        let propagation = description.hop_round_trip(trace, hop).unwrap().as_nanos() as u64;
        assert_eq!(answer.delivery(), propagation + sending, "{what}");
    });
}

#[test]
fn a_full_queue_delays_the_answers_that_have_to_pass_it_and_no_other() {
    for_every_probe(|layout, trace, family, hop, probe| {
        for full in Direction::ALL {
            let mut link = VirtualLink::new(&layout.link(), 1, LabTime(0));
            fill(&mut link, full, FILL[usize::from(full == Direction::Down)]);
            // By then what fills the queue has come to it.
            let sent = DOWN_DELAY;
            link.offer(trace, probe, LabTime(sent));
            let busy = if full == Direction::Up { [BUSY - sent, 0] } else { [0, BUSY - sent] };
            let (idle, expected) =
                (layout.expected(trace, family, hop, [0, 0]), layout.expected(trace, family, hop, busy));
            let (there, back) = layout.meets_queues(trace, hop);
            assert_eq!(expected > idle, if full == trace { there } else { back }, "the rule itself");
            let what = format!("{layout:?}, {trace} trace, {family}, hop {hop}, the queue {full} is full");
            assert_eq!(answer(&mut link).delivery() - sent, expected, "{what}");
        }
    });
}

#[test]
fn what_no_router_ends_takes_as_long_as_without_routers_and_has_a_lower_ttl() {
    for (hops, family) in (1..=30).flat_map(|hops| AddressFamily::ALL.map(|family| (hops, family))) {
        for direction in Direction::ALL {
            let octet = if direction == Direction::Up { UP_OCTET } else { DOWN_OCTET };
            let delay = if direction == Direction::Up { UP_DELAY } else { DOWN_DELAY };
            let mut link = VirtualLink::new(&link(&format!("hops = {hops}")), 1, LabTime(0));
            link.offer(direction, &packet(family, direction, PROBE, hops + 1), LabTime(0));
            let seen = everything(&mut link);
            assert_eq!((seen.len(), seen[0].direction), (1, direction));
            assert_eq!(seen[0].delivery(), PROBE as u64 * octet + delay);
            assert_eq!(seen[0].octets, packet(family, direction, PROBE, 1), "{hops} hops, {family}, {direction}");
        }
    }
}

#[test]
fn what_is_sent_with_no_ttl_left_ends_at_the_first_router() {
    let description = link("hops = 3");
    for (trace, first) in [(Direction::Up, 1), (Direction::Down, 3)] {
        let mut link = VirtualLink::new(&description, 1, LabTime(0));
        link.offer(trace, &packet(AddressFamily::Ipv4, trace, PROBE, 0), LabTime(0));
        let answer = answer(&mut link);
        assert_eq!(Some(answer.source()), description.hop_address(AddressFamily::Ipv4, first));
        assert_eq!(ttl(answer.quote()), 0);
    }
}

#[test]
fn without_routers_no_ttl_is_touched_and_none_is_too_low() {
    let mut link = link("hops = 1");
    link.path = None;
    assert_eq!((link.hop_address(AddressFamily::Ipv4, 1), link.hop_round_trip(Direction::Up, 1)), (None, None));
    let mut link = VirtualLink::new(&link, 1, LabTime(0));
    let sent = packet(AddressFamily::Ipv4, Direction::Up, PROBE, 1);
    link.offer(Direction::Up, &sent, LabTime(0));
    let seen = everything(&mut link);
    assert_eq!((seen.len(), &seen[0].octets), (1, &sent));
}

#[test]
fn probes_and_answers_keep_to_no_order_and_leave_that_of_others_as_it_is() {
    let varied = "delay_variation = \"8ms\"";
    let description =
        link_with(varied, varied, "hops = 3\nup_queue_after = 3\ndown_queue_after = 1\nreply_path = \"other\"");
    let layout = Layout { hops: 3, up_queue_after: 3, down_queue_after: 1 };
    let run = |with_probes: bool| {
        let mut link = VirtualLink::new(&description, 1, LabTime(0));
        for step in 0..400u64 {
            let now = LabTime(step * MS);
            for direction in Direction::ALL {
                link.offer(direction, &packet(AddressFamily::Ipv4, direction, 100, 64), now);
            }
            if with_probes {
                let hop = 1 + step as u8 % 3;
                link.offer(Direction::Up, &packet(AddressFamily::Ipv6, Direction::Up, PROBE, hop), now);
            }
        }
        everything(&mut link)
    };
    let (answered, others): (Vec<Seen>, Vec<Seen>) =
        run(true).into_iter().filter(|seen| seen.record.fate == Fate::Delivered).partition(Seen::is_answer);
    assert!(others == run(false), "packets beside the probes fare as without them");
    assert_eq!(answered.len(), 400);
    for answer in answered {
        let hop =
            (1..=3).find(|hop| Some(answer.source()) == description.hop_address(AddressFamily::Ipv6, *hop)).unwrap();
        let travel_there = UP_DELAY * u64::from(hop) / 4;
        assert_eq!(
            (answer.record.arrival.0 - travel_there) % MS,
            0,
            "hop {hop} was reached after its share of the delay"
        );
        let travel_back = answer.delivery() - answer.record.arrival.0;
        assert_eq!(travel_back, DOWN_DELAY * u64::from(hop) / 4, "{layout:?}, hop {hop}");
    }
}

#[test]
fn an_answer_is_a_packet_among_others_in_the_queue_that_it_meets() {
    let full = "queue = { discipline = \"pfifo\", limit = \"60p\" }";
    let mut link = VirtualLink::new(&link_with("", full, "hops = 2"), 1, LabTime(0));
    // One of 51 is sent at once, as it has come to the queue after two thirds of the way, and 50 wait.
    fill(&mut link, Direction::Down, 51);
    link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, PROBE, 2), LabTime(0));
    link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, PROBE, 2), LabTime(0));
    let behind = LabTime(10 * MS);
    link.offer(Direction::Down, &packet(AddressFamily::Ipv6, Direction::Down, 100, 64), behind);
    let seen = everything(&mut link);
    let expired: Vec<&Seen> = seen.iter().filter(|seen| seen.record.fate == Fate::Expired).collect();
    assert!(expired.len() == 2 && expired.iter().all(|seen| seen.direction == Direction::Up && seen.octets.is_empty()));
    assert!(expired[0].record.departure().is_none() && expired[1].record.queueing_delay == 60 * UP_OCTET);
    let answers: Vec<Record> = seen.iter().filter(|seen| seen.is_answer()).map(|seen| seen.record).collect();
    let arrived = 60 * UP_OCTET + UP_DELAY * 2 / 3;
    assert_eq!(answers.iter().map(|record| record.arrival.0).collect::<Vec<_>>(), [arrived, arrived + 60 * UP_OCTET]);
    let busy = 51 * 1500 * DOWN_OCTET;
    assert_eq!(answers[0].queueing_delay, busy + DOWN_DELAY / 3 - arrived);
    assert_eq!((answers[0].tos_in, answers[0].length, answers[0].protocol), (0xc0, 88, 1));
    let last = seen.iter().find(|seen| seen.record.family == AddressFamily::Ipv6).unwrap();
    assert_eq!(last.record.queueing_delay, busy + 2 * 88 * DOWN_OCTET - behind.0, "it waits for the answers before it");
}

#[test]
fn an_answer_that_finds_the_queue_full_is_lost_there() {
    let full = "queue = { discipline = \"pfifo\", limit = \"1p\" }";
    let mut link = VirtualLink::new(&link_with("", full, "hops = 2"), 1, LabTime(0));
    for _ in 0..2 {
        link.offer(Direction::Down, &packet(AddressFamily::Ipv4, Direction::Down, 1500, 64), LabTime(0));
    }
    let just_behind = LabTime(DOWN_DELAY * 2 / 3 - UP_DELAY / 3 + 1);
    link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, PROBE, 1), just_behind);
    let fates: Vec<_> = everything(&mut link).iter().map(|seen| (seen.direction, seen.record.fate)).collect();
    let (up, down) = (Direction::Up, Direction::Down);
    let expected = [(up, Fate::Expired), (down, Fate::Overflow), (down, Fate::Delivered), (down, Fate::Delivered)];
    assert_eq!(fates, expected);
}

#[test]
fn a_route_that_changes_while_the_link_runs_applies_to_what_comes_after() {
    let mut link = VirtualLink::new(&link("hops = 4"), 1, LabTime(0));
    let probe = |link: &mut VirtualLink, ttl, now| {
        link.offer(Direction::Up, &packet(AddressFamily::Ipv4, Direction::Up, PROBE, ttl), LabTime(now));
    };
    fill(&mut link, Direction::Up, 2);
    for ttl in [2, 4] {
        probe(&mut link, ttl, 0);
    }
    // The second and the fourth router's probes still wait: behind 3 ms of packets.
    link.set(&crate::routers::trace::link("hops = 3\naddresses = 7\nsilent = [1]"), LabTime(MS));
    for ttl in 1..=4 {
        probe(&mut link, ttl, MS);
    }
    let seen = everything(&mut link);
    let sources: Vec<String> =
        seen.iter().filter(|seen| seen.is_answer()).map(|seen| seen.source().to_string()).collect();
    assert_eq!(
        sources,
        ["10.78.107.2", "10.78.107.2", "10.78.107.3"],
        "the fourth is gone, and so is what waited for it"
    );
    let through: Vec<usize> =
        seen.iter().filter(|seen| !seen.octets.is_empty() && !seen.is_answer()).map(|seen| seen.octets.len()).collect();
    assert_eq!(through, [1500, 1500, PROBE], "with four hops to live it passes three");
}

#[test]
fn a_path_to_the_queue_that_becomes_shorter_lets_none_overtake() {
    let description = |milliseconds: u64| {
        let mut link = link("hops = 4\nup_queue_after = 4");
        link.up.delay = std::time::Duration::from_millis(milliseconds);
        link
    };
    let mut link = VirtualLink::new(&description(50), 1, LabTime(0));
    let mut sent = Vec::new();
    for step in 0..40u16 {
        if step == 20 {
            link.set(&description(5), LabTime(u64::from(step) * MS));
        }
        let packet = packet(AddressFamily::Ipv4, Direction::Up, usize::from(100 + step), 64);
        sent.push(packet.len());
        link.offer(Direction::Up, &packet, LabTime(u64::from(step) * MS));
    }
    let arrived: Vec<usize> = everything(&mut link).iter().map(|seen| seen.octets.len()).collect();
    assert_eq!(arrived, sent);
}

#[test]
fn a_wrong_header_checksum_stays_wrong() {
    let mut wrong = with_ttl(udp4(PROBE, 1, 0), 9);
    wrong[11] ^= 1;
    let mut link = VirtualLink::new(&link("hops = 3"), 1, LabTime(0));
    link.offer(Direction::Up, &wrong, LabTime(0));
    let seen = everything(&mut link);
    assert!(ttl(&seen[0].octets) == 6 && checksum(&seen[0].octets[..20]) != 0);
}

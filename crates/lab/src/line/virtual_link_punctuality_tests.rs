//! A link with routers does the same whenever it is looked at, and says early enough when to look.

use rrul_model::flow::AddressFamily;

use super::tests::{Layout, ttl_to};
use super::*;
use crate::routers::trace::{
    DOWN_DELAY, DOWN_OCTET, MS, PROBE, Seen, UP_DELAY, everything, link, link_with, packet, settled,
};
use crate::truth::record::Fate;

/// Some of everything, at many times.
fn busy_hour(link: &mut VirtualLink, mut each: impl FnMut(&mut VirtualLink, LabTime)) {
    for step in 0..3000u64 {
        let now = LabTime(step * 700_000);
        for direction in Direction::ALL {
            let (family, length) = (AddressFamily::ALL[step as usize % 2], 60 + (step as usize * 37) % 1200);
            link.offer(direction, &packet(family, direction, length, 1 + (step % 9) as u8), now);
            link.offer(direction, &packet(family, direction, 1000, 64), now);
        }
        each(link, now);
    }
}

#[test]
fn how_often_one_looks_changes_nothing() {
    let path = "hops = 6\nup_queue_after = 3\ndown_queue_after = 2\nslow = [{ hop = 4, up_to = \"9ms\" }]\n\
                rate_limited = [{ hop = 5, every = \"20ms\" }]\ngarbage = [6]\nmtu = { hop = 5, octets = 1280 }";
    let codel = "queue = \"codel\"\nduplicate = \"2%\"\nreorder = { probability = \"2%\", extra_delay = \"3ms\" }";
    let description = link_with(codel, codel, path);
    let (mut often, mut once) = ([0, 1]).map(|_| VirtualLink::new(&description, 7, LabTime(0))).into();
    let mut polled_often = Vec::new();
    busy_hour(&mut often, |link, now| polled_often.extend(settled(link, now)));
    busy_hour(&mut once, |_, _| {});
    polled_often.extend(everything(&mut often));
    let mut polled_once = everything(&mut once);
    let key = |seen: &Seen| (seen.direction, seen.record.arrival, seen.record.departure(), seen.record.duplicate);
    polled_often.sort_by_key(key);
    polled_once.sort_by_key(key);
    assert_eq!(polled_often.len(), polled_once.len());
    assert!(polled_often == polled_once, "polling each time and polling once must give the same");
    assert!(polled_often.iter().filter(|seen| seen.is_answer()).count() > 1000);
}

#[test]
fn a_driver_that_sleeps_until_the_next_event_is_never_late() {
    let description = link("hops = 4\nup_queue_after = 2\ndown_queue_after = 3\nslow = [{ hop = 1, up_to = \"5ms\" }]");
    let mut link = VirtualLink::new(&description, 1, LabTime(0));
    let mut delivered = 0;
    let mut late = Vec::new();
    let mut look = |link: &mut VirtualLink, until: LabTime| {
        let mut now = LabTime(0);
        while let Some(next) = link.next_event().filter(|next| *next <= until) {
            now = now.max(next);
            for seen in settled(link, now).iter().filter(|seen| seen.record.fate == Fate::Delivered) {
                delivered += 1;
                late.extend((seen.delivery() != now.0).then_some(seen.record));
            }
        }
    };
    for step in 0..400u64 {
        let now = LabTime(step * 1_300_000);
        look(&mut link, now);
        let hop = 1 + (step % 4) as u8;
        for direction in Direction::ALL {
            link.offer(direction, &packet(AddressFamily::Ipv4, direction, PROBE, hop), now);
            link.offer(direction, &packet(AddressFamily::Ipv6, direction, 1300, 64), now);
        }
    }
    look(&mut link, LabTime(u64::MAX));
    assert_eq!((delivered, late), (1600, vec![]));
}

#[test]
fn a_driver_that_sleeps_is_in_time_for_the_answer_to_a_single_probe() {
    let layout = Layout { hops: 4, up_queue_after: 2, down_queue_after: 2 };
    for (trace, hop) in Direction::ALL.into_iter().flat_map(|trace| (1..=4).map(move |hop| (trace, hop))) {
        let mut link = VirtualLink::new(&layout.link(), 1, LabTime(0));
        link.offer(trace, &packet(AddressFamily::Ipv4, trace, PROBE, ttl_to(layout, trace, hop)), LabTime(0));
        let mut last = LabTime(0);
        while let Some(next) = link.next_event() {
            last = last.max(next);
            settled(&mut link, last);
        }
        assert_eq!(last.0, layout.expected(trace, AddressFamily::Ipv4, hop, [0, 0]), "{trace} trace, hop {hop}");
    }
}

#[test]
fn a_pipe_that_is_asked_late_lets_an_answer_in_among_the_packets_of_its_time() {
    let full = "queue = { discipline = \"pfifo\", limit = \"5p\" }";
    let description = link_with("", full, "hops = 1");
    let mut up = Pipe::of_link(&description, Direction::Up, 1, LabTime(0));
    let mut down = Pipe::of_link(&description, Direction::Down, 1, LabTime(0));
    let just_behind = LabTime(DOWN_DELAY / 2 - UP_DELAY / 2 + 1);
    up.offer(&packet(AddressFamily::Ipv4, Direction::Up, PROBE, 1), just_behind);
    up.answers().into_iter().for_each(|answer| down.take_in(answer));
    for _ in 0..6 {
        down.offer(&packet(AddressFamily::Ipv4, Direction::Down, 1500, 64), LabTime(0));
    }
    let mut fates = Vec::new();
    down.poll(LabTime(UP_DELAY * 10), |outcome| {
        let (Outcome::Delivered(_, record) | Outcome::Lost(record)) = outcome;
        fates.push((record.length, record.fate));
    });
    let mut expected = vec![(88, Fate::Overflow)];
    expected.extend([(1500, Fate::Delivered); 6]);
    assert_eq!(fates, expected, "the queue was full when the answer came, and empty when it was asked about");
}

#[test]
fn a_lane_that_sleeps_until_its_next_event_hands_every_answer_over_before_it_is_due() {
    let description = link("hops = 4\nup_queue_after = 1");
    let mut up = Pipe::of_link(&description, Direction::Up, 1, LabTime(0));
    for number in 0..50 {
        up.offer(&packet(AddressFamily::Ipv4, Direction::Up, 1500, 64), LabTime(0));
        up.offer(&packet(AddressFamily::Ipv4, Direction::Up, PROBE, 1 + number % 4), LabTime(0));
    }
    let mut now = LabTime(0);
    let mut handed_over = 0;
    while let Some(next) = up.next_event() {
        now = now.max(next);
        up.poll(now, |_| {});
        for answer in up.answers() {
            handed_over += 1;
            assert!(answer.due >= now, "due at {:?}, handed over at {now:?}", answer.due);
        }
    }
    assert_eq!(handed_over, 50);
}

#[test]
fn an_answer_added_late_comes_at_once_and_one_that_meets_no_queue_is_not_late() {
    let came = |hop: u8, polled_at: u64| {
        let description = link("hops = 4\nup_queue_after = 4\ndown_queue_after = 3");
        let mut up = Pipe::of_link(&description, Direction::Up, 1, LabTime(0));
        let mut down = Pipe::of_link(&description, Direction::Down, 1, LabTime(0));
        up.offer(&packet(AddressFamily::Ipv4, Direction::Up, PROBE, hop), LabTime(0));
        down.poll(LabTime(polled_at), |_| {});
        up.answers().into_iter().for_each(|answer| down.take_in(answer));
        let mut came = (0, 0);
        down.poll(LabTime(u64::MAX / 2), |outcome| {
            let Outcome::Delivered(_, record) = outcome else { panic!("{outcome:?}") };
            came = (record.arrival.0, record.delivery().unwrap().0);
        });
        came
    };
    let back = |hop: u64| DOWN_DELAY * hop / 5;
    let after = |arrival: u64, more: u64| (arrival, arrival + more);
    let queued = 88 * DOWN_OCTET + back(3);
    assert_eq!(came(3, MS), after(UP_DELAY * 3 / 5, queued), "in time");
    assert_eq!(came(3, 8 * MS), after(8 * MS, queued), "2 ms late");
    assert_eq!(came(2, 8 * MS), after(UP_DELAY * 2 / 5, back(2)), "4 ms late, but nothing that it could change");
}

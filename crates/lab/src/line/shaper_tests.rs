//! Shapers in series with the line, in virtual time.

use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

use crate::line::pipe::Outcome;
use crate::line::virtual_link::VirtualLink;
use crate::link::Link;
use crate::packet::build::udp4;
use crate::time::LabTime;
use crate::truth::record::{Fate, Record};

const MS: u64 = 1_000_000;

/// 8 Mbit/s both ways with these shapers, 10 ms.
fn link(up: &str, down: &str) -> Link {
    let direction = |name: &str, shaper: &str| {
        let shaper = if shaper.is_empty() { String::new() } else { format!("[{name}.shaper]\n{shaper}\n") };
        format!("[{name}]\nrate = \"8Mbit/s\"\n{shaper}")
    };
    Link::from_toml("test.toml", &format!("rtt = \"20ms\"\n{}{}", direction("up", up), direction("down", down)))
        .unwrap()
}

/// Offers packets of 1000 bytes at this rate for so many milliseconds from `from` on.
fn offer(link: &mut VirtualLink, direction: Direction, mbit: u64, from: u64, milliseconds: u64) {
    for number in 0..milliseconds * mbit / 8 {
        link.offer(direction, &udp4(1000, 1, 0), LabTime(from * MS + number * 8 * MS / mbit));
    }
}

fn records(link: &mut VirtualLink, until: LabTime) -> Vec<Record> {
    let mut all = Vec::new();
    link.poll(until, |_, outcome| match outcome {
        Outcome::Delivered(_, record) | Outcome::Lost(record) => all.push(record),
    });
    all
}

const END: LabTime = LabTime(u64::MAX / 2);

#[test]
fn a_shaper_without_a_queue_adds_no_delay() {
    for direction in Direction::ALL {
        let shaper = "rate = \"4Mbit/s\"";
        let delivery = |link: Link| {
            let mut link = VirtualLink::new(&link, 1, LabTime(0));
            link.offer(direction, &udp4(1000, 1, 0), LabTime(5));
            records(&mut link, END)[0].delivery().unwrap()
        };
        assert_eq!(delivery(link(shaper, shaper)), delivery(link("", "")), "{direction}");
    }
}

#[test]
fn below_the_rate_of_the_line_the_shaper_queues_and_the_line_does_not() {
    for direction in Direction::ALL {
        let shaper = "rate = \"6Mbit/s\"\nqueue = \"pfifo\"";
        let mut link = VirtualLink::new(&link(shaper, shaper), 1, LabTime(0));
        // 7 Mbit/s are more than the shaper's rate and less than the line's.
        offer(&mut link, direction, 7, 0, 1000);
        let all = records(&mut link, END);
        let last = all.iter().max_by_key(|record| record.arrival).unwrap();
        assert_eq!(last.queueing_delay, last.shaper_delay, "{direction}: all of the wait is in the shaper");
        // A second at 1 Mbit/s too much takes a sixth of a second at 6 Mbit/s.
        assert!(last.shaper_delay.abs_diff(166 * MS) < 3 * MS, "{direction}: {} ns", last.shaper_delay);
        let window = all.iter().filter_map(Record::departure).filter(|at| at.0 < 1000 * MS).count();
        assert!(window.abs_diff(750) <= 2, "{direction}: {window} packets of 8 kbit in a second at 6 Mbit/s");
    }
}

#[test]
fn above_the_rate_of_the_line_the_queue_of_the_line_fills() {
    for direction in Direction::ALL {
        let shaper = "rate = \"12Mbit/s\"\nqueue = \"pfifo\"";
        let mut link = VirtualLink::new(&link(shaper, shaper), 1, LabTime(0));
        offer(&mut link, direction, 10, 0, 1000);
        let all = records(&mut link, END);
        let last = all.iter().max_by_key(|record| record.arrival).unwrap();
        assert_eq!(last.shaper_delay, 0, "{direction}");
        assert!(last.queueing_delay > 200 * MS, "{direction}: {} ns in the line's queue", last.queueing_delay);
    }
}

#[test]
fn upward_the_shaper_is_before_the_line_and_downward_behind_it() {
    // A burst of 30 packets at once: the first queue takes it, the second sees packets spaced by the first.
    let burst = |direction| {
        let shaper = "rate = \"4Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"5p\" }";
        let mut link = VirtualLink::new(&link(shaper, shaper), 1, LabTime(0));
        for _ in 0..30 {
            link.offer(direction, &udp4(1000, 1, 0), LabTime(0));
        }
        let all = records(&mut link, END);
        let lost = all.iter().filter(|record| record.fate == Fate::ShaperOverflow).count();
        assert_eq!(lost + all.iter().filter(|record| record.fate == Fate::Delivered).count(), 30);
        let before_the_shaper = all.iter().filter(|record| record.fate == Fate::ShaperOverflow);
        (lost, before_the_shaper.map(|record| record.queueing_delay - record.shaper_delay).max().unwrap())
    };
    // One begins at once and five wait.
    assert_eq!(burst(Direction::Up), (24, 0));
    // They come to the shaper 1 ms apart and it takes one in 2 ms, so that half of those beyond its five are lost.
    let (lost, waited) = burst(Direction::Down);
    assert!((9..=12).contains(&lost), "{lost} lost");
    assert!(waited >= 25 * MS, "they waited in the line's queue before: {waited} ns");
}

#[test]
fn what_the_aqm_of_the_shaper_drops_and_marks_is_recorded_as_its_own() {
    for (tos, shaper, fate) in
        [(0, "cake", Some(Fate::ShaperAqmDrop)), (2, "cake", None), (0, "pie", Some(Fate::ShaperAqmDrop))]
    {
        let shaper = format!("rate = \"4Mbit/s\"\nqueue = \"{shaper}\"");
        let mut link = VirtualLink::new(&link(&shaper, ""), 1, LabTime(0));
        for number in 0..3000 {
            link.offer(Direction::Up, &udp4(1000, 1, tos), LabTime(number * 8 * MS / 5));
        }
        let all = records(&mut link, END);
        let dropped = all.iter().filter(|record| Some(record.fate) == fate).count() as u64;
        let marked = all.iter().filter(|record| record.marked).count() as u64;
        let counters = link.counters().up.shaper.unwrap();
        assert_eq!((counters.aqm_drops, counters.marks), (dropped, marked), "counters and records agree");
        assert!(dropped + marked > 20, "{dropped} dropped, {marked} marked");
        assert!(all.iter().all(|record| record.fate == Fate::Delivered || Some(record.fate) == fate));
    }
}

#[test]
fn a_rate_set_while_packets_wait_loses_none_and_applies_from_then_on() {
    for direction in Direction::ALL {
        let shaper = "rate = \"4Mbit/s\"";
        let description = link(shaper, shaper);
        let mut link = VirtualLink::new(&description, 1, LabTime(0));
        // 5 Mbit/s for a second: a quarter of a second waits in the end.
        offer(&mut link, direction, 5, 0, 500);
        let mut faster = description.direction(direction).shaper.clone().unwrap();
        faster.rate = BitRate(6_000_000);
        link.set_shaper(direction, Some(&faster), LabTime(500 * MS));
        offer(&mut link, direction, 6, 500, 1000);
        let all = records(&mut link, END);
        let departed = |from: u64, to: u64| {
            all.iter().filter_map(Record::departure).filter(|at| (from * MS..to * MS).contains(&at.0)).count()
        };
        assert!(departed(100, 500).abs_diff(200) <= 3, "{direction}: {} in 400 ms at 4 Mbit/s", departed(100, 500));
        assert!(departed(600, 1400).abs_diff(600) <= 3, "{direction}: {} in 800 ms at 6 Mbit/s", departed(600, 1400));
        let delivered = all.iter().filter(|record| record.fate == Fate::Delivered).count();
        let dropped = all.iter().filter(|record| record.fate == Fate::ShaperAqmDrop).count();
        assert_eq!(
            (delivered + dropped, all.len()),
            (312 + 750, 312 + 750),
            "{direction}: every packet has one record"
        );
    }
}

#[test]
fn a_shaper_may_come_and_go_while_packets_wait() {
    for direction in Direction::ALL {
        let shaper = "rate = \"2Mbit/s\"\nqueue = \"pfifo\"";
        let description = link(shaper, shaper);
        let mut link = VirtualLink::new(&description, 1, LabTime(0));
        offer(&mut link, direction, 6, 0, 300);
        link.set_shaper(direction, None, LabTime(300 * MS));
        assert!(link.counters().up.shaper.is_none() || direction == Direction::Down);
        offer(&mut link, direction, 6, 300, 300);
        link.set_shaper(direction, description.up.shaper.as_ref(), LabTime(600 * MS));
        offer(&mut link, direction, 1, 600, 300);
        let all = records(&mut link, END);
        assert!(
            all.len() == 225 + 225 + 37 && all.iter().all(|record| record.fate == Fate::Delivered),
            "{direction}: {}",
            all.len()
        );
        // In order, whatever was removed.
        let mut by_arrival = all.clone();
        by_arrival.sort_by_key(|record| record.arrival);
        assert!(by_arrival.is_sorted_by_key(Record::delivery), "{direction}");
        let middle = all.iter().filter(|record| (400 * MS..600 * MS).contains(&record.arrival.0));
        assert!(middle.clone().count() > 100 && middle.clone().all(|record| record.shaper_delay == 0), "{direction}");
    }
}

#[test]
fn another_discipline_takes_over_what_waits() {
    let description = link("rate = \"2Mbit/s\"\nqueue = \"pfifo\"", "");
    let mut link = VirtualLink::new(&description, 1, LabTime(0));
    offer(&mut link, Direction::Up, 8, 0, 100);
    let before = link.counters().up.shaper.unwrap();
    let mut other = description;
    other.change_shaper("up.shaper.queue=fq_codel").unwrap();
    link.set_shaper(Direction::Up, other.up.shaper.as_ref(), LabTime(100 * MS));
    let after = link.counters().up.shaper.unwrap();
    assert_eq!((before.discipline, after.discipline), ("pfifo", "fq_codel"));
    assert_eq!(after.backlog_packets + after.packets, 100, "{before:?} {after:?}");
    assert_eq!(records(&mut link, END).len(), 100);
}

#[test]
fn counters_account_for_every_packet_and_byte() {
    let shaper =
        "rate = \"4Mbit/s\"\nlink_layer = \"ethernet\"\nqueue = { discipline = \"cake\", tins = \"diffserv4\" }";
    let mut link = VirtualLink::new(&link(shaper, ""), 1, LabTime(0));
    for number in 0..2000u64 {
        let tos = [0, 0x20, 0xb8, 0x88][number as usize % 4];
        link.offer(Direction::Up, &udp4(500, number as u16 % 4, tos), LabTime(number * MS / 2));
    }
    let now = LabTime(1000 * MS);
    let settled = records(&mut link, now);
    let counters = link.counters().up;
    let shaper = counters.shaper.unwrap();
    assert_eq!(shaper.packets + shaper.overflows + shaper.aqm_drops + shaper.backlog_packets, 2000);
    assert_eq!(shaper.octets.0, shaper.packets * 500);
    assert_eq!(shaper.link_octets.0, shaper.packets * 538, "Ethernet adds 38 bytes");
    assert_eq!(shaper.backlog.0, shaper.backlog_packets * 500);
    assert_eq!(shaper.classes.iter().map(|tin| tin.packets).sum::<u64>(), shaper.packets);
    assert_eq!(shaper.classes.iter().map(|tin| tin.drops).sum::<u64>(), shaper.aqm_drops + shaper.overflows);
    let lost = settled.iter().filter(|record| record.fate == Fate::ShaperAqmDrop).count() as u64;
    assert_eq!(lost, shaper.aqm_drops);
    assert_eq!(counters.line.packets, shaper.packets, "the line passed what the shaper has sent");
}

#[test]
fn overhead_and_framing_are_exact() {
    // Bytes on the wire of a packet of 60, 100, 1000 and 1500 bytes, by tc-cake(8).
    for (layer, expected) in [
        ("ip", [60, 100, 1000, 1500]),
        ("ethernet", [98, 138, 1038, 1538]),
        ("docsis", [78, 118, 1018, 1518]),
        ("atm/pppoe-llcsnap", [159, 159, 1166, 1749]),
        ("ptm/pppoe", [92, 133, 1047, 1554]),
        ("ip+14", [74, 114, 1014, 1514]),
    ] {
        for (length, octets) in [60, 100, 1000, 1500].into_iter().zip(expected) {
            let shaper = format!("rate = \"1Mbit/s\"\nlink_layer = \"{layer}\"\nqueue = \"pfifo\"");
            let mut link = VirtualLink::new(&link(&shaper, ""), 1, LabTime(0));
            for _ in 0..101 {
                link.offer(Direction::Up, &udp4(length, 1, 0), LabTime(0));
            }
            let last = records(&mut link, END).iter().map(|record| record.shaper_delay).max();
            assert_eq!(last, Some(100 * octets * 8000), "{layer}, {length} bytes");
        }
    }
}

#[test]
fn in_ingress_mode_dropped_packets_have_used_the_link() {
    let delivered = |ingress: bool| {
        let shaper =
            format!("rate = \"4Mbit/s\"\nqueue = {{ discipline = \"cake\", ingress = {ingress}, rtt = \"20ms\" }}");
        let mut link = VirtualLink::new(&link("", &shaper), 1, LabTime(0));
        offer(&mut link, Direction::Down, 5, 0, 10_000);
        let all = records(&mut link, LabTime(10_000 * MS));
        let late = all.iter().filter(|record| record.arrival.0 > 5_000 * MS && record.fate == Fate::Delivered).count();
        late as f64 * 8000.0 / 5e6
    };
    // 5 Mbit/s arrive. At the egress 4 pass. At the ingress a flow that does not answer never gets below 4 with its drops, and is
    // left two thirds of the rate.
    let (egress, ingress) = (delivered(false), delivered(true));
    assert!((egress - 4.0).abs() < 0.05, "{egress} Mbit/s");
    assert!((ingress - 8.0 / 3.0).abs() < 0.05, "{ingress} Mbit/s");
}

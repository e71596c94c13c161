//! The link's arithmetic and its impairments, in virtual time.

use std::time::Duration;

use rrul_model::internet_checksum::checksum;
use rrul_model::units::{BitRate, ByteCount};

use super::*;
use crate::link::Reorder;
use crate::link::filter::PacketFilter;
use crate::link::rate_schedule::RateSchedule;
use crate::link::remark::{DscpRewrite, EcnRewrite};
use crate::link::selection::Selection;
use crate::packet::build::{tcp4, udp4, udp6};
use crate::queue::{QueueOptions, QueueSpec};

const MS: u64 = 1_000_000;
/// 1500 bytes at 20 Mbit/s.
const PACKET_TIME: u64 = 600_000;

/// 20 Mbit/s, 9 ms, with changes.
fn pipe(change: impl FnOnce(&mut LinkDirection)) -> Pipe {
    let mut direction = LinkDirection::ideal();
    direction.rate = RateSchedule::constant(BitRate(20_000_000));
    direction.delay = Duration::from_millis(9);
    change(&mut direction);
    Pipe::new(&direction, 42, LabTime(0))
}

fn queue(name: &str, options: QueueOptions) -> QueueSpec {
    QueueSpec::new(name, options).unwrap()
}

/// Everything the pipe will ever report, with the bytes of what was delivered.
fn outcomes(pipe: &mut Pipe) -> Vec<(Record, Vec<u8>)> {
    let mut all = Vec::new();
    pipe.poll(LabTime(u64::MAX / 2), |outcome| match outcome {
        Outcome::Delivered(octets, record) => all.push((record, octets.to_vec())),
        Outcome::Lost(record) => all.push((record, Vec::new())),
    });
    all
}

fn records(pipe: &mut Pipe) -> Vec<Record> {
    outcomes(pipe).into_iter().map(|(record, _)| record).collect()
}

fn count(records: &[Record], fate: Fate) -> usize {
    records.iter().filter(|record| record.fate == fate).count()
}

#[test]
fn a_policer_drops_what_is_too_much_and_only_of_its_family() {
    let policer = crate::link::token_bucket::Policer { rate: BitRate(4_000_000), size: ByteCount(3000) };
    let mut pipe = pipe(|up| {
        up.police = Some(policer);
        up.only.family = Some(rrul_model::flow::AddressFamily::Ipv6);
    });
    for n in 0..100 {
        // 8 Mbit/s of each family.
        pipe.offer(&udp6(1000, 1, 0), LabTime(n * MS));
        pipe.offer(&udp4(1000, 1, 0), LabTime(n * MS));
    }
    let all = records(&mut pipe);
    let policed = count(&all, Fate::Policed);
    assert!((47..=49).contains(&policed), "{policed} policed: half of what came, less the bucket");
    assert_eq!(count(&all, Fate::Delivered), 200 - policed);
}

#[test]
fn a_policer_counts_what_the_shaper_before_the_line_lets_pass() {
    let policed = |rate: u64| {
        let mut pipe = pipe(|up| {
            up.police = Some(crate::link::token_bucket::Policer { rate: BitRate(4_000_000), size: ByteCount(3000) });
            let queue = queue("pfifo", QueueOptions::default());
            up.shaper = Some(Shaper { rate: BitRate(rate), link_layer: "ip".parse().unwrap(), queue });
        });
        // 200 ms at 8 Mbit/s.
        (0..200).for_each(|n| pipe.offer(&udp4(1000, 1, 0), LabTime(n * MS)));
        count(&records(&mut pipe), Fate::Policed)
    };
    assert_eq!(policed(3_900_000), 0, "the shaper keeps the rate below that of the policer");
    assert!((36..=40).contains(&policed(5_000_000)), "a fifth of what the shaper lets pass");
}

#[test]
fn a_lone_packet_takes_its_transmission_time_and_the_propagation_delay() {
    let mut pipe = pipe(|_| {});
    pipe.offer(&udp4(1500, 1, 0), LabTime(5 * MS));
    assert_eq!(pipe.next_event(), Some(LabTime(5 * MS + PACKET_TIME + 9 * MS)));
    let record = records(&mut pipe)[0];
    assert_eq!(record.queueing_delay, 0);
    assert_eq!(record.departure(), Some(LabTime(5 * MS + PACKET_TIME)));
    assert_eq!(record.delivery(), Some(LabTime(5 * MS + PACKET_TIME + 9 * MS)));
    assert_eq!(pipe.next_event(), None);
}

#[test]
fn packets_that_come_together_queue_behind_each_other() {
    let mut pipe = pipe(|direction| direction.overhead = ByteCount(38));
    for _ in 0..4 {
        pipe.offer(&udp4(1500, 1, 0), LabTime(0));
    }
    let packet_time = (1500 + 38) * 8 * 50;
    let delays: Vec<u64> = records(&mut pipe).iter().map(|record| record.queueing_delay).collect();
    assert_eq!(delays, [0, packet_time, 2 * packet_time, 3 * packet_time], "overhead occupies the link");
}

#[test]
fn waking_late_changes_nothing_but_the_hour_of_the_news() {
    let codel = |direction: &mut LinkDirection| direction.queue = queue("codel", QueueOptions::default());
    let (mut punctual, mut late) = (pipe(codel), pipe(codel));
    let (mut polled_often, mut polled_once) = (Vec::new(), Vec::new());
    for step in 0..20_000u64 {
        // 30 Mbit/s into 20 Mbit/s.
        let now = LabTime(step * 400_000);
        punctual.offer(&udp4(1500, 1, 0), now);
        late.offer(&udp4(1500, 1, 0), now);
        punctual.poll(now, |outcome| polled_often.push(record_of(&outcome)));
    }
    polled_often.extend(records(&mut punctual));
    polled_once.extend(records(&mut late));
    let key = |record: &Record| (record.arrival, record.departure());
    polled_often.sort_by_key(key);
    polled_once.sort_by_key(key);
    assert!(polled_often == polled_once, "polling every 400 us and polling once must give the same records");
    assert!(count(&polled_often, Fate::AqmDrop) > 100);
}

fn record_of(outcome: &Outcome<'_>) -> Record {
    match outcome {
        Outcome::Delivered(_, record) | Outcome::Lost(record) => *record,
    }
}

#[test]
fn bytes_over_time_are_exactly_the_rate() {
    let mut pipe = pipe(|direction| direction.rate = RateSchedule::constant(BitRate(7_654_321)));
    for _ in 0..1000 {
        pipe.offer(&udp4(1500, 1, 0), LabTime(0));
    }
    let all = records(&mut pipe);
    let last = all.last().unwrap().departure().unwrap();
    let octets: u64 = all.iter().map(|record| u64::from(record.length)).sum();
    let exact = u128::from(octets) * 8 * 1_000_000_000 / 7_654_321;
    assert_eq!(u128::from(last.0), exact, "1000 packets of 1500 bytes");
}

#[test]
fn a_full_pfifo_delays_by_its_limit_over_the_rate() {
    let mut pipe = pipe(|_| {});
    for _ in 0..1500 {
        pipe.offer(&udp4(1500, 1, 0), LabTime(0));
    }
    let all = records(&mut pipe);
    let longest = all.iter().filter(|record| record.fate == Fate::Delivered).map(|record| record.queueing_delay).max();
    // One packet is on the link, 1000 wait: the last of them waits for 1000 packet times, 600 ms.
    assert_eq!(longest, Some(1000 * PACKET_TIME));
    assert_eq!((count(&all, Fate::Delivered), count(&all, Fate::Overflow)), (1001, 499));
}

#[test]
fn the_rate_schedule_counts_from_the_beginning() {
    let steps = vec![(Duration::ZERO, BitRate(40_000_000)), (Duration::from_secs(1), BitRate(20_000_000))];
    let limit = QueueOptions { limit: Some("100000p".parse().unwrap()), ..QueueOptions::default() };
    let mut pipe = pipe(|direction| {
        direction.rate = RateSchedule::steps(steps).unwrap();
        direction.queue = queue("pfifo", limit);
    });
    for _ in 0..5000 {
        pipe.offer(&udp4(1500, 1, 0), LabTime(0));
    }
    let sent = |from: u64, to: u64, all: &[Record]| {
        let inside = |record: &&Record| (from..to).contains(&(record.departure().unwrap().0 / MS));
        all.iter().filter(inside).map(|record| u64::from(record.length) * 8).sum::<u64>()
    };
    let all = records(&mut pipe);
    assert!(sent(0, 1000, &all).abs_diff(40_000_000) <= 12_000, "first second, to a packet");
    assert!(sent(1000, 2000, &all).abs_diff(20_000_000) <= 12_000, "second second, to a packet");
}

#[test]
fn exact_loss_hits_exactly_the_packets_named_among_those_that_match() {
    let mut pipe = pipe(|direction| {
        direction.loss = Selection::Numbers(vec![1, 3]);
        direction.only = PacketFilter { protocol: Some(17), port: Some(53), ..PacketFilter::default() };
    });
    for port in 0..4 {
        pipe.offer(&tcp4(1500, 53, 0), LabTime(0));
        pipe.offer(&udp6(100, port, 0), LabTime(0));
    }
    let lost: Vec<Record> = records(&mut pipe).into_iter().filter(|record| record.fate != Fate::Delivered).collect();
    let what: Vec<_> = lost.iter().map(|record| (record.fate, record.source_port)).collect();
    assert_eq!(what, [(Fate::ExactLoss, 0), (Fate::ExactLoss, 2)]);
}

#[test]
fn random_loss_repeats_with_its_seed_and_does_not_use_the_link() {
    let lossy = |seed| {
        let mut direction = LinkDirection::ideal();
        direction.loss = Selection::Probability(0.1);
        let mut pipe = Pipe::new(&direction, seed, LabTime(0));
        for step in 0..900 {
            pipe.offer(&udp4(100, step, 0), LabTime(0));
        }
        records(&mut pipe)
    };
    let (first, again, other) = (lossy(1), lossy(1), lossy(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let lost = count(&first, Fate::RandomLoss);
    // Binomial: mean 90, standard deviation 9; five of them.
    assert!((45..=135).contains(&lost), "{lost} of 900 lost");
    let last = first.iter().filter_map(Record::departure).max().unwrap();
    assert_eq!(last, LabTime(800 * (900 - lost as u64)), "100 bytes take 800 ns at 1 Gbit/s");
}

#[test]
fn a_duplicate_is_delivered_behind_its_original_and_counted_apart() {
    let mut pipe = pipe(|direction| direction.duplicate = Selection::Every(2));
    for port in 1..=4 {
        pipe.offer(&udp4(100, port, 0), LabTime(0));
    }
    let all = outcomes(&mut pipe);
    let ports: Vec<_> = all.iter().map(|(record, _)| (record.source_port, record.duplicate)).collect();
    assert_eq!(ports, [(1, false), (2, false), (2, true), (3, false), (4, false), (4, true)]);
    assert_eq!(all[1].1, all[2].1, "the copy has the same bytes");
}

#[test]
fn a_reordered_packet_is_overtaken_by_as_many_as_its_displacement() {
    let reorder = Reorder { packets: Selection::Every(5), displacement: Some(3), extra_delay: Duration::from_secs(1) };
    let mut pipe = pipe(|direction| direction.reorder = reorder);
    for port in 1..=9 {
        pipe.offer(&udp4(100, port, 0), LabTime(0));
    }
    let all = records(&mut pipe);
    let ports: Vec<u16> = all.iter().map(|record| record.source_port).collect();
    assert_eq!(ports, [1, 2, 3, 4, 6, 7, 8, 5, 9]);
    let held: Vec<u16> = all.iter().filter(|record| record.reordered).map(|record| record.source_port).collect();
    assert_eq!(held, [5]);
}

#[test]
fn remarked_packets_carry_the_new_byte_and_a_right_checksum() {
    let mut pipe = pipe(|direction| {
        direction.dscp = DscpRewrite::default().mapping(46, 8);
        direction.ecn = EcnRewrite::Ect1ToEct0;
    });
    pipe.offer(&udp4(100, 1, 0xb9), LabTime(0));
    pipe.offer(&udp6(100, 1, 0xb9), LabTime(0));
    for (record, octets) in outcomes(&mut pipe) {
        assert_eq!((record.tos_in, record.tos_out, record.marked), (0xb9, 0x22, false));
        assert_eq!(Header::parse(&octets).unwrap().tos, 0x22);
        assert!(octets[0] >> 4 == 6 || checksum(&octets[..20]) == 0);
    }
}

#[test]
fn an_aqm_marks_ecn_capable_packets_and_drops_the_others() {
    let mut pipe = pipe(|direction| direction.queue = queue("fq_codel", QueueOptions::default()));
    for step in 0..10_000u64 {
        // Two flows, 30 Mbit/s together, into 20 Mbit/s.
        pipe.offer(&udp4(1500, 1, 0), LabTime(step * 800_000));
        pipe.offer(&udp4(1500, 2, 0x02), LabTime(step * 800_000));
    }
    let all = outcomes(&mut pipe);
    let of = |port: u16| all.iter().filter(move |(record, _)| record.source_port == port);
    assert!(of(1).any(|(record, _)| record.fate == Fate::AqmDrop));
    assert!(of(1).all(|(record, _)| !record.marked), "what is not ECN-capable cannot be marked");
    let marked: Vec<_> = of(2).filter(|(record, _)| record.marked).collect();
    assert!(marked.len() > 50, "{} marked", marked.len());
    assert!(of(2).all(|(record, _)| record.fate != Fate::AqmDrop));
    for (record, octets) in marked {
        assert_eq!((record.tos_in, record.tos_out), (2, 3));
        assert_eq!((octets[1], checksum(&octets[..20])), (3, 0));
    }
}

#[test]
fn a_packet_that_came_with_ce_is_not_counted_as_marked_by_us() {
    let mut pipe = pipe(|direction| direction.ecn = EcnRewrite::MarkCe(Selection::Every(1)));
    for tos in 0..4 {
        pipe.offer(&udp4(100, 1, tos), LabTime(0));
    }
    let found: Vec<_> = records(&mut pipe).iter().map(|record| (record.tos_out, record.marked)).collect();
    assert_eq!(found, [(0, false), (3, true), (3, true), (3, false)]);
}

#[test]
fn a_new_setting_takes_over_what_waits_and_loses_nothing() {
    let mut pipe = pipe(|_| {});
    for port in 0..20 {
        pipe.offer(&udp4(1500, port, 0), LabTime(0));
    }
    let toml = "rtt = \"0s\"\n[up]\nrate = \"40Mbit/s\"\nqueue = \"fq_codel\"\n[down]\nrate = \"1Mbit/s\"\n";
    let faster = Link::from_toml("test.toml", toml).unwrap();
    // Four have left, the fifth is on its way out at the old rate until 3 ms.
    pipe.set(&faster, Direction::Up, LabTime(2_500_000));
    let all = records(&mut pipe);
    assert_eq!(count(&all, Fate::Delivered), 20);
    assert_eq!(all.iter().filter_map(Record::departure).max(), Some(LabTime(3_000_000 + 15 * PACKET_TIME / 2)));
}

#[test]
fn what_no_router_forwards_gets_no_record() {
    let mut pipe = pipe(|_| {});
    let mut report = udp6(100, 1, 0);
    report[24..26].copy_from_slice(&[0xff, 0x02]);
    pipe.offer(&report, LabTime(0));
    pipe.offer(&[0; 60], LabTime(0));
    assert_eq!(records(&mut pipe), []);
}

#[test]
fn the_pool_does_not_grow_once_it_has_held_the_most_that_was_in_the_pipe() {
    let mut pipe = pipe(|_| {});
    for step in 0..5000u64 {
        pipe.offer(&udp4(1500, 1, 0), LabTime(step * PACKET_TIME));
        pipe.poll(LabTime(step * PACKET_TIME), |_| {});
    }
    // 9 ms of propagation hold 15 packets, one is being sent, one has just come.
    assert!(pipe.pool.len() <= 17, "{} slots", pipe.pool.len());
}

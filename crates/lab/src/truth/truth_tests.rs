//! The numbers drawn from records, against records made by hand.

use super::*;
use crate::packet::Header;
use crate::packet::build::{tcp4, udp4};

const MS: u64 = 1_000_000;

fn delivered(octets: &[u8], arrival: u64, queued: u64, delivery: u64) -> Record {
    let mut record = Record::arrived(&Header::parse(octets).unwrap(), octets.len(), LabTime(arrival));
    record.queueing_delay = queued;
    record.departed(LabTime(arrival + queued));
    record.delivered(LabTime(delivery));
    record
}

fn truth(records: Vec<Record>) -> DirectionTruth {
    DirectionTruth { chunks: vec![Arc::new(records)], ..DirectionTruth::default() }
}

fn all_time() -> Range<LabTime> {
    LabTime(0)..LabTime(u64::MAX)
}

#[test]
fn bytes_count_in_the_window_of_their_delivery_and_copies_do_not() {
    let mut copy = delivered(&tcp4(552, 1, 0), 0, 0, 15);
    copy.duplicate = true;
    let truth = truth(vec![
        delivered(&tcp4(152, 1, 0), 0, 0, 10),
        delivered(&tcp4(252, 1, 100), 0, 0, 19),
        copy,
        delivered(&tcp4(352, 1, 300), 0, 0, 20),
    ]);
    assert_eq!(truth.delivered_octets(LabTime(10)..LabTime(20)), ByteCount(152 + 252));
    assert_eq!(truth.delivered_tcp_payload(LabTime(10)..LabTime(20)), ByteCount(100 + 200));
    assert_eq!((truth.count(Fate::Delivered), truth.duplicates()), (3, 1));
}

#[test]
fn retransmitted_bytes_are_unique_only_once_and_across_the_wrap_of_sequence_numbers() {
    let near_the_end = u32::MAX - 49;
    let truth = truth(vec![
        delivered(&tcp4(152, 1, near_the_end), 0, 0, 1),
        // 50 bytes on, past the wrap: half of it is new.
        delivered(&tcp4(152, 1, 0), 0, 0, 2),
        // A hole of 100, then the segment that fills it and overlaps both sides.
        delivered(&tcp4(152, 1, 200), 0, 0, 3),
        delivered(&tcp4(252, 1, 50), 0, 0, 4),
        // Another flow counts for itself.
        delivered(&tcp4(152, 2, 0), 0, 0, 5),
    ]);
    assert_eq!(truth.unique_tcp_payload(all_time()), ByteCount(100 + 50 + 100 + 100 + 100));
    assert_eq!(truth.unique_tcp_payload(LabTime(4)..LabTime(5)), ByteCount(100));
    assert_eq!(truth.delivered_tcp_payload(all_time()), ByteCount(600));
}

#[test]
fn queueing_delays_are_those_of_delivered_packets_that_arrived_in_the_window() {
    let mut dropped = delivered(&udp4(100, 1, 0), 5, 99, 0);
    dropped.fate = Fate::AqmDrop;
    let truth = truth(vec![
        delivered(&udp4(100, 1, 0), 4, 70, 80),
        delivered(&udp4(100, 1, 0), 5, 30, 80),
        delivered(&udp4(100, 2, 0), 6, 10, 80),
        dropped,
        delivered(&udp4(100, 1, 0), 7, 50, 80),
    ]);
    assert_eq!(truth.queueing_delays(LabTime(5)..LabTime(7)), [10, 30]);
    assert_eq!(truth.queueing_delays_of(all_time(), |record| record.source_port == 1), [30, 50, 70]);
    assert_eq!(truth.count(Fate::AqmDrop), 1);
}

#[test]
fn the_busiest_second_slides() {
    // 100 bytes every 100 ms for 2 s, but four at once at 1.05 s.
    let mut records: Vec<Record> = (0..20).map(|step| delivered(&udp4(100, 1, 0), step * 100 * MS, 0, 0)).collect();
    records.extend((0..4).map(|_| delivered(&udp4(100, 1, 0), 1050 * MS, 0, 0)));
    assert_eq!(truth(records).busiest_second(), ByteCount(1400));
    assert_eq!(truth(vec![]).busiest_second(), ByteCount(0));
}

#[test]
fn a_percentile_is_one_of_the_values() {
    let values = [1, 2, 3, 4];
    let at = |percent| percentile(&values, percent);
    assert_eq!([at(0.0), at(25.0), at(50.0), at(51.0), at(100.0)], [1, 1, 2, 3, 4].map(Some));
    assert_eq!(percentile(&[], 50.0), None);
}

#[test]
fn bytes_are_in_order_once_every_gap_before_them_is_filled() {
    let records = [
        delivered(&tcp4(152, 1, u32::MAX - 49), 0, 0, 1),
        delivered(&tcp4(152, 1, 150), 1, 0, 3),
        delivered(&tcp4(152, 1, 50), 2, 0, 7),
        delivered(&tcp4(152, 1, 50), 3, 0, 8),
    ];
    let expected = [(100, LabTime(1)), (200, LabTime(7)), (300, LabTime(7))];
    assert_eq!(crate::in_order(&records), expected, "the third fills the gap, the fourth brings nothing new");
    assert_eq!(crate::in_order(&[]), []);
}

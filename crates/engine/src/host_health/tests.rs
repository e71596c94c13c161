//! Readings of this very host.

use std::net::UdpSocket;

use rrul_model::observation::{ObservationPoint, Tables};

use super::*;
use crate::clock::RawTime;
use crate::clock::host_clock::HostClock;
use crate::environment::{AddressPair, Extent, read_state};
use crate::observer::Observer;

const CLOCK: TestClock = TestClock { origin: RawTime(0), host: HostClock::TRUE };

fn tables(observer: &Observer) -> Tables {
    let mut frames = observer.collect(CLOCK);
    assert_eq!((frames.len(), frames[0].dropped), (1, 0));
    frames.remove(0).tables
}

#[test]
fn a_reading_has_every_core_the_sockets_and_the_interface_to_the_other_host() {
    let pairs = [AddressPair { from: None, to: "127.0.0.1:9".parse().unwrap() }];
    let state = read_state(&pairs, Extent::InUse);
    let health = HostHealth::default();
    health.watch_interfaces(&state);
    let [one, other, third, gone] = [(); 4].map(|()| Arc::new(Socket::from(UdpSocket::bind("127.0.0.1:0").unwrap())));
    health.watch_socket(FlowId(1), &one);
    health.watch_socket(FlowId::CONTROL, &other);
    health.watch_socket(FlowId::CONTROL, &third);
    drop(health.watch_while_kept(FlowId(2), &gone));
    let observer = Observer::new(ObservationPoint::Client);
    let mut sink = observer.sink(health.rows_in(3.0));
    let mut reader = health.reader();
    reader.each_second(CLOCK, |row| sink.note(row));
    let cores = std::thread::available_parallelism().unwrap().get();
    let tables = tables(&observer);
    assert!(tables.cpu_time.len() >= cores && tables.softnet_count.len() >= cores);
    assert_eq!(tables.process_time.len(), 1);
    let drops: Vec<_> = tables.socket_drops.rows().map(|row| (row.flow, row.dropped)).collect();
    assert_eq!(drops, [(FlowId(1), 0), (FlowId::CONTROL, 0)], "two sockets of one flow are one row");
    let count = tables.interface_count.rows().next().unwrap();
    let before = state.interfaces[0].counters;
    assert_eq!(count.interface, state.interfaces[0].index);
    assert!(count.sent_octets >= before.sent_octets && count.received_packets >= before.received_packets);
}

#[test]
fn queues_are_read_ten_times_a_second_however_often_it_is_asked() {
    let health = HostHealth::default();
    health.0.lock().unwrap().queues = vec![1];
    let observer = Observer::new(ObservationPoint::Client);
    let mut sink = observer.sink(100);
    let mut reader = health.reader();
    let before = CLOCK.now();
    for _ in 0..50 {
        reader.often(CLOCK, |row| sink.note(row));
    }
    let most = 2 + CLOCK.now().since(before).0 / QUEUE_INTERVAL;
    let read = tables(&observer).queue_count.len();
    assert!(read as i64 <= most, "{read} readings in the time for {most}");
}

#[test]
fn an_interface_that_is_gone_is_not_asked_again() {
    let health = HostHealth::default();
    health.0.lock().unwrap().interfaces = vec![u32::MAX >> 1];
    let observer = Observer::new(ObservationPoint::Client);
    let mut sink = observer.sink(1000);
    let mut reader = health.reader();
    reader.each_second(CLOCK, |row| sink.note(row));
    assert!(health.0.lock().unwrap().interfaces.is_empty());
}

//! What RFC 8290 promises, in virtual time.

use super::*;
use crate::queue::Limit;
use crate::queue::drive::{empty, ms, packet};

fn queue(options: &QueueOptions) -> FqCodel {
    FqCodel::new(options, 1).unwrap()
}

/// Offers `count` packets of `flow` at `now`, with slots from `first` on.
fn offer(queue: &mut FqCodel, flow: u64, first: u32, count: u32, now: LabTime) -> Vec<DroppedPacket> {
    let mut dropped = Vec::new();
    for slot in first..first + count {
        queue.enqueue(packet(slot, flow, now), now, &mut dropped);
    }
    dropped
}

#[test]
fn a_sparse_flow_passes_the_backlog_of_a_fat_one() {
    let mut queue = queue(&QueueOptions::default());
    offer(&mut queue, 1, 0, 100, ms(0));
    let mut dropped = Vec::new();
    // Two packets of the fat flow spend its first quantum (1500 of 1514, then 14 left allow one more), so it is old.
    for slot in 0..2 {
        assert_eq!(queue.dequeue(ms(0), &mut dropped).unwrap().slot, slot);
    }
    offer(&mut queue, 2, 1000, 1, ms(1));
    assert_eq!(queue.dequeue(ms(1), &mut dropped).unwrap().slot, 1000, "the newcomer is served next");
    assert_eq!(queue.dequeue(ms(1), &mut dropped).unwrap().slot, 2);
}

#[test]
fn an_emptied_new_flow_waits_a_round_before_it_is_new_again() {
    let mut queue =
        queue(&QueueOptions { quantum: Some(rrul_model::units::ByteCount(1500)), ..QueueOptions::default() });
    offer(&mut queue, 1, 0, 100, ms(0));
    let mut dropped = Vec::new();
    assert_eq!(queue.dequeue(ms(0), &mut dropped).unwrap().slot, 0);
    // Flow 2 sends one packet after each departure: if it were new each time, flow 1 would starve.
    let mut fat = 0;
    for slot in 0..20 {
        offer(&mut queue, 2, 1000 + slot, 1, ms(1));
        fat += u32::from(queue.dequeue(ms(1), &mut dropped).unwrap().slot < 1000);
    }
    assert!((9..=11).contains(&fat), "flow 1 got {fat} of 20 departures, half is fair");
}

#[test]
fn backlogged_flows_share_bytes_not_packets() {
    let mut queue = queue(&QueueOptions::default());
    let mut dropped = Vec::new();
    for _ in 0..2000 {
        queue.enqueue(packet(1, 1, ms(0)), ms(0), &mut dropped);
        queue.enqueue(QueuedPacket { length: 300, ..packet(2, 2, ms(0)) }, ms(0), &mut dropped);
    }
    let mut octets = [0u64; 2];
    for _ in 0..1800 {
        let sent = queue.dequeue(ms(0), &mut dropped).unwrap();
        octets[sent.slot as usize - 1] += u64::from(sent.length);
    }
    let difference = octets[0].abs_diff(octets[1]);
    // Deficit round robin: never further apart than a quantum and a packet each.
    assert!(difference <= 2 * (1514 + 1500), "{octets:?} differ by {difference}");
    assert_eq!(dropped, []);
}

#[test]
fn overflow_takes_half_of_the_fattest_queue_from_its_head() {
    let mut queue = queue(&QueueOptions { limit: Some(Limit::Packets(100)), ..QueueOptions::default() });
    assert_eq!(offer(&mut queue, 2, 1000, 9, ms(0)), []);
    assert_eq!(offer(&mut queue, 1, 0, 91, ms(0)), []);
    let dropped = offer(&mut queue, 2, 1009, 1, ms(3));
    let slots: Vec<u32> = dropped.iter().map(|drop| drop.packet.slot).collect();
    assert_eq!(slots, (0..46).collect::<Vec<u32>>(), "half of 91, rounded up, oldest first, none of flow 2");
    assert!(dropped.iter().all(|drop| drop.cause == DropCause::Overflow && drop.at == ms(3)));
    assert_eq!(queue.packets(), 55);
}

#[test]
fn overflow_never_takes_more_than_a_batch() {
    let mut queue = queue(&QueueOptions { limit: Some(Limit::Packets(1000)), ..QueueOptions::default() });
    assert_eq!(offer(&mut queue, 1, 0, 1001, ms(0)).len(), 64);
}

#[test]
fn each_flow_has_its_own_codel_so_that_only_the_fat_one_is_dropped() {
    let mut queue = queue(&QueueOptions { ecn: Some(false), ..QueueOptions::default() });
    let mut dropped = Vec::new();
    let mut thin_delays = Vec::new();
    // A departure a millisecond; flow 1 always has 50 waiting, flow 2 sends a packet every 20 ms.
    let mut waiting = 0;
    for now in 0..2000u64 {
        for _ in waiting..50 {
            queue.enqueue(packet(1, 1, ms(now)), ms(now), &mut dropped);
        }
        if now % 20 == 10 {
            queue.enqueue(packet(2, 2, ms(now)), ms(now), &mut dropped);
        }
        let sent = queue.dequeue(ms(now), &mut dropped).unwrap();
        if sent.slot == 2 {
            thin_delays.push(now - sent.arrival.0 / 1_000_000);
        }
        waiting = queue.packets();
    }
    assert!(dropped.len() > 50, "the fat flow is dropped: {}", dropped.len());
    assert!(dropped.iter().all(|drop| drop.packet.slot == 1 && drop.cause == DropCause::Aqm));
    assert_eq!(thin_delays.len(), 100);
    assert!(thin_delays.iter().all(|delay| *delay <= 1), "the thin flow waits for one packet at most: {thin_delays:?}");
}

#[test]
fn the_seed_decides_which_flows_collide() {
    let few = QueueOptions { flows: Some(2), ..QueueOptions::default() };
    let placed = |seed| {
        let queue = FqCodel::new(&few, seed).unwrap();
        (0..64).map(|flow| queue.flow_of(&packet(0, flow, ms(0)))).collect::<Vec<usize>>()
    };
    assert_eq!(placed(1), placed(1));
    assert_ne!(placed(1), placed(2));
}

#[test]
fn what_waits_is_neither_lost_nor_doubled() {
    let mut queue = queue(&QueueOptions { flows: Some(16), ..QueueOptions::default() });
    for flow in 0..40 {
        offer(&mut queue, u64::from(flow), flow * 100, 30, ms(u64::from(flow)));
    }
    let (mut sent, dropped) = empty(&mut queue, ms(41));
    assert_eq!(dropped, []);
    sent.sort_unstable();
    let all: Vec<u32> = (0..40).flat_map(|flow| flow * 100..flow * 100 + 30).collect();
    assert_eq!(sent, all);
    assert_eq!((queue.packets(), queue.new.len(), queue.old.len()), (0, 0, 0));
}

#[test]
fn draining_gives_everything_in_the_order_of_arrival() {
    let mut queue = queue(&QueueOptions::default());
    for step in 0..20u32 {
        offer(&mut queue, u64::from(step % 3), step, 1, ms(u64::from(step)));
    }
    let slots: Vec<u32> = queue.drain().iter().map(|packet| packet.slot).collect();
    assert_eq!(slots, (0..20).collect::<Vec<u32>>());
    assert_eq!(empty(&mut queue, ms(30)).0, [] as [u32; 0]);
    offer(&mut queue, 1, 7, 1, ms(31));
    assert_eq!(empty(&mut queue, ms(31)).0, [7], "a drained queue works on");
}

//! The way from the bottleneck to the other host: propagation, delay variation, reordering.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rrul_model::random::Random;

use crate::link::LinkDirection;
use crate::link::selection::Selector;
use crate::time::{LabTime, nanoseconds};

/// Packets in flight, by their slot in the pipe's pool.
#[derive(Debug)]
pub(crate) struct Wire {
    delay: u64,
    variation: u64,
    random: Random,
    reordered: Selector,
    displacement: Option<u32>,
    extra_delay: u64,
    /// The latest delivery so far: nothing that is not held back arrives before it.
    latest: LabTime,
    order: u64,
    /// Delivery time, order among equals, slot.
    flying: BinaryHeap<Reverse<(LabTime, u64, u32)>>,
    held: Vec<Held>,
}

/// A packet held back until others have overtaken it.
#[derive(Debug)]
struct Held {
    /// When it arrives at the latest.
    deadline: LabTime,
    order: u64,
    slot: u32,
    /// How many more have to overtake it; without a number only the deadline counts.
    remaining: Option<u32>,
}

impl Wire {
    /// With so many nanoseconds of propagation.
    pub(crate) fn new(direction: &LinkDirection, delay: u64, seed: u64) -> Self {
        let reorder = &direction.reorder;
        Self {
            delay,
            variation: nanoseconds(direction.delay_variation),
            random: Random::new(seed, "delay variation"),
            reordered: Selector::new(reorder.packets.clone(), Random::new(seed, "reorder")),
            displacement: reorder.displacement,
            extra_delay: nanoseconds(reorder.extra_delay),
            latest: LabTime(0),
            order: 0,
            flying: BinaryHeap::new(),
            held: Vec::new(),
        }
    }

    /// Takes over new settings; what flies keeps its delivery time.
    pub(crate) fn set(&mut self, direction: &LinkDirection, delay: u64, seed: u64) {
        let fresh = Self::new(direction, delay, seed);
        let flying = std::mem::take(&mut self.flying);
        let held = std::mem::take(&mut self.held);
        *self = Self { latest: self.latest, order: self.order, flying, held, ..fresh };
    }

    /// Propagation delay alone, the least that any packet takes behind the queue.
    pub(crate) fn least_delay(&self) -> u64 {
        self.delay
    }

    /// Takes a packet whose last bit left the bottleneck at `departure`, and its copy if the link makes one, which
    /// follows right behind. Returns whether the packet was held back. Only what `impaired` says may be held back.
    pub(crate) fn send(&mut self, slot: u32, copy: Option<u32>, departure: LabTime, impaired: bool) -> bool {
        let variation = if self.variation > 0 { self.random.up_to(self.variation) } else { 0 };
        let delivery = LabTime(departure.0 + self.delay + variation).max(self.latest);
        let hold = impaired && self.reordered.hits();
        if hold {
            let held = Held {
                deadline: LabTime(delivery.0 + self.extra_delay),
                order: self.next_order(),
                slot,
                remaining: self.displacement,
            };
            self.held.push(held);
        } else {
            self.latest = delivery;
            self.fly(slot, delivery);
            self.overtake(delivery);
        }
        if let Some(copy) = copy {
            self.latest = delivery;
            self.fly(copy, delivery);
        }
        hold
    }

    /// Takes a packet that keeps to no order: an answer of a router, which comes from elsewhere on the path.
    pub(crate) fn send_apart(&mut self, slot: u32, delivery: LabTime) {
        self.fly(slot, delivery);
    }

    /// Nanoseconds for which a packet is held back that does not go to the end of the wire, so that nothing can be seen to
    /// overtake it there; `None` when it is not.
    pub(crate) fn hold_apart(&mut self, impaired: bool) -> Option<u64> {
        (impaired && self.reordered.hits()).then_some(self.extra_delay)
    }

    /// Counts one packet that arrives at `delivery` past those held back; the last one counted takes them along.
    fn overtake(&mut self, delivery: LabTime) {
        let mut index = 0;
        while index < self.held.len() {
            let held = &mut self.held[index];
            if held.deadline > delivery {
                held.remaining = held.remaining.map(|remaining| remaining.saturating_sub(1));
            }
            if held.remaining == Some(0) && held.deadline > delivery {
                let slot = self.held.remove(index).slot;
                self.fly(slot, delivery);
            } else {
                index += 1;
            }
        }
    }

    fn fly(&mut self, slot: u32, delivery: LabTime) {
        let order = self.next_order();
        self.flying.push(Reverse((delivery, order, slot)));
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// When the next packet arrives at the other host.
    pub(crate) fn next_arrival(&self) -> Option<LabTime> {
        let flying = self.flying.peek().map(|Reverse((delivery, _, _))| *delivery);
        let held = self.held.iter().map(|held| held.deadline).min();
        flying.into_iter().chain(held).min()
    }

    /// The next packet that has arrived by `now`, with the time of its arrival.
    pub(crate) fn arrive(&mut self, now: LabTime) -> Option<(u32, LabTime)> {
        let next = self.next_arrival().filter(|next| *next <= now)?;
        let expired = self.held.iter().enumerate().filter(|(_, held)| held.deadline == next);
        if let Some(index) = expired.min_by_key(|(_, held)| held.order).map(|(index, _)| index) {
            return Some((self.held.remove(index).slot, next));
        }
        self.flying.pop().map(|Reverse((delivery, _, slot))| (slot, delivery))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::Reorder;
    use crate::link::selection::Selection;

    fn wire(change: impl FnOnce(&mut LinkDirection)) -> Wire {
        let mut direction = LinkDirection::ideal();
        direction.delay = Duration::from_millis(10);
        change(&mut direction);
        Wire::new(&direction, nanoseconds(direction.delay), 1)
    }

    /// Sends `count` packets a millisecond apart and gives the slots and times in ms of their arrival.
    fn arrivals(mut wire: Wire, count: u32) -> Vec<(u32, u64)> {
        for slot in 0..count {
            wire.send(slot, None, LabTime(u64::from(slot) * 1_000_000), true);
        }
        std::iter::from_fn(|| wire.arrive(LabTime(u64::MAX))).map(|(slot, at)| (slot, at.0 / 1_000_000)).collect()
    }

    #[test]
    fn a_packet_displaced_by_two_arrives_right_behind_the_second_that_overtook_it() {
        let reorder = Reorder {
            packets: Selection::Numbers(vec![2]),
            displacement: Some(2),
            extra_delay: Duration::from_secs(1),
        };
        let arrivals = arrivals(wire(|direction| direction.reorder = reorder), 5);
        assert_eq!(arrivals, [(0, 10), (2, 12), (3, 13), (1, 13), (4, 14)]);
    }

    #[test]
    fn a_held_packet_arrives_after_its_extra_delay_when_too_few_overtake_it() {
        let reorder = Reorder {
            packets: Selection::Numbers(vec![2]),
            displacement: Some(20),
            extra_delay: Duration::from_micros(2500),
        };
        let arrivals = arrivals(wire(|direction| direction.reorder = reorder), 5);
        assert_eq!(arrivals, [(0, 10), (2, 12), (3, 13), (1, 13), (4, 14)], "1 + 10 + 2.5 ms");
    }

    #[test]
    fn delay_variation_stays_in_its_range_and_never_reorders() {
        let mut varied = wire(|direction| direction.delay_variation = Duration::from_millis(5));
        let mut extra = Vec::new();
        for slot in 0..10_000 {
            // 10 ms apart, so that nothing has to wait for the one before.
            varied.send(slot, None, LabTime(u64::from(slot) * 10_000_000), true);
        }
        for slot in 0..10_000 {
            let (arrived, at) = varied.arrive(LabTime(u64::MAX)).unwrap();
            assert_eq!(arrived, slot);
            extra.push(at.0 - u64::from(slot) * 10_000_000 - 10_000_000);
        }
        let mean = extra.iter().sum::<u64>() as f64 / 10_000.0;
        assert!(extra.iter().all(|extra| *extra <= 5_000_000));
        // Uniform 0..5 ms: mean 2.5 ms, standard error 1.443 ms / 100; five of them.
        assert!((mean - 2_500_000.0).abs() < 72_200.0, "mean {mean} ns");
        let close = arrivals(wire(|direction| direction.delay_variation = Duration::from_millis(50)), 1000);
        assert!(close.windows(2).all(|pair| pair[0].0 < pair[1].0), "sent 1 ms apart, varied by 50 ms, still in order");
    }

    #[test]
    fn a_copy_follows_right_behind_its_original() {
        let mut wire = wire(|_| {});
        assert!(!wire.send(7, Some(8), LabTime(5), true));
        assert_eq!(wire.next_arrival(), Some(LabTime(10_000_005)));
        assert_eq!(wire.arrive(LabTime(10_000_004)), None);
        assert_eq!(wire.arrive(LabTime(10_000_005)), Some((7, LabTime(10_000_005))));
        assert_eq!(wire.arrive(LabTime(10_000_005)), Some((8, LabTime(10_000_005))));
    }

    #[test]
    fn a_shorter_delay_set_while_packets_fly_lets_none_overtake() {
        let mut wire = wire(|_| {});
        wire.send(1, None, LabTime(0), true);
        let mut shorter = LinkDirection::ideal();
        shorter.delay = Duration::from_millis(1);
        wire.set(&shorter, nanoseconds(shorter.delay), 1);
        wire.send(2, None, LabTime(1000), true);
        let arrivals: Vec<_> = std::iter::from_fn(|| wire.arrive(LabTime(u64::MAX))).collect();
        assert_eq!(arrivals, [(1, LabTime(10_000_000)), (2, LabTime(10_000_000))]);
    }
}

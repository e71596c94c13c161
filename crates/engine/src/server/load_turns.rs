//! Whose test loads the server's line: one after another, or several within what the operator allows.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rrul_proto::admission::load_queue::{Demand, GivingWay, LoadPolicy, LoadQueue, Place};

use crate::clock::RawTime;

/// What a test takes of the line beside its length: to be set up, and for what is still on its way when it ends.
const BESIDE: Duration = Duration::from_secs(5);

/// The turns of a server.
#[derive(Debug)]
pub(super) struct LoadTurns(Mutex<Queue>);

#[derive(Debug)]
struct Queue {
    turns: LoadQueue,
    /// Number of the next test that asks.
    next: u64,
    /// Tests that wait, and since when.
    waiting: BTreeMap<u64, RawTime>,
    waits: Waits,
}

/// Tests that had to wait for their turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Those that wait now.
    pub now: u64,
    /// Those that have had their turn after waiting.
    pub over: u64,
    /// How long these have waited together.
    pub time: Duration,
}

/// Which test a turn is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TestNumber(u64);

/// A test that loads, or waits to; the next follows when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<LoadTurns>,
    test: u64,
    /// What was asked for.
    length: Duration,
    rate: Option<u64>,
}

impl LoadTurns {
    pub(super) fn new(policy: LoadPolicy, giving_way: GivingWay) -> Arc<Self> {
        let mut turns = LoadQueue::new(policy);
        turns.set_giving_way(giving_way);
        Arc::new(Self(Mutex::new(Queue { turns, next: 0, waiting: BTreeMap::new(), waits: Waits::default() })))
    }

    /// Changes how much load is taken at one time, and when a test gives way.
    pub(super) fn set_policy(&self, policy: LoadPolicy, giving_way: GivingWay) {
        let mut queue = self.queue();
        queue.turns.set_policy(policy);
        queue.turns.set_giving_way(giving_way);
    }

    /// Whether this test is to end, as another network has waited for long.
    pub(super) fn gives_way(&self, test: TestNumber) -> bool {
        self.queue().turns.gives_way(test.0, RawTime::now().0)
    }

    /// A test from this address asks for its turn.
    pub(super) fn ask(self: &Arc<Self>, address: IpAddr, length: Duration, rate: Option<u64>) -> Turn {
        let mut queue = self.queue();
        let test = queue.next;
        queue.next += 1;
        queue.turns.ask(test, address, Demand { rate, length: length.saturating_add(BESIDE) });
        Turn { turns: Arc::clone(self), test, length, rate }
    }

    /// Whether any test waits.
    pub(super) fn is_wanted(&self) -> bool {
        self.queue().turns.is_wanted()
    }

    /// Who waits, and who has waited.
    pub(super) fn waits(&self) -> Waits {
        let queue = self.queue();
        Waits { now: queue.waiting.len() as u64, ..queue.waits }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The place in the line; `None` once it is this test's turn.
    pub(super) fn place(&self) -> Option<Place> {
        let now = RawTime::now();
        let mut queue = self.turns.queue();
        queue.turns.grant(now.0);
        let place = queue.turns.place(self.test, now.0);
        if place.is_some() {
            queue.waiting.entry(self.test).or_insert(now);
        } else if let Some(since) = queue.waiting.remove(&self.test) {
            queue.waits.over += 1;
            queue.waits.time += Duration::from_nanos(u64::try_from(now.since(since)).unwrap_or(0));
        }
        place
    }

    pub(super) fn test(&self) -> TestNumber {
        TestNumber(self.test)
    }

    /// Whether a test of this length and rate is no more than was asked for.
    pub(super) fn covers(&self, length: Duration, rate: Option<u64>) -> bool {
        let rate_fits = self.rate.is_none_or(|most| rate.is_some_and(|rate| rate <= most));
        length <= self.length && rate_fits
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.turns.queue();
        queue.turns.count_time(RawTime::now().0);
        queue.turns.leave(self.test);
        queue.waiting.remove(&self.test);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const TEN: Duration = Duration::from_secs(10);

    #[test]
    fn the_next_follows_when_a_turn_is_dropped_wherever_that_is() {
        let turns = LoadTurns::new(LoadPolicy::Exclusive, GivingWay::default());
        let ask = || turns.ask(Ipv4Addr::LOCALHOST.into(), TEN, None);
        let (first, second, third) = (ask(), ask(), ask());
        assert_eq!(first.place(), None);
        assert_eq!(second.place().map(|place| place.position), Some(1));
        assert_eq!(third.place().map(|place| place.position), Some(2));
        assert_eq!(turns.waits(), Waits { now: 2, ..Waits::default() });
        drop(second);
        assert_eq!(third.place().map(|place| place.position), Some(1));
        assert!(turns.is_wanted());
        drop(first);
        assert!(third.place().is_none() && !turns.is_wanted());
        let waits = turns.waits();
        assert_eq!((waits.now, waits.over), (0, 1), "who has left has not waited");
        assert!(!waits.time.is_zero());
    }

    #[test]
    fn a_turn_covers_what_was_asked_for_and_no_more() {
        let turns = LoadTurns::new(LoadPolicy::Unlimited, GivingWay::default());
        let turn = turns.ask(Ipv4Addr::LOCALHOST.into(), TEN, Some(5));
        assert!(turn.covers(TEN, Some(5)) && !turn.covers(TEN, Some(6)) && !turn.covers(TEN, None));
        assert!(!turn.covers(TEN + Duration::from_nanos(1), Some(5)));
        assert!(turns.ask(Ipv4Addr::LOCALHOST.into(), TEN, None).covers(TEN, None));
    }
}

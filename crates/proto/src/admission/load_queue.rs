//! Whose load is next: tests that fill a path run one after another, or together within what the operator allows.
//!
//! Networks take turns: each test that waits is as far behind as its network has asked for before (start-time fair queueing,
//! Goyal, Vin and Cheng 1996, with the length of a test as its cost). So a network that asks for much waits behind its own tests. And
//! one that has loaded for long of late gives way to one that has waited.

use std::collections::HashMap;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use rrul_model::units::BitRate;

use super::prefix::Prefix;

/// How much load a server takes at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadPolicy {
    /// One test that loads.
    #[default]
    Exclusive,
    /// As many as ask for no more than so many bits per second together. What names no rate has it to itself.
    Within(u64),
    /// Any number.
    Unlimited,
}

/// A policy that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}, or write any")]
pub struct NoPolicy(<BitRate as FromStr>::Err);

impl FromStr for LoadPolicy {
    type Err = NoPolicy;

    fn from_str(text: &str) -> Result<Self, NoPolicy> {
        if text == "any" {
            return Ok(Self::Unlimited);
        }
        text.parse::<BitRate>().map(|rate| Self::Within(rate.0)).map_err(NoPolicy)
    }
}

/// When a test that runs gives way to one of another network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivingWay {
    /// How long a network may load within an hour before others need not wait for it.
    pub share: Duration,
    /// How long they wait all the same.
    pub patience: Duration,
}

impl Default for GivingWay {
    fn default() -> Self {
        Self { share: Duration::from_mins(2), patience: Duration::from_mins(1) }
    }
}

/// The time in which a network's share comes back.
const SHARE_PERIOD: Duration = Duration::from_hours(1);

/// How long a network has loaded of late: its share leaks out of this in [`SHARE_PERIOD`].
#[derive(Debug, Clone, Copy, Default)]
struct Loaded {
    /// Nanoseconds.
    level: i64,
    /// When it was that.
    at: i64,
}

/// The load that a test asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Bits per second of its load at most; `None` for as much as the path takes.
    pub rate: Option<u64>,
    /// How long it may hold its place, with what it takes to begin and to end.
    pub length: Duration,
}

/// Where in the queue a test waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// 1 is the next.
    pub position: u32,
    /// How long it waits at most when every test takes its whole length.
    pub wait: Duration,
}

#[derive(Debug)]
struct Running {
    test: u64,
    network: Prefix,
    rate: Option<u64>,
    ends: i64,
    /// Up to when its time is counted.
    counted: i64,
}

#[derive(Debug)]
struct Waiting {
    test: u64,
    network: Prefix,
    demand: Demand,
    /// When it was first seen to wait.
    since: Option<i64>,
    /// Its turn: the lowest is next. Nanoseconds of load that its network was ahead.
    turn: u128,
    /// Whether its network had asked for nothing that it has not had by then: it goes before others of the same turn.
    is_fresh: bool,
}

/// The tests that load, and those that wait for it. Times are nanoseconds of any monotonic clock.
#[derive(Debug, Default)]
pub struct LoadQueue {
    policy: LoadPolicy,
    giving_way: GivingWay,
    running: Vec<Running>,
    /// In the order of their turns.
    waiting: Vec<Waiting>,
    /// Turn of the test that was granted last.
    now_serving: u128,
    /// Up to which turn each network has asked.
    asked: HashMap<Prefix, u128>,
    /// Of networks that have loaded within the last hour.
    loaded: HashMap<Prefix, Loaded>,
}

impl LoadQueue {
    /// An empty queue.
    pub fn new(policy: LoadPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Changes how much load is taken at one time. Tests that run go on.
    pub fn set_policy(&mut self, policy: LoadPolicy) {
        self.policy = policy;
    }

    /// Changes when a test gives way.
    pub fn set_giving_way(&mut self, giving_way: GivingWay) {
        self.giving_way = giving_way;
    }

    /// This test asks for its turn; the number is the caller's. A test that has asked already keeps its place.
    pub fn ask(&mut self, test: u64, address: IpAddr, demand: Demand) {
        if self.runs(test) || self.waiting.iter().any(|waiting| waiting.test == test) {
            return;
        }
        let network = Prefix::party_of(address);
        let is_fresh = !self.asked.contains_key(&network);
        let asked = self.asked.entry(network).or_insert(0);
        let turn = self.now_serving.max(*asked);
        *asked = turn.saturating_add(demand.length.as_nanos());
        // Behind all that have the same turn: they came before.
        let place = self.waiting.partition_point(|waiting| (waiting.turn, !waiting.is_fresh) <= (turn, !is_fresh));
        self.waiting.insert(place, Waiting { test, network, demand, since: None, turn, is_fresh });
    }

    /// Grants every test whose turn has come, and returns them in order.
    pub fn grant(&mut self, now: i64) -> Vec<u64> {
        self.count_time(now);
        let mut granted = Vec::new();
        while self.waiting.first().is_some_and(|next| self.has_room(next.demand)) {
            let Waiting { test, network, demand, turn, .. } = self.waiting.remove(0);
            let length = i64::try_from(demand.length.as_nanos()).unwrap_or(i64::MAX);
            let (rate, ends) = (demand.rate, now.saturating_add(length));
            self.running.push(Running { test, network, rate, ends, counted: now });
            self.now_serving = self.now_serving.max(turn);
            granted.push(test);
        }
        let serving = self.now_serving;
        self.asked.retain(|_, turn| *turn > serving);
        for waiting in &mut self.waiting {
            waiting.since.get_or_insert(now);
        }
        granted
    }

    /// Counts how long the tests that run have loaded: before one leaves, and now and then.
    pub fn count_time(&mut self, now: i64) {
        for Running { network, counted, .. } in &mut self.running {
            let took = now.saturating_sub(*counted).max(0);
            *counted = now.max(*counted);
            let loaded = self.loaded.entry(*network).or_default();
            let level = self.giving_way.left(*loaded, now).saturating_add(took);
            // No more than what leaks out in an hour more than a share: then the network has a share again.
            *loaded = Loaded { level: level.min(nanoseconds(self.giving_way.share).saturating_mul(2)), at: now };
        }
        let giving_way = self.giving_way;
        self.loaded.retain(|_, loaded| giving_way.left(*loaded, now) > 0);
    }

    /// Whether a test that runs is to end: its network has had its share of late, and one that has not has waited for long.
    pub fn gives_way(&mut self, test: u64, now: i64) -> bool {
        self.count_time(now);
        let Some(running) = self.running.iter().find(|running| running.test == test) else { return false };
        let share = nanoseconds(self.giving_way.share);
        let has_had_share = |network: &Prefix| {
            self.loaded.get(network).is_some_and(|loaded| self.giving_way.left(*loaded, now) > share)
        };
        let patience = nanoseconds(self.giving_way.patience);
        let has_waited = |since: Option<i64>| since.is_some_and(|since| now.saturating_sub(since) >= patience);
        let is_kept_waiting = |waiting: &Waiting| {
            waiting.network != running.network && has_waited(waiting.since) && !has_had_share(&waiting.network)
        };
        has_had_share(&running.network) && self.waiting.iter().any(is_kept_waiting)
    }

    /// A test has ended, or waits no longer.
    pub fn leave(&mut self, test: u64) {
        self.running.retain(|running| running.test != test);
        self.waiting.retain(|waiting| waiting.test != test);
        if self.waiting.is_empty() && self.running.is_empty() {
            self.asked.clear();
        }
    }

    /// Whether this test has been granted its load and has not left.
    pub fn runs(&self, test: u64) -> bool {
        self.running.iter().any(|running| running.test == test)
    }

    /// Where this test waits; `None` when it does not.
    pub fn place(&self, test: u64, now: i64) -> Option<Place> {
        let ahead = self.waiting.iter().position(|waiting| waiting.test == test)?;
        let last = self.running.iter().map(|running| running.ends).max().unwrap_or(now);
        let rest = Duration::from_nanos(last.saturating_sub(now).max(0).cast_unsigned());
        let before = self.waiting.iter().take(ahead).map(|waiting| waiting.demand.length);
        let wait = before.fold(rest, Duration::saturating_add);
        Some(Place { position: u32::try_from(ahead + 1).unwrap_or(u32::MAX), wait })
    }

    /// Whether any test waits.
    pub fn is_wanted(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn has_room(&self, demand: Demand) -> bool {
        match self.policy {
            LoadPolicy::Unlimited => true,
            _ if self.running.is_empty() => true,
            LoadPolicy::Exclusive => false,
            LoadPolicy::Within(egress) => {
                let rates = self.running.iter().map(|running| running.rate).chain([demand.rate]);
                let sum = rates.into_iter().try_fold(0_u64, |sum, rate| sum.checked_add(rate?));
                sum.is_some_and(|sum| sum <= egress)
            }
        }
    }
}

impl GivingWay {
    /// What is left of the time that a network has loaded.
    fn left(self, loaded: Loaded, now: i64) -> i64 {
        let passed = i128::from(now.saturating_sub(loaded.at).max(0));
        let leaked = passed * i128::from(nanoseconds(self.share)) / SHARE_PERIOD.as_nanos().cast_signed();
        loaded.level.saturating_sub(i64::try_from(leaked).unwrap_or(i64::MAX)).max(0)
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn host(network: u8, host: u8) -> IpAddr {
        IpAddr::from([192, 0, network, host])
    }

    fn of_seconds(seconds: u64) -> Demand {
        Demand { rate: None, length: Duration::from_secs(seconds) }
    }

    #[test]
    fn a_policy_is_a_rate_or_any() {
        assert_eq!("any".parse::<LoadPolicy>().unwrap(), LoadPolicy::Unlimited);
        assert_eq!("20Mbit/s".parse::<LoadPolicy>().unwrap(), LoadPolicy::Within(20_000_000));
        assert!("20".parse::<LoadPolicy>().unwrap_err().to_string().ends_with("or write any"));
    }

    #[test]
    fn ten_tests_at_once_run_in_order_and_never_two_at_a_time() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        (0..10).for_each(|test| queue.ask(test, host(2, 1), of_seconds(16)));
        let mut order: Vec<u64> = Vec::new();
        for round in 0..10_i64 {
            let granted = queue.grant(round * 16 * SECOND);
            assert_eq!(granted.len(), 1, "round {round}");
            assert!(queue.grant(round * 16 * SECOND).is_empty(), "no second one beside it");
            order.extend(&granted);
            queue.leave(granted[0]);
        }
        assert_eq!(order, (0..10).collect::<Vec<_>>());
        assert!(!queue.is_wanted() && queue.asked.is_empty());
    }

    #[test]
    fn a_place_has_its_number_and_the_longest_wait() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        (0..3).for_each(|test| queue.ask(test, host(2, 1), of_seconds(30)));
        queue.grant(0);
        assert_eq!(queue.place(0, 0), None, "it runs");
        assert_eq!(queue.place(1, 10 * SECOND), Some(Place { position: 1, wait: Duration::from_secs(20) }));
        assert_eq!(queue.place(2, 10 * SECOND), Some(Place { position: 2, wait: Duration::from_secs(50) }));
        queue.leave(1);
        assert_eq!(queue.place(2, 10 * SECOND), Some(Place { position: 1, wait: Duration::from_secs(20) }));
    }

    #[test]
    fn a_network_that_asks_for_much_waits_behind_its_own_tests() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        (0..8).for_each(|test| queue.ask(test, host(1, test as u8), of_seconds(60)));
        (8..16).for_each(|test| queue.ask(test, host(2, test as u8), of_seconds(60)));
        assert_eq!(queue.grant(0), vec![0_u64]);
        queue.ask(99, host(3, 1), of_seconds(16));
        // The first test of the second network came before it, with the same turn; then it is its own.
        assert_eq!(queue.place(99, 0).unwrap().position, 2);
        queue.leave(0);
        assert_eq!(queue.grant(0), vec![8_u64]);
        queue.leave(8);
        assert_eq!(queue.grant(0), vec![99_u64]);
    }

    #[test]
    fn beside_two_networks_at_full_attack_a_third_waits_for_one_test_at_most() {
        const TEST: i64 = 60;
        let mut longest = 0;
        // Once both have had a turn.
        for arrival in (2 * TEST..8 * TEST).step_by(7) {
            let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
            let mut running: Option<(u64, i64)> = None;
            let waited = (0..).find_map(|second| {
                // Each of the two asks again for every test that has ended.
                for test in 0..32 {
                    queue.ask(test, host(1 + test as u8 / 16, 1), of_seconds(TEST.cast_unsigned()));
                }
                if second == arrival {
                    queue.ask(u64::MAX, host(3, 1), of_seconds(16));
                }
                if let Some((test, _)) = running.take_if(|(_, ends)| *ends <= second) {
                    queue.leave(test);
                }
                for test in queue.grant(second * SECOND) {
                    running = Some((test, second + TEST));
                }
                queue.runs(u64::MAX).then_some(second - arrival)
            });
            longest = longest.max(waited.unwrap());
        }
        assert!(longest <= TEST, "{longest} s");
    }

    /// Two networks ask again for a test of ten minutes whenever one has ended. How long a third waits that asks at this second.
    fn waits_beside_long_tests(arrival: i64) -> i64 {
        const TEST: i64 = 600;
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        let mut running: Option<(u64, i64)> = None;
        let waited = (0..).find_map(|second| {
            let now = second * SECOND;
            for test in 0..32 {
                queue.ask(test, host(1 + test as u8 / 16, 1), of_seconds(TEST.cast_unsigned()));
            }
            if second == arrival {
                queue.ask(u64::MAX, host(3, 1), of_seconds(16));
            }
            if let Some((test, ends)) = running
                && (ends <= second || queue.gives_way(test, now))
            {
                queue.count_time(now);
                queue.leave(test);
                running = None;
            }
            for test in queue.grant(now) {
                running = Some((test, second + TEST));
            }
            queue.runs(u64::MAX).then_some(second - arrival)
        });
        waited.unwrap_or_default()
    }

    #[test]
    fn beside_two_networks_with_long_tests_a_third_waits_for_a_minute_at_most() {
        // Once both have had their share of the hour.
        let longest = (2400..6000).step_by(61).map(waits_beside_long_tests).max();
        assert_eq!(longest, Some(60));
        // Before, each has its share.
        let first = waits_beside_long_tests(1);
        assert!((120..=250).contains(&first), "{first} s");
    }

    #[test]
    fn a_test_gives_way_to_no_network_that_has_had_its_share_and_to_none_of_its_own() {
        let ran = |queue: &mut LoadQueue, test, network, from: i64, to: i64| {
            queue.ask(test, host(network, 1), of_seconds(1000));
            assert_eq!(queue.grant(from * SECOND), vec![test]);
            queue.count_time(to * SECOND);
            queue.leave(test);
        };
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        ran(&mut queue, 1, 1, 0, 200);
        queue.ask(2, host(2, 1), of_seconds(1000));
        queue.grant(200 * SECOND);
        for (test, network) in [(3, 1), (4, 2)] {
            queue.ask(test, host(network, 9), of_seconds(16));
        }
        queue.grant(200 * SECOND);
        assert!(!queue.gives_way(2, 500 * SECOND), "the first has had its share, and the other is its own");
        queue.ask(5, host(5, 1), of_seconds(16));
        queue.grant(500 * SECOND);
        assert!(!queue.gives_way(2, 559 * SECOND) && queue.gives_way(2, 560 * SECOND));
        assert!(!queue.gives_way(5, 560 * SECOND), "it does not run");
    }

    #[test]
    fn a_share_comes_back_within_an_hour() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        queue.ask(1, host(1, 1), of_seconds(240));
        queue.grant(0);
        queue.count_time(240 * SECOND);
        queue.leave(1);
        assert!(!queue.loaded.is_empty());
        queue.count_time(7500 * SECOND);
        assert!(queue.loaded.is_empty(), "nothing is kept of a network that has been away: {:?}", queue.loaded);
    }

    #[test]
    fn a_network_that_has_been_away_gains_nothing_by_it() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        for test in 0..20 {
            queue.ask(test, host(1, 1), of_seconds(60));
        }
        for _ in 0..10 {
            let granted = queue.grant(0)[0];
            queue.leave(granted);
        }
        (100..103).for_each(|test| queue.ask(test, host(2, 1), of_seconds(60)));
        let order: Vec<u64> = (0..6)
            .map(|_| {
                let granted = queue.grant(0)[0];
                queue.leave(granted);
                granted
            })
            .collect();
        assert_eq!(order.iter().filter(|test| **test >= 100).count(), 3, "{order:?}");
        assert!(order[..3].iter().any(|test| *test < 100), "the other network has its turns, too: {order:?}");
    }

    #[test]
    fn loads_that_fit_the_egress_run_together() {
        let mut queue = LoadQueue::new(LoadPolicy::Within(100));
        let paced = |rate| Demand { rate: Some(rate), length: Duration::from_secs(10) };
        queue.ask(1, host(1, 1), paced(60));
        queue.ask(2, host(2, 1), paced(40));
        queue.ask(3, host(3, 1), paced(1));
        assert_eq!(queue.grant(0), vec![1_u64, 2_u64]);
        queue.leave(2);
        assert_eq!(queue.grant(0), vec![3_u64]);
        queue.ask(4, host(4, 1), of_seconds(10));
        assert!(queue.grant(0).is_empty(), "a load without a rate has the egress to itself");
        queue.leave(1);
        queue.leave(3);
        assert_eq!(queue.grant(0), vec![4_u64]);
        queue.ask(5, host(5, 1), paced(200));
        queue.leave(4);
        assert_eq!(queue.grant(0), vec![5_u64], "more than the egress runs alone");
    }

    #[test]
    fn without_a_limit_no_test_waits() {
        let mut queue = LoadQueue::new(LoadPolicy::Unlimited);
        (0..5).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
        assert_eq!(queue.grant(0).len(), 5);
    }

    #[test]
    fn a_new_policy_is_for_tests_that_wait() {
        let mut queue = LoadQueue::new(LoadPolicy::Unlimited);
        (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
        assert_eq!(queue.grant(0).len(), 3);
        queue.set_policy(LoadPolicy::Exclusive);
        queue.ask(3, host(1, 1), of_seconds(10));
        assert!(queue.grant(0).is_empty() && queue.runs(2));
        queue.set_policy(LoadPolicy::Unlimited);
        assert_eq!(queue.grant(0), vec![3_u64]);
    }

    #[test]
    fn who_asks_twice_keeps_the_first_place() {
        let mut queue = LoadQueue::new(LoadPolicy::Exclusive);
        (0..3).for_each(|test| queue.ask(test, host(1, 1), of_seconds(10)));
        queue.ask(0, host(1, 1), of_seconds(10));
        assert_eq!(queue.grant(0), vec![0_u64]);
        queue.ask(0, host(1, 1), of_seconds(10));
        queue.leave(0);
        assert_eq!(queue.grant(0), vec![1_u64]);
        assert_eq!(queue.place(0, 0), None);
    }
}

//! Whose load is next: tests that fill a path run one after another, or together within what the operator allows.
//!
//! Networks take turns: each test that waits is as far behind as its network has loaded, and asked for, before it (start-time fair
//! queueing, Goyal, Vin and Cheng 1996, with the length of a test as its cost). So a network that asks for much waits behind its own
//! tests. And one that has loaded for long of late gives way to one that has waited.
//!
//! Providers take turns first, and then the networks of the provider whose turn it is: who has many networks of one provider gains
//! little by it.

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

/// Networks of one provider that have turns as if the provider had no others.
const NETWORKS_OF_A_PROVIDER: u32 = 4;

/// Networks whose turns are remembered while they do not wait.
const MOST_NETWORKS: usize = 4096;

/// Who takes turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    party: Prefix,
    provider: Prefix,
}

impl Network {
    fn of(address: IpAddr) -> Self {
        Self { party: Prefix::party_of(address), provider: Prefix::provider_of(address) }
    }
}

/// A turn: the lowest is next. Nanoseconds of load that a network was ahead, and whether it had loaded before: one that had not goes
/// before others of the same turn.
type Turn = (u128, bool);

/// Turns of networks that share something.
#[derive(Debug, Default)]
struct Turns {
    /// Turn of the test that was granted last.
    serving: u128,
    /// The next turn of networks that wait, or that are ahead.
    next: HashMap<Prefix, Turn>,
}

impl Turns {
    /// A network begins to wait: it has saved up nothing while it did not.
    fn begin(&mut self, network: Prefix) {
        let next = self.next.entry(network).or_default();
        if next.0 <= self.serving {
            *next = (self.serving, false);
        }
    }

    /// The turn of a test behind so much that the network waits for; adds what the test costs.
    fn behind(&self, network: Prefix, ahead: &mut u128, cost: u128) -> Turn {
        let (next, has_loaded) = self.next.get(&network).copied().unwrap_or_default();
        let turn = (next.saturating_add(*ahead), has_loaded || *ahead > 0);
        *ahead = ahead.saturating_add(cost);
        turn
    }

    /// A test of this network is granted.
    fn charge(&mut self, network: Prefix, cost: u128) {
        let (next, has_loaded) = self.next.entry(network).or_default();
        self.serving = self.serving.max(*next);
        *next = next.saturating_add(cost);
        *has_loaded = true;
    }

    /// It has ended and leaves so much of that unused. Before a network that has just come, this brings it nowhere.
    fn give_back(&mut self, network: Prefix, unused: u128) {
        if let Some((next, _)) = self.next.get_mut(&network) {
            *next = next.saturating_sub(unused).max((*next).min(self.serving));
        }
    }

    /// Forgets networks that neither wait nor are ahead; all that do not wait when they are too many.
    fn forget(&mut self, waits: impl Fn(&Prefix) -> bool) {
        let is_crowded = self.next.len() > MOST_NETWORKS;
        self.next.retain(|network, (next, _)| *next > self.serving && !is_crowded || waits(network));
    }
}

#[derive(Debug)]
struct Running {
    test: u64,
    network: Network,
    weight: u32,
    rate: Option<u64>,
    ends: i64,
    /// Up to when its time is counted.
    counted: i64,
}

#[derive(Debug)]
struct Waiting {
    test: u64,
    network: Network,
    demand: Demand,
    /// When it was first seen to wait.
    since: Option<i64>,
    /// How many have asked before it.
    number: u64,
    turn: Turn,
    /// How many networks of its provider have turns beside each other.
    weight: u32,
}

/// The tests that load, and those that wait for it. Times are nanoseconds of any monotonic clock.
#[derive(Debug, Default)]
pub struct LoadQueue {
    policy: LoadPolicy,
    giving_way: GivingWay,
    running: Vec<Running>,
    /// In the order of their turns.
    waiting: Vec<Waiting>,
    /// How many tests have asked.
    asked: u64,
    /// Turns of providers.
    providers: Turns,
    /// Turns of the networks of each provider.
    parties: HashMap<Prefix, Turns>,
    /// Of networks and providers that have loaded within the last hour.
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
        let network = Network::of(address);
        let Network { party, provider } = network;
        if self.waiting.iter().all(|waiting| waiting.network.provider != provider) {
            self.providers.begin(provider);
        }
        if self.waiting.iter().all(|waiting| waiting.network.party != party) {
            self.parties.entry(provider).or_default().begin(party);
        }
        let number = self.asked;
        self.asked += 1;
        self.waiting.push(Waiting { test, network, demand, since: None, number, turn: Turn::default(), weight: 1 });
        self.arrange();
    }

    /// Puts those that wait in the order of their turns. Only what networks have loaded, and what waits now, counts: who has asked and left
    /// has cost its network nothing.
    fn arrange(&mut self) {
        self.waiting.sort_unstable_by_key(|waiting| waiting.number);
        let mut ahead: HashMap<Prefix, u128> = HashMap::new();
        let mut networks: HashMap<Prefix, u32> = HashMap::new();
        for Waiting { network: Network { party, provider }, demand, turn, .. } in &mut self.waiting {
            let ahead = ahead.entry(*party).or_insert_with(|| {
                *networks.entry(*provider).or_default() += 1;
                0
            });
            let turns = self.parties.entry(*provider).or_default();
            *turn = turns.behind(*party, ahead, demand.length.as_nanos());
        }
        // Stable: of one turn, who has asked first.
        self.waiting.sort_by_key(|waiting| waiting.turn);
        // In this order the tests of a provider have the turns of their provider.
        for Waiting { network: Network { provider, .. }, demand, turn, weight, .. } in &mut self.waiting {
            *weight = networks.get(provider).map_or(1, |count| *count.min(&NETWORKS_OF_A_PROVIDER));
            let cost = demand.length.as_nanos() / u128::from(*weight);
            *turn = self.providers.behind(*provider, ahead.entry(*provider).or_default(), cost);
        }
        self.waiting.sort_by_key(|waiting| (waiting.turn, waiting.number));
        let waits = |network: &Prefix| ahead.contains_key(network);
        self.providers.forget(waits);
        self.parties.values_mut().for_each(|turns| turns.forget(waits));
        self.parties.retain(|_, turns| !turns.next.is_empty());
    }

    /// Grants every test whose turn has come, and returns them in order.
    pub fn grant(&mut self, now: i64) -> Vec<u64> {
        self.count_time(now);
        let mut granted = Vec::new();
        while self.waiting.first().is_some_and(|next| self.has_room(next.demand)) {
            let Waiting { test, network, demand, weight, .. } = self.waiting.remove(0);
            let cost = demand.length.as_nanos();
            self.providers.charge(network.provider, cost / u128::from(weight));
            self.parties.entry(network.provider).or_default().charge(network.party, cost);
            let length = i64::try_from(demand.length.as_nanos()).unwrap_or(i64::MAX);
            let (rate, ends) = (demand.rate, now.saturating_add(length));
            self.running.push(Running { test, network, weight, rate, ends, counted: now });
            granted.push(test);
        }
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
            for (network, giving_way) in self.giving_way.levels(*network) {
                let loaded = self.loaded.entry(network).or_default();
                let level = giving_way.left(*loaded, now).saturating_add(took);
                // No more than what leaks out in an hour more than a share: then the network has a share again.
                *loaded = Loaded { level: level.min(nanoseconds(giving_way.share).saturating_mul(2)), at: now };
            }
        }
        let giving_way = self.giving_way;
        self.loaded.retain(|network, loaded| giving_way.at_level(*network).left(*loaded, now) > 0);
    }

    /// Whether a test that runs is to end: its network has had its share of late, and one that has not has waited for long.
    pub fn gives_way(&mut self, test: u64, now: i64) -> bool {
        self.count_time(now);
        let Some(running) = self.running.iter().find(|running| running.test == test) else { return false };
        let (giving_way, ours) = (self.giving_way, running.network);
        // Networks of one provider are compared by themselves: their provider's share is that of both.
        let has_had_share = |network: Network, other: Network| {
            let levels = giving_way.levels(network).into_iter().filter(|(prefix, _)| *prefix != other.provider);
            levels.into_iter().any(|(prefix, giving_way)| {
                let loaded = self.loaded.get(&prefix).copied().unwrap_or_default();
                giving_way.left(loaded, now) > nanoseconds(giving_way.share)
            })
        };
        let patience = nanoseconds(giving_way.patience);
        let has_waited = |since: Option<i64>| since.is_some_and(|since| now.saturating_sub(since) >= patience);
        let is_kept_waiting = |waiting: &Waiting| {
            let theirs = waiting.network;
            theirs.party != ours.party
                && has_waited(waiting.since)
                && has_had_share(ours, theirs)
                && !has_had_share(theirs, ours)
        };
        self.waiting.iter().any(is_kept_waiting)
    }

    /// A test has ended, or waits no longer.
    pub fn leave(&mut self, test: u64) {
        for Running { network, weight, ends, counted, .. } in
            self.running.extract_if(.., |running| running.test == test)
        {
            let unused = u128::from(ends.saturating_sub(counted).max(0).cast_unsigned());
            self.providers.give_back(network.provider, unused / u128::from(weight));
            self.parties.entry(network.provider).or_default().give_back(network.party, unused);
        }
        self.waiting.retain(|waiting| waiting.test != test);
        if self.waiting.is_empty() && self.running.is_empty() {
            self.providers = Turns::default();
            self.parties.clear();
        }
        self.arrange();
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
    /// A network and its provider, each with what it may load.
    fn levels(self, network: Network) -> [(Prefix, Self); 2] {
        [network.party, network.provider].map(|prefix| (prefix, self.at_level(prefix)))
    }

    /// The rule for a network of this size: a provider has the share of several networks.
    fn at_level(self, network: Prefix) -> Self {
        let is_provider = network == Prefix::provider_of(network.address);
        let networks = if is_provider { NETWORKS_OF_A_PROVIDER } else { 1 };
        Self { share: self.share.saturating_mul(networks), ..self }
    }

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
#[path = "load_queue_tests.rs"]
mod tests;

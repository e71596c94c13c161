//! How many tests and how much data each network may have of a server in an hour and a day, and all together.
//!
//! A provider of IPv6, a /32, has as much as 16 networks: it has 65,536 of them. One of IPv4 is not counted: a /16 has only 256
//! networks, and may have tens of thousands of customers.
//!
//! The bearer of a token, key or ticket that has a quota of its own is counted by itself, wherever it comes from.
//!
//! What was used is counted in steps of a minute and an hour, and forgotten when it is older than the hour or the day that the
//! limit names: at no time does a network have more than its limit in any hour or day before it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::prefix::Prefix;
use super::quota_class::OwnQuota;
#[cfg(feature = "tickets")]
use super::quota_class::{BearerId, QuotaClass};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Networks that are remembered, and bearers. Beyond that, those that have used least are forgotten.
const MOST_NETWORKS: usize = 65_536;

/// What each network, and what all together may use; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaLimits {
    pub tests_per_hour: u32,
    pub octets_per_day: u64,
    pub total_tests_per_hour: u32,
    pub total_octets_per_day: u64,
    /// Whether networks are counted that the Internet does not reach: loopback, private, link-local.
    pub counts_private: bool,
}

impl QuotaLimits {
    /// No limit at all.
    pub const NONE: Self = Self {
        tests_per_hour: 0,
        octets_per_day: 0,
        total_tests_per_hour: 0,
        total_octets_per_day: 0,
        counts_private: false,
    };
}

/// Networks of one provider that have their whole quota beside each other.
const NETWORKS_OF_A_PROVIDER: u32 = 16;

/// Who has used what it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    Network,
    /// All networks of an IPv6 /32.
    Provider,
    /// The bearer of a token, key or ticket.
    #[cfg(feature = "tickets")]
    Bearer,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "a network",
            Self::Provider => "all networks of an IPv6 /32",
            #[cfg(feature = "tickets")]
            Self::Bearer => "this token, key or ticket",
        })
    }
}

/// Why no test begins, and when one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    #[error("{limit} tests an hour are granted to {party}; the next in {} min", minutes(.retry_after))]
    Tests { party: Party, limit: u32, retry_after: Duration },
    #[error("the data granted to {party} in a day is used; the next test in {} min", minutes(.retry_after))]
    Octets { party: Party, retry_after: Duration },
    #[error("this server grants {limit} tests an hour to all networks; the next in {} min", minutes(.retry_after))]
    AllTests { limit: u32, retry_after: Duration },
    #[error("the data that this server grants in a day is used; the next test in {} min", minutes(.retry_after))]
    AllOctets { retry_after: Duration },
}

fn minutes(time: &Duration) -> u64 {
    time.as_secs().div_ceil(MINUTE).max(1)
}

/// What was used, by the time step in which it was. Times are seconds of a clock that goes on while the server does not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Usage {
    /// Minute, and tests that began in it.
    tests: Vec<(u64, u32)>,
    /// Hour, and octets that were moved in it.
    octets: Vec<(u64, u64)>,
}

impl Usage {
    fn forget(&mut self, now: u64) {
        // Counted by a clock that was ahead: as old as now, or the network would have used it until that time.
        self.tests.iter_mut().for_each(|(minute, _)| *minute = (*minute).min(now / MINUTE));
        self.octets.iter_mut().for_each(|(hour, _)| *hour = (*hour).min(now / HOUR));
        self.tests.retain(|(minute, _)| (minute + 1) * MINUTE + HOUR > now);
        self.octets.retain(|(hour, _)| (hour + 1) * HOUR + DAY > now);
    }

    fn tests(&self) -> u64 {
        self.tests.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    fn octets(&self) -> u64 {
        self.octets.iter().fold(0, |sum, (_, octets)| sum.saturating_add(*octets))
    }

    fn begin(&mut self, now: u64) {
        match self.tests.last_mut().filter(|(minute, _)| *minute >= now / MINUTE) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.tests.push((now / MINUTE, 1)),
        }
    }

    fn spend(&mut self, octets: u64, now: u64) {
        match self.octets.last_mut().filter(|(hour, _)| *hour >= now / HOUR) {
            Some((_, sum)) => *sum = sum.saturating_add(octets),
            None => self.octets.push((now / HOUR, octets)),
        }
    }

    /// How long until the oldest of it is forgotten.
    fn tests_wait(&self, now: u64) -> Duration {
        let first = self.tests.first().map_or(now, |(minute, _)| (minute + 1) * MINUTE + HOUR);
        Duration::from_secs(first.saturating_sub(now))
    }

    fn octets_wait(&self, now: u64) -> Duration {
        let first = self.octets.first().map_or(now, |(hour, _)| (hour + 1) * HOUR + DAY);
        Duration::from_secs(first.saturating_sub(now))
    }
}

/// What a server has granted. It is kept as JSON while the server does not run.
#[derive(Debug)]
pub struct Quota {
    limits: QuotaLimits,
    all: Usage,
    networks: HashMap<Prefix, Usage>,
    #[cfg(feature = "tickets")]
    bearers: HashMap<BearerId, Usage>,
}

/// The form in which it is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    all: Usage,
    networks: Vec<(IpAddr, u8, Usage)>,
    #[cfg(feature = "tickets")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bearers: Vec<(BearerId, Usage)>,
}

/// Whose use is counted.
#[derive(Debug, Clone, Copy)]
enum Counted {
    Network(Prefix),
    #[cfg(feature = "tickets")]
    Bearer(BearerId),
}

/// One party of a test, and what it may use.
#[derive(Debug, Clone, Copy)]
struct Account {
    counted: Counted,
    party: Party,
    tests_per_hour: u32,
    octets_per_day: u64,
}

impl Quota {
    /// Nothing has been used.
    pub fn new(limits: QuotaLimits) -> Self {
        Self {
            limits,
            all: Usage::default(),
            networks: HashMap::new(),
            #[cfg(feature = "tickets")]
            bearers: HashMap::new(),
        }
    }

    /// Changes what may be used. What was used stays so.
    pub fn set_limits(&mut self, limits: QuotaLimits) {
        self.limits = limits;
    }

    /// What was kept as JSON.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_json(limits: QuotaLimits, json: &str) -> Result<Self, serde_json::Error> {
        let stored: Stored = serde_json::from_str(json)?;
        let networks = stored.networks.into_iter().take(MOST_NETWORKS);
        let networks = networks.map(|(address, bits, usage)| (Prefix::of(address, bits), usage)).collect();
        Ok(Self {
            limits,
            all: stored.all,
            networks,
            #[cfg(feature = "tickets")]
            bearers: stored.bearers.into_iter().take(MOST_NETWORKS).collect(),
        })
    }

    /// What is to be kept.
    ///
    /// # Errors
    /// Never in practice: all of it is numbers.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let networks = self.networks.iter().map(|(network, usage)| (network.address, network.bits, usage.clone()));
        serde_json::to_string(&Stored {
            all: self.all.clone(),
            networks: networks.collect(),
            #[cfg(feature = "tickets")]
            bearers: self.bearers.iter().map(|(bearer, usage)| (*bearer, usage.clone())).collect(),
        })
    }

    /// A test from this address begins, of a bearer with a quota of its own or of its network.
    ///
    /// # Errors
    /// When its bearer or network, or all together, have used what they may.
    pub fn begin(&mut self, address: IpAddr, own: Option<OwnQuota>, now: u64) -> Result<(), QuotaError> {
        if !self.counts(address, own) {
            return Ok(());
        }
        let QuotaLimits { total_tests_per_hour, total_octets_per_day, .. } = self.limits;
        self.all.forget(now);
        if is_used(self.all.tests(), total_tests_per_hour.into()) {
            return Err(QuotaError::AllTests { limit: total_tests_per_hour, retry_after: self.all.tests_wait(now) });
        }
        if is_used(self.all.octets(), total_octets_per_day) {
            return Err(QuotaError::AllOctets { retry_after: self.all.octets_wait(now) });
        }
        let accounts = self.accounts(address, own);
        for &Account { counted, party, tests_per_hour, octets_per_day } in &accounts {
            let usage = self.usage(counted, now);
            usage.forget(now);
            if is_used(usage.tests(), tests_per_hour.into()) {
                return Err(QuotaError::Tests { party, limit: tests_per_hour, retry_after: usage.tests_wait(now) });
            }
            if is_used(usage.octets(), octets_per_day) {
                return Err(QuotaError::Octets { party, retry_after: usage.octets_wait(now) });
            }
        }
        for account in accounts {
            self.usage(account.counted, now).begin(now);
        }
        self.all.begin(now);
        Ok(())
    }

    /// Such a test has moved so many octets more. Whether it may go on.
    pub fn spend(&mut self, address: IpAddr, own: Option<OwnQuota>, octets: u64, now: u64) -> bool {
        if !self.counts(address, own) {
            return true;
        }
        let mut is_within = true;
        for Account { counted, octets_per_day, .. } in self.accounts(address, own) {
            let usage = self.usage(counted, now);
            usage.spend(octets, now);
            usage.forget(now);
            is_within &= !is_used(usage.octets(), octets_per_day);
        }
        self.all.spend(octets, now);
        self.all.forget(now);
        is_within && !is_used(self.all.octets(), self.limits.total_octets_per_day)
    }

    fn counts(&self, address: IpAddr, own: Option<OwnQuota>) -> bool {
        let limits = QuotaLimits { counts_private: false, ..self.limits };
        own.is_some() || limits != QuotaLimits::NONE && (self.limits.counts_private || !is_private(address))
    }

    /// Who is counted for a test. The largest is first: who is refused by it takes no memory for a network.
    fn accounts(&self, address: IpAddr, own: Option<OwnQuota>) -> Vec<Account> {
        let QuotaLimits { tests_per_hour, octets_per_day, .. } = self.limits;
        #[cfg(feature = "tickets")]
        if let Some(own) = own {
            let network = QuotaClass { tests_per_hour: Some(tests_per_hour), octets_per_day: Some(octets_per_day) };
            let class = own.granted(network);
            return vec![Account {
                counted: Counted::Bearer(own.bearer),
                party: Party::Bearer,
                tests_per_hour: class.tests_per_hour.unwrap_or(tests_per_hour),
                octets_per_day: class.octets_per_day.unwrap_or(octets_per_day),
            }];
        }
        #[cfg(not(feature = "tickets"))]
        let _ = own;
        let provider = address.to_canonical().is_ipv6().then(|| Account {
            counted: Counted::Network(Prefix::provider_of(address)),
            party: Party::Provider,
            tests_per_hour: tests_per_hour.saturating_mul(NETWORKS_OF_A_PROVIDER),
            octets_per_day: octets_per_day.saturating_mul(NETWORKS_OF_A_PROVIDER.into()),
        });
        let counted = Counted::Network(Prefix::party_of(address));
        let network = Account { counted, party: Party::Network, tests_per_hour, octets_per_day };
        provider.into_iter().chain([network]).collect()
    }

    /// What one of them has used.
    fn usage(&mut self, counted: Counted, now: u64) -> &mut Usage {
        match counted {
            Counted::Network(network) => {
                make_room(&mut self.networks, now);
                self.networks.entry(network).or_default()
            }
            #[cfg(feature = "tickets")]
            Counted::Bearer(bearer) => {
                make_room(&mut self.bearers, now);
                self.bearers.entry(bearer).or_default()
            }
        }
    }
}

/// Forgets those that have used least when they are too many.
fn make_room<K: Eq + Hash>(usages: &mut HashMap<K, Usage>, now: u64) {
    if usages.len() < MOST_NETWORKS {
        return;
    }
    usages.retain(|_, usage| {
        usage.forget(now);
        *usage != Usage::default()
    });
    if usages.len() >= MOST_NETWORKS {
        let mut used: Vec<(u64, u64)> = usages.values().map(|usage| (usage.octets(), usage.tests())).collect();
        used.sort_unstable();
        let least = used[used.len() / 4];
        usages.retain(|_, usage| (usage.octets(), usage.tests()) > least);
    }
}

fn is_used(used: u64, limit: u64) -> bool {
    limit > 0 && used >= limit
}

/// Whether an address is of a network that the Internet does not reach.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private() || address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: QuotaLimits = QuotaLimits {
        tests_per_hour: 16,
        octets_per_day: 50_000_000_000,
        total_tests_per_hour: 100,
        total_octets_per_day: 400_000_000_000,
        counts_private: false,
    };
    /// Some Wednesday.
    const NOW: u64 = 1_790_000_000;

    fn host(network: u8, host: u8) -> IpAddr {
        IpAddr::from([203, 0, network, host])
    }

    #[test]
    fn a_network_has_its_tests_in_any_hour_and_no_more() {
        let mut quota = Quota::new(LIMITS);
        // Its hosts ask once a second, for four hours.
        let begun: Vec<u64> =
            (NOW..NOW + 4 * HOUR).filter(|now| quota.begin(host(1, *now as u8), None, *now).is_ok()).collect();
        for (index, first) in begun.iter().enumerate() {
            let within = begun[index..].iter().filter(|at| *at - first < HOUR).count();
            assert!(within <= 16, "{within} in an hour");
        }
        assert!(begun.len() >= 48, "{}: it has nearly all of it in each hour", begun.len());
        assert!(quota.begin(host(2, 1), None, NOW + 4 * HOUR).is_ok(), "another network");
        let mut fresh = Quota::new(LIMITS);
        (0..16).for_each(|_| fresh.begin(host(1, 1), None, NOW).unwrap());
        let Err(QuotaError::Tests { limit: 16, retry_after, .. }) = fresh.begin(host(1, 2), None, NOW + 1) else {
            panic!("it has had its tests");
        };
        assert!(retry_after.as_secs() <= HOUR + MINUTE, "{retry_after:?}");
    }

    #[test]
    fn data_of_a_day_is_overrun_by_what_is_counted_at_once_and_no_more() {
        let mut quota = Quota::new(LIMITS);
        // A gigabit a second, counted once a second.
        let second = 125_000_000;
        let mut spent = 0;
        for now in NOW..NOW + DAY {
            if now % 60 == 0 && quota.begin(host(1, 1), None, now).is_err() {
                continue;
            }
            let may = quota.spend(host(1, 1), None, 0, now);
            if may {
                quota.spend(host(1, 1), None, second, now);
                spent += second;
            }
        }
        assert!((50_000_000_000..=50_500_000_000).contains(&spent), "{spent}");
        assert!(matches!(
            quota.begin(host(1, 7), None, NOW + DAY - 1),
            Err(QuotaError::Tests { .. } | QuotaError::Octets { .. })
        ));
        assert!(quota.begin(host(1, 1), None, NOW + 2 * DAY + HOUR).is_ok(), "the next day");
    }

    #[test]
    fn all_networks_together_have_a_limit_of_their_own() {
        let mut quota = Quota::new(LIMITS);
        let begun = (0..200_u8).filter(|network| quota.begin(host(*network, 1), None, NOW).is_ok()).count();
        assert_eq!(begun, 100);
        assert!(matches!(quota.begin(host(250, 1), None, NOW), Err(QuotaError::AllTests { limit: 100, .. })));
        assert!(!quota.spend(host(1, 1), None, 400_000_000_000, NOW + 2 * HOUR));
        assert!(matches!(quota.begin(host(251, 1), None, NOW + 2 * HOUR), Err(QuotaError::AllOctets { .. })));
    }

    #[test]
    fn a_provider_of_ipv6_has_as_much_as_16_networks_and_one_of_ipv4_as_all_of_its_own() {
        let unlimited = QuotaLimits { total_tests_per_hour: 0, total_octets_per_day: 0, ..LIMITS };
        let site = |provider: u16, network: u16| IpAddr::from([0x2a00, provider, network, 0, 0, 0, 0, 1]);
        let mut quota = Quota::new(unlimited);
        let begun = (0..65_535).filter(|network| quota.begin(site(1, *network), None, NOW).is_ok()).count();
        assert_eq!(begun, 256);
        assert!(quota.networks.len() <= 257, "who is refused takes no memory: {}", quota.networks.len());
        let refused = quota.begin(site(1, 65_535), None, NOW).unwrap_err();
        assert!(matches!(refused, QuotaError::Tests { party: Party::Provider, limit: 256, .. }));
        assert!(refused.to_string().starts_with("256 tests an hour are granted to all networks of an IPv6 /32"));
        assert!(quota.begin(site(2, 1), None, NOW).is_ok(), "another provider");
        let mut spent = 0;
        while quota.spend(site(3, spent), None, 49_000_000_000, NOW) {
            spent += 1;
        }
        assert_eq!(spent, 16);
        let begun = (0..65_536_u32)
            .filter(|host| quota.begin(IpAddr::from([198, 51, (host >> 8) as u8, *host as u8]), None, NOW).is_ok());
        assert_eq!(begun.count(), 256 * 16, "each /24 of a /16");
        let mut again = Quota::from_json(unlimited, &quota.to_json().unwrap()).unwrap();
        assert!(again.begin(site(1, 65_535), None, NOW + 60).is_err(), "kept over a restart");
    }

    #[test]
    fn private_networks_are_counted_on_request_alone() {
        let mut quota = Quota::new(LIMITS);
        let mut counted = Quota::new(QuotaLimits { counts_private: true, ..LIMITS });
        for address in ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "fe80::1", "::ffff:192.168.1.1"] {
            let address = address.parse().unwrap();
            assert!((0..50).all(|_| quota.begin(address, None, NOW).is_ok()), "{address}");
            assert_eq!((0..50).filter(|_| counted.begin(address, None, NOW).is_ok()).count(), 16, "{address}");
        }
        let mut none = Quota::new(QuotaLimits { counts_private: true, ..QuotaLimits::NONE });
        assert!(
            (0..1000).all(|_| none.begin(host(1, 1), None, NOW).is_ok()) && none.spend(host(1, 1), None, u64::MAX, NOW)
        );
        assert!(none.networks.is_empty());
    }

    #[test]
    fn new_limits_are_for_what_was_used_before_too() {
        let mut quota = Quota::new(LIMITS);
        (0..10).for_each(|_| quota.begin(host(1, 1), None, NOW).unwrap());
        quota.set_limits(QuotaLimits { tests_per_hour: 10, ..LIMITS });
        assert!(quota.begin(host(1, 1), None, NOW).is_err());
        quota.set_limits(LIMITS);
        assert!(quota.begin(host(1, 1), None, NOW).is_ok());
    }

    #[test]
    fn what_was_used_outlives_the_server() {
        let mut quota = Quota::new(LIMITS);
        (0..16).for_each(|_| quota.begin(host(1, 1), None, NOW).unwrap());
        let mut again = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
        assert!(again.begin(host(1, 1), None, NOW + 60).is_err());
        assert!(again.begin(host(1, 1), None, NOW + HOUR + MINUTE).is_ok());
        assert!(Quota::from_json(LIMITS, "{\"all\":").is_err());
    }

    #[test]
    fn what_a_clock_that_was_ahead_has_counted_is_forgotten_in_time() {
        let ahead = NOW + 300 * DAY;
        let mut quota = Quota::new(LIMITS);
        (0..16).for_each(|_| quota.begin(host(1, 1), None, ahead).unwrap());
        quota.spend(host(2, 1), None, LIMITS.octets_per_day, ahead);
        // The server starts again with the right time.
        let mut quota = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
        let Err(QuotaError::Tests { retry_after, .. }) = quota.begin(host(1, 1), None, NOW) else {
            panic!("what was used stays used");
        };
        assert!(retry_after.as_secs() <= HOUR + MINUTE, "{retry_after:?}");
        assert!(matches!(quota.begin(host(2, 1), None, NOW), Err(QuotaError::Octets { .. })));
        assert!(quota.begin(host(1, 1), None, NOW + HOUR + MINUTE).is_ok());
        assert!(quota.begin(host(2, 1), None, NOW + DAY + HOUR).is_ok());
        let endless = format!("{{\"all\":{{\"tests\":[[{0},100]],\"octets\":[[{0},1]]}},\"networks\":[]}}", u64::MAX);
        let mut quota = Quota::from_json(LIMITS, &endless).unwrap();
        assert!(matches!(quota.begin(host(1, 1), None, NOW), Err(QuotaError::AllTests { .. })));
    }

    #[test]
    fn networks_without_number_take_no_memory_without_end() {
        let mut quota = Quota::new(QuotaLimits { total_tests_per_hour: 0, ..LIMITS });
        for number in 0..200_000_u32 {
            let address = IpAddr::from(std::net::Ipv6Addr::from((0x2a00_0000_u128 + u128::from(number)) << 96));
            assert!(quota.begin(address, None, NOW).is_ok());
        }
        assert!(quota.networks.len() <= MOST_NETWORKS);
    }

    #[cfg(feature = "tickets")]
    mod of_bearers {
        use super::*;

        fn own(bearer: u8, tests_per_hour: Option<u32>, octets_per_day: Option<u64>) -> Option<OwnQuota> {
            OwnQuota::new(BearerId([bearer; 32]), QuotaClass { tests_per_hour, octets_per_day })
        }

        #[test]
        fn a_bearer_has_its_quota_wherever_it_comes_from_and_takes_nothing_from_its_network() {
            let mut quota = Quota::new(LIMITS);
            let alice = own(1, Some(2), None);
            assert!(quota.begin(host(1, 1), alice, NOW).is_ok());
            // A private address, which is not counted without a quota of its own.
            assert!(quota.begin(IpAddr::from([10, 0, 0, 1]), alice, NOW).is_ok());
            let refused = quota.begin(host(2, 1), alice, NOW).unwrap_err();
            assert!(matches!(refused, QuotaError::Tests { limit: 2, party: Party::Bearer, .. }));
            let words = "2 tests an hour are granted to this token, key or ticket; the next in 61 min";
            assert_eq!(refused.to_string().replace("in 60", "in 61"), words);
            assert!((0..16).all(|_| quota.begin(host(1, 1), None, NOW).is_ok()), "its network has all of its own");
            assert!(quota.begin(host(1, 1), own(2, Some(2), None), NOW).is_ok(), "another bearer");
            assert!(quota.begin(host(1, 1), alice, NOW + HOUR + MINUTE).is_ok());
        }

        #[test]
        fn data_of_a_bearer_is_counted_for_it_and_a_figure_that_it_lacks_is_that_of_networks() {
            let mut quota = Quota::new(LIMITS);
            let alice = own(1, None, Some(1000));
            assert!(quota.spend(host(1, 1), alice, 999, NOW) && !quota.spend(host(2, 1), alice, 1, NOW));
            assert!(matches!(quota.begin(host(1, 1), alice, NOW), Err(QuotaError::Octets { .. })));
            let bob = own(2, None, Some(0));
            assert!(quota.spend(host(1, 1), bob, 100_000_000_000, NOW), "0 is no limit");
            assert_eq!((0..50).filter(|_| quota.begin(host(1, 1), bob, NOW).is_ok()).count(), 16);
        }

        #[test]
        fn a_ticket_exceeds_the_quota_of_networks_only_where_the_issuers_line_does() {
            let class = |tests_per_hour| QuotaClass { tests_per_hour, octets_per_day: tests_per_hour.map(u64::from) };
            for (bearer, (line, ticket, granted)) in
                (1..).zip([(None, Some(40), 16), (None, Some(0), 16), (None, Some(5), 5), (Some(40), Some(0), 40)])
            {
                let own = OwnQuota::with_ticket(BearerId([bearer; 32]), class(line), class(ticket));
                let mut quota = Quota::new(LIMITS);
                let begun = (0..50).filter(|_| quota.begin(host(1, 1), own, NOW).is_ok()).count();
                assert_eq!(begun, granted, "{line:?} {ticket:?}");
            }
            let unlimited = OwnQuota::with_ticket(BearerId([9; 32]), QuotaClass::default(), class(Some(0)));
            assert!(!Quota::new(LIMITS).spend(host(1, 1), unlimited, LIMITS.octets_per_day, NOW));
            let mut open = Quota::new(QuotaLimits::NONE);
            assert!((0..50).all(|_| open.begin(host(1, 1), unlimited, NOW).is_ok()), "networks have no limit here");
        }

        #[test]
        fn the_limits_of_all_together_apply_to_bearers_too() {
            let mut quota = Quota::new(LIMITS);
            let private = IpAddr::from([10, 0, 0, 1]);
            let begun = (0..200).filter(|_| quota.begin(private, own(1, Some(0), Some(0)), NOW).is_ok()).count();
            assert_eq!(begun, 100);
            assert!(!quota.spend(private, own(1, Some(0), Some(0)), 400_000_000_000, NOW));
        }

        #[test]
        fn what_bearers_used_outlives_the_server_and_older_states_are_read() {
            let mut quota = Quota::new(LIMITS);
            let alice = own(1, Some(1), None);
            quota.begin(host(1, 1), None, NOW).unwrap();
            let before = quota.to_json().unwrap();
            assert!(!before.contains("bearers"), "as programs without bearers write it");
            assert!(Quota::from_json(LIMITS, &before).unwrap().begin(host(1, 1), alice, NOW).is_ok());
            quota.begin(host(1, 1), alice, NOW).unwrap();
            let mut again = Quota::from_json(LIMITS, &quota.to_json().unwrap()).unwrap();
            assert!(again.begin(host(9, 1), alice, NOW + 60).is_err());
        }

        #[test]
        fn bearers_without_number_take_no_memory_without_end() {
            let mut quota = Quota::new(QuotaLimits::NONE);
            for number in 0..200_000_u32 {
                let mut id = [0; 32];
                id[..4].copy_from_slice(&number.to_be_bytes());
                let class = QuotaClass { tests_per_hour: Some(5), octets_per_day: None };
                assert!(quota.begin(host(1, 1), OwnQuota::new(BearerId(id), class), NOW).is_ok());
            }
            assert!(quota.bearers.len() <= MOST_NETWORKS && quota.networks.is_empty());
            let kept: Vec<String> =
                (0..MOST_NETWORKS + 9).map(|n| format!("[\"{n:064x}\",{{\"tests\":[],\"octets\":[]}}]")).collect();
            let json =
                format!("{{\"all\":{{\"tests\":[],\"octets\":[]}},\"networks\":[],\"bearers\":[{}]}}", kept.join(","));
            assert_eq!(Quota::from_json(LIMITS, &json).unwrap().bearers.len(), MOST_NETWORKS);
        }
    }
}
